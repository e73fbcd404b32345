import json
import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import load_experiment, without_effect
from attention_limits.pipeline.experiments.yaml_reader import load as load_yaml
from toy import EXPERIMENT, Toy, edited, imported, point_digest

MODELS = "steep: {gain: 3.0}\nflat: {gain: 0.0}\n"


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    project = Toy(tmp_path_factory.mktemp("spec") / "project")
    project.write("config/toy/models.yaml", MODELS)
    with imported(project):
        yield project


@pytest.fixture
def load(toy):
    """Write the toy experiment, with edits, and load it."""

    def load_edited(*edits, scale="laptop", settings=None):
        toy.experiment.write_text(edited(EXPERIMENT, edits))
        return load_experiment(toy.experiment, scale, settings)

    return load_edited


def problems(load, *edits, **options):
    with pytest.raises(SpecError) as caught:
        load(*edits, **options)
    return caught.value.problems


def test_the_effective_specification(load):
    experiment = load()
    growth = experiment.estimators["growth"]
    assert (experiment.family, experiment.name, experiment.title) == ("toy", "growth_curve", "Growth of a toy")
    assert growth.effective(growth.chunks[0]) == {
        "family": "toy",
        "experiment": "growth_curve",
        "estimator": "growth",
        "model": {"gain": 2.0},
        "grid": {"alpha": [0.0, 0.2]},
        "replicas": [0, 1, 2],
        "solver": {"steps": 3},
    }
    assert growth.module == "attention_limits.toy.estimators.growth"
    assert growth.resources == {"threads": 1, "memory": 1000, "minutes": 60}


def test_two_spellings_of_a_value_are_one_value(load):
    one = load(("gain: 2.0", "gain: 2"), ("steps: 3", "steps: 3.0"))
    assert one.effective() == load().effective()
    assert json.dumps(one.effective()) == json.dumps(load().effective())


def test_defaults_of_the_class_are_filled_in(load):
    assert load(("    solver: {tolerance: 1.0e-6}\n", "")).estimators["counting"].solver.tolerance == 0.01


def test_scales_are_overlays(load):
    assert load(scale="paper").estimators["growth"].replicas == 5
    assert load(scale="smoke").estimators["growth"].grid == {"alpha": [0.0, 0.6]}
    assert load().estimators["growth"].replicas == 3
    values = load(("grid: {alpha: {num: 2}}", "grid: {alpha: {values: [0.3]}}"), scale="smoke")
    assert values.estimators["growth"].grid == {"alpha": [0.3]}


def test_models_by_name(load):
    written = "model: {gain: 2.0}"
    assert load((written, "model: steep")).effective() == load((written, "model: {gain: 3.0}")).effective()
    based = load((written, "model: {base: steep, gain: 4.0}"))
    assert based.estimators["growth"].model == {"gain": 4.0}
    overlay = "  paper: {model: {gain: 5.0}, estimators: {growth: {replicas: 5}}}"
    edits = [(written, "model: steep"), ("  paper: {estimators: {growth: {replicas: 5}}}", overlay)]
    assert load(*edits).estimators["growth"].model == {"gain": 3.0}
    assert load(*edits, scale="paper").estimators["growth"].model == {"gain": 5.0}


def test_changes_of_models(load, toy):
    named, own = ("model: {gain: 2.0}", "model: steep"), ("model: {gain: 2.0}", "model: {base: steep, gain: 4.0}")
    changes = {"toy": {"steep": {"gain": 7.0}}, "another_family": {"x": {"y": 1}}}
    assert load(named, settings=changes).estimators["growth"].model == {"gain": 7.0}
    # What an experiment writes itself stays; what names no model stays.
    assert load(own, settings=changes).estimators["growth"].model == {"gain": 4.0}
    assert load(settings=changes).estimators["growth"].model == {"gain": 2.0}
    (found,) = problems(load, named, settings={"toy": {"round": {"gain": 1.0}}})
    assert found == (
        f"set: round: not in {toy.folder}/config/toy/models.yaml, and no experiment; "
        f"allowed: models: steep, flat; or an experiment of {toy.experiment.parent}"
    )
    (found,) = problems(load, named, settings={"toy": {"steep": {"gain": -1.0}}})
    assert found.startswith("set: steep.gain: -1.0: allowed: a number ≥ 0 (Slope)")
    (found,) = problems(load, named, settings={"toy": {"steep": {"slope": 1.0}}})
    assert found == "set: steep.slope: unknown key; allowed: gain"


