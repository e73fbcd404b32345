"""Arguments of commands and of the functions of `al`: what is read and what is refused."""

import re

import numpy as np
import pytest

from attention_limits.pipeline.base import arguments
from attention_limits.pipeline.base.errors import SpecError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".5", 0.5),
        ("1.", 1.0),
        ("+2", 2.0),
        ("-.5e1", -5.0),
        ("007", 7.0),
        ("1_0", "1_0"),
        ("１", "１"),
        ("1/2", "1/2"),
        ("x", "x"),
    ],
)
def test_numbers_of_the_shell_are_decimal(text, value):
    assert arguments.named(["--ratio", text]) == {"ratio": value}


def test_an_empty_path_is_refused():
    """`--results "$FOLDER"` with a variable that is not set would fill the working directory."""
    with pytest.raises(ValueError, match=r"^$"):
        arguments.path("")


@pytest.mark.parametrize("value", [0, 3, np.int64(3)])
def test_whole_numbers(value):
    assert type(arguments.whole_number("seed", value, 0)) is int


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1, np.zeros(1)])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(SpecError, match=r"^seed: .*: allowed: a whole number ≥ 0$"):
        arguments.whole_number("seed", value, 0)


@pytest.mark.parametrize("value", [None, 3, b"x", "", "x\0y", ["x"]])
def test_what_is_no_path_is_refused(value):
    with pytest.raises(SpecError, match=r"^path: .*: allowed: the path of a cube$"):
        arguments.path_of("path", value, "a cube")


@pytest.mark.parametrize(
    ("value", "reason"), [("~/run", "without ~"), ("a" * 256, "at most 255 bytes"), ("é" * 128, "255 bytes")]
)
def test_paths_that_cannot_be_meant(value, reason):
    with pytest.raises(SpecError, match=re.escape(reason)):
        arguments.path_of("folder", value, "a folder")


def test_a_name_may_have_hyphens_as_in_other_programs():
    assert arguments.named(["--output-noise", "0.1", "--a_b=c-d"]) == {"output_noise": 0.1, "a_b": "c-d"}
    with pytest.raises(ValueError, match="given twice: --a_b"):
        arguments.named(["--a-b", "1", "--a_b", "2"])
