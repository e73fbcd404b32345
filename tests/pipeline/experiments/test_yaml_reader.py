"""YAML is read strictly, and the texts of the command line get their types."""

import math

import pytest
import ruamel.yaml.main

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.yaml_reader import read_yaml, typed


@pytest.fixture(autouse=True, params=["libyaml", "Python"])
def parser(request, monkeypatch):
    """The parser of libyaml, and that of Python in its place."""
    if request.param == "Python":
        monkeypatch.setattr(ruamel.yaml.main, "CParser", None)
    else:
        assert ruamel.yaml.main.CParser is not None


def read(folder, text):
    path = folder / "file.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml(path)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e-6", 1e-6),
        ("-2.5E3", -2500.0),
        (".5e1", 5.0),
        ("-.5", -0.5),
        ("-.inf", -math.inf),
        ("1e", "1e"),
        ("'1e-6'", "1e-6"),
        ("010", 10),
        # Other bases are texts, which no number accepts.
        ("0o10", "0o10"),
        ("0x1F", "0x1F"),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("1_0.5", "1_0.5"),
        ("٣", "٣"),
        ("9" * 5000, math.inf),
        ("1.e3", 1000.0),
        ("12:30", "12:30"),
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("True", True),
        ("~", None),
        ("2025-13-45", "2025-13-45"),
        ("=", "="),
    ],
)
def test_words_mean_what_they_mean_in_yaml_1_2(tmp_path, written, value):
    (found,) = read(tmp_path, f"key: {written}\n").values()
    assert (found, type(found)) == (value, type(value))


def test_there_is_no_merge_key(tmp_path):
    assert read(tmp_path, "<<: {a: 1}\nb: 2\n") == {"<<": {"a": 1}, "b": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "line 2, column 1: not YAML: the key 'a' is written twice; write it once"),
        ("b: {a: 1, a: 2}\n", "line 1, column 11: not YAML: the key 'a' is written twice; write it once"),
        ("1: 2\n", "line 1, column 1: not YAML: the key 1 is not text; put it in quotes"),
        ("{a: 0,5}\n", "line 1, column 7: not YAML: the key 5 is not text; put it in quotes, or write 0.5 for 0,5"),
        (
            "a: [0,05]\n",
            "line 1, column 7: not YAML: 05 after a comma; write 0.05 with a point, or a space after the comma",
        ),
        ("[a]: 2\n", "line 1, column 1: not YAML: the key ('a',) is not text; put it in quotes"),
        ("a: &x 1\nb: *x\n", "line 2, column 4: not YAML: aliases (*name) are not allowed; write the value"),
        ("a: " + "[" * 200_000, "line 1, column 103: not YAML: more than 100 levels"),
        ("a: !!python/object:os.system {}\n", "line 1, column 4: not YAML: tags (tag:yaml.org,2002:python/object:os"),
        ("a: !!bool 1\n", "line 1, column 4: not YAML: tags (tag:yaml.org,2002:bool) are not allowed; write the value"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: not YAML: expected a single document"),
        ("a:\n\tb: 1\n", "line 2, column 1: not YAML: "),
        ("a: 1\nb: \x07\n", "line 2: not YAML: the control character U+0007"),
        ("a: 1\nb: 2\0\n", "line 2: not YAML: the control character U+0000"),
        ("- 1\n", "must be a mapping of keys to values, not list"),
        (b"a: \xff\n", "line 1: not UTF-8 text: "),
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


@pytest.mark.parametrize(
    ("text", "place"), [("a:\n\tb: 1\n", "line 2, column 1"), ("a: {\n  b: 1,\n\tc: @\n}\n", None)]
)
def test_a_tab_is_called_a_tab(tmp_path, text, place):
    with pytest.raises(SpecError, match=f"{place}: not YAML: a tab; indent with spaces" if place else "line 3"):
        read(tmp_path, text)


def test_keys_in_two_normal_forms_are_one_key(tmp_path):
    with pytest.raises(SpecError, match="line 2, column 1: not YAML: the key '\u00e9' is written twice"):
        read(tmp_path, "\u00e9: 1\ne\u0301: 2\n")
    assert typed("e\u0301") == "\u00e9"
