"""Specifications as classes: what passes, and messages with key, value and what is allowed."""

import json
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Discriminator, Field

from attention_limits.pipeline.experiments.messages import describe, json_schema, validated
from attention_limits.pipeline.experiments.specification import (
    Axis,
    Range,
    Section,
    Specification,
    Values,
    Whole,
    fields,
)

Rate = Annotated[float, Field(gt=0, le=1, description="Step of Adam.")]


class Rows(Section):
    kind: Literal["rows"]
    rows: Annotated[Whole, Field(ge=1, le=9, description="Rows of W.")]


class Free(Section):
    kind: Literal["free"]


class Model(Section):
    link: Annotated[Rows | Free, Discriminator("kind")]
    tokens: Annotated[Whole, Field(ge=2, description="Tokens.")] = 2


class Grid(Section):
    alpha: Axis[Annotated[float, Field(ge=0, description="Samples per dimension.")]]
    tokens: Axis[Annotated[Whole, Field(ge=2, description="Tokens.")]] | None = None


class Solver(Section):
    rate: Rate
    damping: Annotated[float, Field(ge=0, lt=1)] = 0.5
    method: Literal["plain", "fast"] = "plain"
    stop: bool = False
    seeds: Annotated[list[Whole], Field(min_length=1, max_length=2)] = [1]
    cap: Annotated[float, Field(gt=0)] | None = None


class Example(Specification):
    """An example."""

    model: Model
    grid: Grid
    solver: Solver


GOOD = {"model": {"link": {"kind": "rows", "rows": 2}}, "grid": {"alpha": [0.5]}, "solver": {"rate": 0.1}}


def problems(section="solver", **keys):
    """Messages by key path, for the good example with other keys in a section."""
    merged = {**GOOD, section: {**GOOD[section], **keys}}
    return {".".join(path): text for path, text in validated(Example, merged)[1]}


def test_good_values_come_back_with_defaults_and_plain():
    made, wrong = validated(Example, GOOD)
    assert wrong == []
    assert made.model.plain() == {"link": {"kind": "rows", "rows": 2}, "tokens": 2}
    # A key without a value is left out.
    assert made.solver.plain() == {"rate": 0.1, "damping": 0.5, "method": "plain", "stop": False, "seeds": [1]}
    assert (made.replicas, made.chunk, made.resources.plain()) == (1, {}, {"threads": 1, "memory": 1000, "minutes": 60})
    assert fields(Example, "grid") == {"alpha", "tokens"}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("rate", 0, "0: allowed: a number > 0 and ≤ 1 (Step of Adam)"),
        ("rate", 1.5, "1.5: allowed: a number > 0 and ≤ 1 (Step of Adam)"),
        ("rate", True, "true: allowed: a number > 0 and ≤ 1 (Step of Adam)"),
        ("rate", None, "null: allowed: a number > 0 and ≤ 1 (Step of Adam)"),
        ("rate", float("nan"), "NaN: allowed: a number > 0 and ≤ 1 (Step of Adam)"),
        ("rate", "e5", '"e5": allowed: a number > 0 and ≤ 1 (Step of Adam)'),
        ("damping", 1, "1: allowed: a number ≥ 0 and < 1"),
        ("method", "slow", '"slow": allowed: one of "plain", "fast"'),
        ("stop", 1, "1: allowed: true or false"),
        ("seeds", [], "[]: allowed: a list of at least 1 items and at most 2 items"),
        ("cap", -1, "-1: allowed: a number > 0"),
        ("step", 1, "unknown key; allowed: cap, damping, method, rate, seeds, stop; did you mean stop?"),
    ],
)
def test_one_wrong_value(key, value, message):
    assert problems(**{key: value}) == {f"solver.{key}": message}


def test_a_missing_key_and_a_wrong_item():
    assert validated(Example, {**GOOD, "solver": {}})[1] == [
        (("solver", "rate"), "missing; allowed: a number > 0 and ≤ 1 (Step of Adam)")
    ]
    assert problems(seeds=[1, 2.5]) == {"solver.seeds.1": "2.5: allowed: a whole number"}
    assert problems("grid", alpha=[0.1, -1.0]) == {
        "grid.alpha.1": "-1.0: allowed: a number ≥ 0 (Samples per dimension)"
    }
    # An optional axis has the message of its values, and no word of None.
    assert problems("grid", tokens=[1]) == {"grid.tokens.0": "1: allowed: a whole number ≥ 2 (Tokens)"}


def test_unions_by_name():
    for kind, message in ((None, "null: allowed: free, rows"), ("columns", '"columns": allowed: free, rows')):
        assert problems("model", link={"kind": kind} if kind else {}) == {"model.link.kind": message}
    # The message speaks of the chosen member alone.
    assert problems("model", link={"kind": "rows", "rows": 0, "more": 1}) == {
        "model.link.rows": "0: allowed: a whole number ≥ 1 and ≤ 9 (Rows of W)",
        "model.link.more": "unknown key; allowed: kind, rows",
    }


def test_all_problems_at_once():
    wrong = {"model": {"link": {"kind": "free"}, "tokens": 1}, "grid": {}, "solver": {"rate": 2}, "replicas": 0}
    assert [".".join(path) for path, _ in validated(Example, wrong)[1]] == [
        "grid.alpha",
        "model.tokens",
        "replicas",
        "solver.rate",
    ]


@given(st.integers(2, 10**6))
def test_a_whole_number_may_be_written_as_a_float(number):
    made, _ = validated(Model, {"link": {"kind": "free"}, "tokens": float(number)})
    assert made.tokens == number
    assert json.dumps(made.plain()["tokens"]) == str(number)
    assert validated(Model, {"link": {"kind": "free"}, "tokens": number + 0.5})[1]


def test_axes():
    assert validated(Range, {"start": 0, "stop": 1, "num": 3})[0].spacing == "linear"
    assert validated(Range, {"start": 0, "stop": 1, "num": 0})[1][0][1].startswith("0: allowed: a whole number ≥ 1")
    assert validated(Values, {"values": []})[1][0][0] == ("values",)


def test_estimators_may_name_their_data():
    class Reader(Specification):
        reads: Literal["drawn", "dealt"]

    assert validated(Reader, {"reads": "dealt"})[0].reads == "dealt"
    assert validated(Reader, {"reads": "both"})[1] == [(("reads",), '"both": allowed: one of "drawn", "dealt"')]


def test_the_schema_has_the_standard_names_of_bounds():
    """A number that a function looks at first, as `Whole`, has them too: pydantic writes ge and le there."""
    tokens = json_schema(Model)["properties"]["tokens"]
    assert (tokens["minimum"], tokens["default"]) == (2, 2)
    assert describe(tokens) == "a whole number ≥ 2 (Tokens)"
