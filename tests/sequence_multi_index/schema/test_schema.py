"""Wrong experiments are refused before anything compiles, by key, value and what is allowed."""

import json
import re

import pytest

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import load_experiment

TWO_LAYERS = {"depth": 2, "tokens": 2, "skip": 1.0, "beta": 1.0}
THREE_WITHOUT_SKIP = {"depth": 3, "tokens": 3, "skip": 0.0, "beta": 1.0}
ALPHA = {"alpha": {"values": [0.5, 1.5]}}
DATA = {"gaussian_sequences": {"grid": ALPHA, "solver": {"dimension": 40}}}
DESCENT = {"batch": 10, "batches": 5, "learning_rate": 1.0}
QUESTIONS = {"corpus": "generated", "questions": 400, "depth": 2, "embedding": 4, "hidden": 4, "skip": 1.0}
TRAINING = {"grid": {"embedding_std": {"values": [0.1]}, "learning_rate": {"values": [0.001]}}}
# A section of each estimator that is right.
RIGHT = {
    "state_evolution": {"grid": ALPHA},
    "phase_comparison": {"grid": ALPHA},
    "gamp": {"grid": ALPHA, "solver": {"dimension": 40}},
    "staircase": {"grid": {"noise": {"values": [0.0]}}},
    "held_overlap": {"grid": {**ALPHA, "held": {"values": [0.5]}}},
    "batch_reuse_sgd": {"grid": ALPHA, "solver": DESCENT, "reads": "gaussian_sequences"},
    "online_sgd": {"grid": ALPHA, "solver": DESCENT, "reads": "gaussian_sequences"},
    "trec": TRAINING,
    "depth_scaling": {"grid": {"ratio": {"values": [1.0]}, "depth": {"values": [4]}}},
}


@pytest.fixture
def problems(tmp_path):
    """The problems of an experiment of one estimator, without the path of its file."""
    path = tmp_path / "config" / "sequence_multi_index" / "experiments" / "trial.yaml"
    path.parent.mkdir(parents=True)

    def found(name, model, **changes):
        part = RIGHT[name] | changes
        document = {"title": "Trial", "description": "Trial.", "model": model, "estimators": {name: part}}
        if "reads" in part:
            document["data"] = DATA
        path.write_text(json.dumps(document))
        try:
            load_experiment(path)
        except SpecError as error:
            return sorted({line.removeprefix(f"{path}: ").split("scales.")[0] for line in error.problems} - {""})
        return []

    return found


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_accepted(problems, name):
    model = {"trec": QUESTIONS, "depth_scaling": {"beta": 1.0, "tokens": 2}}.get(name, TWO_LAYERS)
    assert problems(name, model) == []


@pytest.mark.parametrize("name", ["state_evolution", "staircase", "phase_comparison", "gamp", "held_overlap"])
def test_a_provided_link_whose_output_cannot_be_inverted_is_refused(problems, name):
    """Three layers without a skip: the output is nearly 1/M everywhere, and rounding destroys its information on the fields."""
    (line,) = problems(name, THREE_WITHOUT_SKIP)
    assert line.startswith("model: the true fields are not among the candidates")


def test_every_scanned_value_is_checked_and_named(problems):
    model = {key: value for key, value in THREE_WITHOUT_SKIP.items() if key != "tokens"}
    (line,) = problems("state_evolution", model, grid={**ALPHA, "tokens": {"values": [2, 3]}})
    assert line.startswith("estimators.state_evolution.grid.tokens: 3: the true fields are not among")


def test_an_estimator_that_runs_the_link_forward_accepts_it(problems):
    assert problems("online_sgd", THREE_WITHOUT_SKIP) == []


def test_thresholds_of_one_model_need_no_axis(problems):
    assert problems("staircase", TWO_LAYERS, grid={}) == []


@pytest.mark.parametrize(
    ("name", "model", "changes", "line"),
    [
        ("gamp", {"link": "rescaled_attention", "depth": 1000}, {}, "model: rescaled_attention has 1000 rows: allowed: at most"),
        ("gamp", {"link": "nope"}, {}, "model: no link 'nope'; allowed: deep_attention, untied"),
        ("phase_comparison", {"depth": 2, "skip": 0.0, "activation": "linear"}, {}, "model: DeepAttention has no channel"),
        ("phase_comparison", {"depth": 4, "activation": "linear"}, {}, "model: depth 4: allowed with linear"),
        ("gamp", {"link": "phase_retrieval", "noise": 1e-12}, {}, "model.noise: 1e-12: allowed: 0, or 1e-06 to 1000"),
        ("staircase", TWO_LAYERS, {"grid": {"noise": {"values": [0.0, 9e-7]}}}, "estimators.staircase.grid.noise"),
        ("held_overlap", {"link": "product"}, {}, "model: Monomial has the sign symmetry 'all'; allowed: links in which"),
        ("online_sgd", {"link": "sign_product"}, {}, "model: the output of SignProduct does not change with the"),
        ("online_sgd", {"link": "rescaled_attention", "depth": 65}, {}, "model: rescaled_attention has 65 rows: allowed for g"),
        ("gamp", TWO_LAYERS, {"solver": {}}, "estimators.gamp.solver.dimension: missing"),
        ("gamp", TWO_LAYERS, {"reads": "gaussian_sequences"}, "estimators.gamp.solver.dimension: 40: leave it out"),
        ("gamp", TWO_LAYERS, {"solver": {"dimension": 100000}}, "estimators.gamp.resources.memory: 1000: allowed: ≥ "),
        ("state_evolution", TWO_LAYERS, {"solver": {"nodes": 500}}, "estimators.state_evolution.solver.nodes: 500: allowed: one"),
        (
            "batch_reuse_sgd", TWO_LAYERS, {"solver": DESCENT | {"batch": 30}},
            "estimators.batch_reuse_sgd.solver.batch: 30: allowed: ≤ 20, the number of sequences at alpha = 0.5",
        ),
        ("trec", QUESTIONS | {"corpus": "data/x"}, {}, "model.corpus: 'data/x': allowed: generated, or a file"),
        ("trec", QUESTIONS | {"test_fraction": 0.001}, {}, "model.test_fraction: 0.001 of 400 questions: the test part is empty"),
        ("trec", QUESTIONS, {"solver": {"batch": 100}}, "estimators.trec.solver.batch: records * batch = 400: allowed: ≤ 360"),
        ("depth_scaling", {"beta": 1.0, "tokens": 1}, {}, "model.tokens: 1: allowed: a whole number ≥ 2 and ≤ 64"),
    ],
)  # fmt: skip
def test_a_wrong_experiment_is_refused(problems, name, model, changes, line):
    found = problems(name, model, **changes)
    assert any(one.startswith(line) for one in found), found