def test_changes_of_an_experiment(load, toy):
    """An overlay on the command line is the last one, at each scale."""
    name = toy.experiment.stem
    change = {"estimators": {"growth": {"replicas": 7, "grid": {"alpha": {"values": [0.3]}}}}}
    for scale in ("laptop", "paper"):
        found = load(scale=scale, settings={"toy": {name: change}}).estimators["growth"]
        assert (found.replicas, found.grid) == (7, {"alpha": [0.3]})
    # Another experiment of the family does not change.
    (toy.experiment.parent / "other.yaml").write_text(toy.experiment.read_text())
    assert load(settings={"toy": {"other": change}}).estimators["growth"].replicas != 7
    for wrong, line in (
        ({"estimator": {}}, f"set: {name}: estimator: unknown key; allowed: data, estimators, model"),
        (
            {"growth": {}},
            f"set: {name}: growth: unknown key; allowed: data, estimators, model; write {{estimators: {{growth: ...}}}}",
        ),
        (
            {"replicas": 3},
            f"set: {name}: replicas: unknown key; allowed: data, estimators, model; write {{estimators: {{growth: {{rep",
        ),
        (
            {"gain": 3},
            f"set: {name}: gain: unknown key; allowed: data, estimators, model; write {{model: {{gain: ...}}}}",
        ),
        (
            {"estimators": {"growth": {"replicas": 0}}},
            f"{toy.experiment} with `set`: estimators.growth.replicas: 0: allowed:",
        ),
    ):
        (found, *_) = problems(load, settings={"toy": {name: wrong}})
        assert found.startswith(line)


def test_a_change_that_changes_nothing_is_named(load, toy):
    scanned = ("grid: {alpha: {values: [0.2, 0.4]}}", "grid: {alpha: {values: [0.2, 0.4]}, gain: {values: [1.0, 2.0]}}")
    growth = ("{start: 0.0, stop: 0.6, num: 4}}", "{start: 0.0, stop: 0.6, num: 4}, gain: {values: [1.0]}}")
    named, own = ("model: {gain: 2.0}", "model: steep"), ("model: {gain: 2.0}", "model: {base: steep, gain: 4.0}")
    follows = (scanned[0], "grid: {alpha: {values: [0.2]}, gain: model}")
    for edits, reason in (
        ([named], None),
        ([named, scanned], None),
        ([named, follows], None),
        ([named, scanned, growth], "growth, counting: the grid scans it"),
        ([own], "the file has its own"),
    ):
        changes = {"steep": {"gain": 7.0}}
        found = without_effect(load(*edits, settings={"toy": changes}), "laptop", changes)
        assert found == ([f"set: steep.gain: changes nothing in {toy.experiment}: {reason}"] if reason else [])


