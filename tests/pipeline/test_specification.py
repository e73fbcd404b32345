import json

import pytest
from attention_limits.pipeline.schema import complete, load_schema, problems

from attention_limits.pipeline.errors import SpecError

PART = {
    "title": "Part",
    "properties": {"steps": {"type": "integer", "minimum": 1, "default": 3, "description": "Steps."}},
    "$defs": {"rate": {"type": "number", "maximum": 1, "description": "Rate."}},
}


@pytest.fixture
def write(tmp_path):
    """Write schemas below `parts/` and a kind beside it; return the path of the kind."""

    def write_all(kind, **parts):
        (tmp_path / "parts").mkdir()
        for name, part in parts.items():
            text = part if isinstance(part, str) else json.dumps(part)
            (tmp_path / "parts" / f"{name}.json").write_text(text)
        path = tmp_path / "kind.json"
        path.write_text(json.dumps(kind))
        return path

    return write_all


def test_references_to_files_places_and_the_file_itself_are_replaced(write):
    inner = {
        "properties": {"rate": {"$ref": "a.json#/$defs/rate"}, "own": {"$ref": "#/$defs/own"}},
        "$defs": {"own": {}},
    }
    kind = {
        "type": "object",
        "properties": {
            "model": {"$ref": "parts/a.json", "type": "object", "additionalProperties": False},
            "steps": {"$ref": "parts/a.json#/properties/steps", "default": 5, "maximum": 9},
            "inner": {"$ref": "parts/b.json"},
            "again": {"$ref": "#/properties/steps", "minimum": 2},
        },
    }
    schema = load_schema(write(kind, a=PART, b=inner))["properties"]
    assert schema["steps"] == {"type": "integer", "minimum": 1, "maximum": 9, "default": 5, "description": "Steps."}
    assert schema["again"] == {**schema["steps"], "minimum": 2}
    assert schema["inner"]["properties"] == {"rate": PART["$defs"]["rate"], "own": {}}
    assert complete({}, schema["model"]) == {"steps": 3}
    # Messages speak of the place as if all were written there.
    found = problems({"steps": 0, "other": 1}, schema["model"], ["model"])
    assert found == [
        (("model", "other"), "unknown key; allowed: steps"),
        (("model", "steps"), "0: allowed: a whole number ≥ 1 (Steps)"),
    ]


def test_keys_beside_a_reference_are_merged_mapping_by_mapping(write):
    beside = {"properties": {"steps": {"default": 7}, "more": {"type": "boolean"}}}
    schema = load_schema(write({"$ref": "parts/a.json", "title": "Kind", **beside}, a=PART))
    assert schema["title"] == "Kind"
    assert schema["properties"]["steps"] == {**PART["properties"]["steps"], "default": 7}
    assert schema["properties"]["more"] == {"type": "boolean"}


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("parts/absent.json", "$ref 'parts/absent.json'"),
        ("parts/absent.json", "parts/absent.json: this schema cannot be read: No such file"),
        ("parts/a.json#/properties/stops", "parts/a.json has no 'stops' there"),
        ("#/$defs/none", "kind.json has no '$defs' there"),
        ("parts/broken.json", "not JSON"),
        ("parts/circle.json", "references go in a circle"),
        ("kind.json", "references go in a circle"),
    ],
)
def test_a_wrong_reference_is_told(write, reference, words):
    circle = {"properties": {"x": {"$ref": "../kind.json"}}}
    path = write({"properties": {"x": {"$ref": reference}}}, a=PART, broken="{", circle=circle)
    with pytest.raises(SpecError) as caught:
        load_schema(path)
    assert str(path.parent) in str(caught.value)
    assert words in str(caught.value)
