"""YAML is read strictly, and the texts of the command line get their types."""

import pytest

from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.yaml_reader import read_yaml, typed


def read(folder, text):
    path = folder / "file.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml(path)


@pytest.mark.parametrize(
    ("written", "value"), [("1e-6", 1e-6), ("-2.5E3", -2500.0), (".5e1", 5.0), ("1e", "1e"), ("'1e-6'", "1e-6")]
)
def test_numbers_with_exponents(tmp_path, written, value):
    assert read(tmp_path, f"tolerance: {written}\n") == {"tolerance": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "not YAML: the key 'a' is written twice"),
        ("1: 2\n", "not YAML: the key 1 is not text; put it in quotes"),
        ("a: &x 1\nb: *x\n", "not YAML: aliases (*name) are not allowed; write the value"),
        ("a: " + "[" * 200_000, "not YAML: more than 100 levels"),
        ("a: !!python/object:os.system {}\n", "not YAML: could not determine a constructor"),
        ("a: 2025-13-45\n", "not YAML: "),
        ("- 1\n", "must be a mapping of keys to values, not list"),
        (b"a: \xff\n", "not UTF-8 text: "),
    ],
)
def test_a_mistake_is_refused_with_the_file(tmp_path, text, message):
    with pytest.raises(SpecError) as caught:
        read(tmp_path, text)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path}/file.yaml: {message}")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(SpecError, match=r"absent.yaml: cannot be read: No such file"):
        read_yaml(tmp_path / "absent.yaml")


def test_texts_of_the_command_line_get_their_types():
    given = {"skip": "0.5", "depth": "2", "tied": "true", "link": "product", "list": ["1e-3", "x"], "odd": "[1"}
    assert typed(given) == {"skip": 0.5, "depth": 2, "tied": True, "link": "product", "list": [1e-3, "x"], "odd": "[1"}
    assert typed(3) == 3