def test_changes_are_checked_at_the_scale_of_the_run(load, toy):
    """The data of a user decide, and need not fit the other scales; without changes every scale is checked."""
    named = ("model: {gain: 2.0}", "model: steep")
    wrong = ("  paper: {estimators: {growth: {replicas: 5}}}", "  paper: {estimators: {growth: {replicas: 0}}}")
    changes = {"toy": {"steep": {"gain": 7.0}}}
    assert load(named, wrong, settings=changes).estimators["growth"].model == {"gain": 7.0}
    for settings, scale in ((changes, "paper"), ({"another_family": {"x": {}}}, "laptop"), ({}, "laptop")):
        (found,) = problems(load, named, wrong, settings=settings, scale=scale)
        assert found.startswith(f"{toy.experiment}: scales.paper.estimators.growth.replicas: 0: allowed:")


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("model: round", "model: 'round': not in models.yaml; allowed: steep, flat"),
        ("model: {base: round}", "model: 'round': not in models.yaml; allowed: steep, flat"),
        ("model: {base: steep, gain: -1}", "model.gain: -1: allowed: a number ≥ 0 (Slope)"),
        ("model: {base: [steep]}", "model: ['steep']: not in models.yaml"),
        ("model: [steep]", 'model: ["steep"]: allowed: a mapping or text (Parameters'),
    ],
)
def test_wrong_models(load, toy, model, line):
    found = problems(load, ("model: {gain: 2.0}", model))
    assert found[0].startswith(f"{toy.experiment}: {line}")
    assert len(found) == 1


def test_an_overlay_does_not_fix_a_key_that_the_grid_scans(load, toy):
    """An axis takes the place of a key of a named model, not of a key that the file gives at that scale."""
    scanned = ("grid: {alpha: {values: [0.2, 0.4]}}", "grid: {alpha: {values: [0.2, 0.4]}, gain: {values: [1.0, 2.0]}}")
    overlay = "  paper: {model: {gain: 5.0}, estimators: {growth: {replicas: 5}}}"
    named = ("model: {gain: 2.0}", "model: steep")
    assert load(named, scanned).estimators["counting"].grid["gain"] == [1.0, 2.0]
    (found,) = problems(load, named, scanned, ("  paper: {estimators: {growth: {replicas: 5}}}", overlay))
    assert found.startswith(f"{toy.experiment}: scales.paper.estimators.counting.grid.gain: is also in model")


def test_an_axis_of_the_value_of_the_model_follows_its_changes(load):
    axis = "grid: {alpha: {values: [0.2, 0.4]}}"
    edits = [("model: {gain: 2.0}", "model: steep"), (axis, "grid: {alpha: {values: [0.2]}, gain: model}")]
    changes = {"toy": {"steep": {"gain": 7.0}}}
    assert [load(*edits, settings=given).estimators["counting"].grid["gain"] for given in ({}, changes)] == [
        [3.0],
        [7.0],
    ]
    (found,) = problems(load, (axis, "grid: {alpha: model}"))
    assert "estimators.counting.grid.alpha: 'model': allowed: {start, stop, num}" in found


def test_a_file_of_models_is_a_mapping_of_mappings(load, toy):
    toy.write("config/toy/models.yaml", "steep: 3\n")
    try:
        assert problems(load) == [f"{toy.folder}/config/toy/models.yaml: steep: must be a mapping"]
    finally:
        toy.write("config/toy/models.yaml", MODELS)


def test_an_effective_specification_is_a_copy(load):
    growth = load().estimators["growth"]
    growth.effective(growth.chunks[0])["model"]["gain"] = 9.0
    growth.effective(growth.chunks[0])["grid"]["alpha"].append(9.0)
    assert growth.effective(growth.chunks[0])["model"] == {"gain": 2.0}
    assert growth.chunks[0].grid == {"alpha": [0.0, 0.2]}


