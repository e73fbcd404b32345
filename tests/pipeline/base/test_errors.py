"""A message shows a wrong value on one line; it ends with the name that the user most likely means, and with no other."""

import numpy as np
import pytest

from attention_limits.pipeline.base import errors
from attention_limits.pipeline.base.errors import allowed_names, did_you_mean

NAMES = ["state_evolution", "gamp", "theory.exact_recovery", "simulation.exact_recovery"]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("state_evolutoin", "state_evolution"),
        ("State-Evolution", "state_evolution"),
        ("gapm", "gamp"),
        ("exact_recovery", "theory.exact_recovery or simulation.exact_recovery"),
        ("theory.exact_recvery", "theory.exact_recovery"),
        ("aplha", "grid.alpha"),
        ("alpha", "grid.alpha"),
    ],
)
def test_the_closest_name(wrong, meant):
    assert did_you_mean(wrong, NAMES, {"alpha": "grid.alpha"}) == f"; did you mean {meant}?"


@pytest.mark.parametrize("wrong", ["", "perceptron", 3, None, ["gamp", "x"]])
def test_nothing_is_close(wrong):
    assert did_you_mean(wrong, NAMES) == ""


def test_what_is_allowed():
    assert allowed_names("gmap", ["gamp"], ", or a file") == "allowed: gamp, or a file; did you mean gamp?"
    assert allowed_names("gmap", []) == "allowed: none"


@pytest.mark.parametrize(
    "value",
    [10**5000, "7" * 5000, np.zeros(100_000), list(range(10_000)), {"a": "b\n" * 5000}],
    ids=lambda value: type(value).__name__,
)
def test_a_message_shows_a_value_on_one_short_line(value):
    text = errors.shown(value)
    assert len(text) < 300
    assert "\n" not in text


def test_a_message_keeps_its_words_and_cuts_a_long_one():
    assert errors.without_long_words("a " + "b" * 999) == "a " + "b" * 999
    assert errors.without_long_words("a " + "b" * 5000 + " c") == "a " + "b" * 200 + "… (5000 characters) c"