POWER_LAW = {"name": "power_law", "count": 8}


@pytest.mark.parametrize(
    ("name", "keys", "changes", "says"),
    [
        ("gamp", {"covariance": POWER_LAW, "participation_ratio": 0.4}, {}, None),
        ("gamp", {"covariance": POWER_LAW}, {}, "model.participation_ratio: participation_ratio: missing"),
        ("state_evolution", {"participation_ratio": 0.4}, {}, "leave it out; it belongs to a covariance"),
        (
            "state_evolution", {"covariance": POWER_LAW},
            {"grid": {**ALPHA, "participation_ratio": {"values": [0.05, 0.5]}}},
            "estimators.state_evolution.grid.participation_ratio: participation_ratio: 0.05: allowed for 8 eigenvalues",
        ),
        (
            "gamp", {"covariance": {"name": "power_law", "count": 7}, "participation_ratio": 0.4}, {},
            "estimators.gamp.solver.dimension: D = 40 .*; allowed: multiples of 7",
        ),
        (
            "state_evolution", {"covariance": POWER_LAW, "participation_ratio": 0.4, "prior": {"name": "binary"}}, {},
            "model.covariance: .*the weights are binary; allowed: gaussian, correlated",
        ),
        (
            "state_evolution", {"covariance": POWER_LAW, "participation_ratio": 0.4},
            {"solver": {"side_information": 0.2}},
            "estimators.state_evolution.solver.side_information: allowed with a covariance .*: 0",
        ),
        (
            "state_evolution", {"covariance": {"name": "eigenvalues", "values": [3.0, 1.0]}}, {},
            "model.covariance: .* is 2; allowed: 1; divide the eigenvalues by 2",
        ),
        (
            "state_evolution", {"covariance": {"name": "file", "path": "none.txt"}}, {},
            "model.covariance: .*none.txt does not exist",
        ),
    ],
)  # fmt: skip
def test_covariance_of_the_dimensions(problems, name, keys, changes, says):
    found = problems(name, TWO_LAYERS | keys, **changes)
    assert (found == []) if says is None else re.search(says, " ".join(found)), found


@pytest.mark.parametrize(
    ("name", "blocks", "changes", "says"),
    [
        ("gamp", [1, 2], {}, None),
        ("state_evolution", [1, 2], {"solver": {"side_information": 0.2}}, None),
        ("gamp", [1, 2, 1], {}, "model.prior: prior.blocks: allowed: 2 numbers, one for each row of W, got 3"),
        ("gamp", [1, 3], {}, r"model.prior: prior.blocks: allowed: the numbers 1 to B, each at least once; got \[1, 3\]"),
        (
            "gamp", [1, 2], {"solver": {"dimension": 41}},
            "solver.dimension: D = 41 has no whole number of dimensions for each of the 2 blocks; allowed: multiples of 2",
        ),
        (
            "gamp", [1, 2], {"solver": {"dimension": 40, "variance": "sample"}},
            "variance: sample: allowed with prior: blocks: average",
        ),
    ],
)  # fmt: skip
def test_blocks_of_the_dimensions(problems, name, blocks, changes, says):
    found = problems(name, TWO_LAYERS | {"prior": {"name": "blocks", "blocks": blocks}}, **changes)
    assert (found == []) if says is None else re.search(says, " ".join(found)), found


@pytest.mark.parametrize("key", ["covariance", "prior", "token_covariance"])
def test_an_estimator_refuses_a_law_that_only_others_of_its_file_take(tmp_path, key):
    """Without this rule held_overlap would compute another model than gamp, in the same cube."""
    value = {"covariance": POWER_LAW, "prior": {"name": "binary"}, "token_covariance": [[1.0, 0.3], [0.3, 1.0]]}[key]
    model = TWO_LAYERS | {key: value} | ({"participation_ratio": 0.4} if key == "covariance" else {})
    path = tmp_path / "config" / "sequence_multi_index" / "experiments" / "trial.yaml"
    path.parent.mkdir(parents=True)
    estimators = {name: RIGHT[name] for name in ("gamp", "held_overlap")}
    path.write_text(json.dumps({"title": "Trial", "description": "Trial.", "model": model, "estimators": estimators}))
    with pytest.raises(SpecError, match=f"model.{key}: estimators.held_overlap does not take it"):
        load_experiment(path)