@pytest.mark.parametrize(
    ("edit", "path", "words"),
    [
        (("steps: 3", "steps: 0"), "estimators.growth.solver.steps", ["0:", "whole number ≥ 1 and ≤ 9 (Steps)"]),
        (("steps: 3", "stepz: 3"), "estimators.growth.solver.stepz", ["unknown key", "allowed: steps"]),
        (("{steps: 3}", "{}"), "estimators.growth.solver.steps", ["missing", "whole number"]),
        (("steps: 3", "steps: true"), "estimators.growth.solver.steps", ["true:", "whole number"]),
        (("1.0e-6", "1.5e2"), "estimators.counting.solver.tolerance", ["150.0:", "≤ 0.1"]),
        (("1.0e-6", "1e"), "estimators.counting.solver.tolerance", ['"1e":', "a number"]),
        (("gain: 2.0", "gain: -1"), "model.gain", ["-1:", "a number ≥ 0 (Slope)"]),
        (("gain: 2.0", "gain: .nan"), "model.gain", ["NaN:", "a number ≥ 0 (Slope)"]),
        (("gain: 2.0", "gain: -.inf"), "model.gain", ["-Infinity:", "a number ≥ 0 (Slope)"]),
        (("{gain: 2.0}", "{gain: 2.0, slope: 1}"), "model.slope", ["unknown key; allowed: gain"]),
        (("{gain: 2.0}", "{}"), "model.gain", ["missing"]),
        (("stop: 0.6", "stop: 60"), "estimators.growth.grid.alpha", ["20.0:", "≤ 10 (Samples per dimension)"]),
        (("stop: 0.6", "stop: -1"), "estimators.growth.grid.alpha", ["strictly increasing"]),
        (("num: 4", "number: 4"), "estimators.growth.grid.alpha.number", ["unknown key", "num"]),
        (("num: 4", "num: 0"), "estimators.growth.grid.alpha.num", ["≥ 1"]),
        (("[0.2, 0.4]", "[]"), "estimators.counting.grid.alpha.values", ["at least 1 items"]),
        (("[0.2, 0.4]", "[0.2, x]"), "estimators.counting.grid.alpha.values.1", ['"x":', "a number"]),
        (("[0.2, 0.4]", "0.2"), "estimators.counting.grid.alpha.values", ["a list"]),
        (("{values: [0.2, 0.4]}", "0.2"), "estimators.counting.grid.alpha", ["{values: [...]}"]),
        (("{alpha: {values", "{beta: {values"), "estimators.counting.grid.beta", ["unknown key; allowed: alpha, gain"]),
        (("{alpha: {values", "{gain: {values"), "estimators.counting.grid.gain", ["also in model"]),
        (("chunk: {alpha: 2}", "chunk: {beta: 2}"), "estimators.growth.chunk.beta", ["allowed: alpha, replicas"]),
        (("replicas: 3", "replicas: 0"), "estimators.growth.replicas", ["whole number ≥ 1"]),
        (("  counting:", "  guessing:"), "estimators.guessing", ["no such estimator; allowed: growth, counting"]),
        (("  counting:", "  Counting:"), "estimators.Counting", ["names matching"]),
        (("title: Growth of a toy", "titel: x"), "titel", ["unknown key"]),
        (("title: Growth of a toy\n", ""), "title", ["missing; allowed: text"]),
        (("  paper:", "  huge:"), "scales.huge", ["unknown key; allowed: paper, smoke"]),
        (
            ("    replicas: 3\n", "    model: {gain: 9}\n"),
            "estimators.growth.model",
            ["unknown key; write model once"],
        ),
        (("scales:", "requires: {/abs: x}\nscales:"), "requires./abs", ["unknown key; allowed: names matching"]),
        (("    solver: {steps: 3}", "    solver: 3"), "estimators.growth.solver", ["3: allowed: a mapping"]),
        (("replicas: 5", "replica: 5"), "scales.paper.estimators.growth.replica", ["unknown key"]),
        (("replicas: 5", "replicas: 5.5"), "scales.paper.estimators.growth.replicas", ["5.5:"]),
        (
            ("paper: {estimators: {growth", "paper: {estimators: {grown"),
            "scales.paper.estimators.grown",
            ["no such estimator; allowed: growth, counting"],
        ),
        (("paper: {est", "paper: {solver: {}, est"), "scales.paper.solver", ["unknown key"]),
        (("title: Growth", "title: x\ntitle: Growth"), "line 2, column 1: not YAML: ", ["'title' is written twice"]),
        (("gain: 2.0", "gain: &a 2.0, slope: *a"), "line 4, ", ["not YAML: aliases"]),
        (("gain: 2.0", "1: 2.0"), "line 4, ", ["not YAML: ", "not text"]),
        (("gain: 2.0}", "gain: 2.0"), "line ", ["not YAML: ", "expected"]),
    ],
)
def test_a_wrong_file_is_reported_by_key_value_and_what_is_allowed(load, toy, edit, path, words):
    found = problems(load, edit)
    matching = [line for line in found if line.startswith(f"{toy.experiment}: {path}")]
    assert matching, found
    for word in words:
        assert word in matching[0]
    assert all("\n" not in line for line in found)


def test_all_problems_at_once_and_each_once(load):
    found = problems(load, ("steps: 3", "steps: 0"), ("gain: 2.0", "gain: -1"), ("replicas: 5", "replicas: x"))
    assert len(found) == len(set(found)) == 3


def test_an_empty_and_a_missing_file(toy, load):
    toy.experiment.write_text("")
    with pytest.raises(SpecError, match="must be a mapping"):
        load_experiment(toy.experiment)
    with pytest.raises(SpecError, match=r"absent.yaml: cannot be read: No such file"):
        load_experiment(toy.experiment.with_name("absent.yaml"))
    toy.experiment.write_bytes(b"title: \xff\n")
    with pytest.raises(SpecError, match="not UTF-8"):
        load_experiment(toy.experiment)


def test_a_required_key_may_be_scanned(load):
    edits = [("model: {gain: 2.0}\n", ""), ("grid: {alpha", "grid: {gain: {values: [1, 2]}, alpha")]
    growth = load(*edits).estimators["growth"]
    assert growth.model == {}
    assert list(growth.grid) == ["gain", "alpha"]


def test_what_a_point_hangs_on(load):
    def digest(*edits, scale="laptop", seed=0, code="c"):
        return point_digest(load(*edits, scale=scale).estimators["growth"], seed, code)

    same = digest()
    assert same == digest(scale="paper") == digest(scale="smoke") == digest(("{alpha: 2}", "{alpha: 1}"))
    assert (
        len({same, digest(seed=1), digest(code="d"), digest(("gain: 2.0", "gain: 3")), digest(("s: 3}", "s: 4}"))}) == 5
    )


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
places = st.sampled_from(
    [
        (),
        ("data",),
        ("title",),
        ("description",),
        ("model",),
        ("model", "gain"),
        ("estimators",),
        ("estimators", "growth"),
        ("scales",),
    ]
    + [("estimators", "growth", key) for key in ("reads", "grid", "replicas", "chunk", "solver", "resources")]
    + [("estimators", "growth", "grid", "alpha"), ("estimators", "growth", "grid", "alpha", "num")]
    + [("scales", "paper"), ("scales", "paper", "estimators"), ("scales", "paper", "estimators", "growth", "grid")]
)


@given(places, plain)
def test_any_value_anywhere_is_either_good_or_a_named_problem(toy, place, value):
    document = load_yaml(EXPERIMENT)
    node = document
    for key in place[:-1]:
        node = node.setdefault(key, {})
    if place:
        node[place[-1]] = value
    else:
        document = value
    toy.experiment.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    try:
        outcome = load_experiment(toy.experiment).effective()
    except SpecError as error:
        outcome = error.problems
    if isinstance(outcome, list):
        assert outcome
        assert all(str(toy.experiment) in line for line in outcome)
    else:
        json.dumps(outcome, allow_nan=False)


@given(st.floats(0, 9), st.integers(1, 9), st.integers(1, 30))
def test_valid_files_load_with_their_values(toy, gain, steps, replicas):
    document = load_yaml(EXPERIMENT)
    document["model"]["gain"] = gain
    document["estimators"]["growth"]["solver"]["steps"] = steps
    document["estimators"]["growth"]["replicas"] = replicas
    toy.experiment.write_text(yaml.safe_dump(document))
    if "e" in str(gain) and "." not in str(gain):
        return  # PyYAML writes such a number as YAML 1.1 text
    growth = load_experiment(toy.experiment).estimators["growth"]
    assert math.isclose(growth.model["gain"], gain)
    assert (growth.solver.steps, growth.replicas) == (steps, replicas)
