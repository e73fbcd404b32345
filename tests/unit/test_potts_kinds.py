"""The kinds of the family, end to end on tiny problems, and what is refused before any job."""

import shutil

import numpy as np
import pytest
import yaml

from attention_limits.pipeline.chunks import run_chunk
from attention_limits.pipeline.cubes import read
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.experiment import load_experiment
from toy import REPOSITORY

SMALL = {
    "title": "Small", "description": "A small model.",
    "model": {"sites": 4, "colors": 3, "instance": 1, "couplings": {"kind": "gaussian"}},
    "data": {
        "potts_samples": {
            "grid": {"distance": {"values": [0.5]}}, "replicas": 2,
            "solver": {
                "samples": 60, "test_samples": 50, "gap": 3, "tuning_samples": 100, "tuning_gap": 5, "beta_max": 20.0,
                "warm_up": 10,
            },
        }
    },
    "estimators": {
        "equilibrium": {"reads": "potts_samples", "grid": {"distance": {"values": [0.5]}}, "replicas": 2},
        "factored_attention": {
            "reads": "potts_samples", "replicas": 2,
            "grid": {
                "distance": {"values": [0.5]}, "samples": {"values": [20, 60]}, "ridge": {"values": [0.01]},
            },
            "solver": {"attentions": ["softmax", "raw"], "starts": 2},
        },
    },
}  # fmt: skip
ALIGNED = {
    "title": "Family", "description": "A protein family.",
    "model": {"alignment": "family.fasta", "alphabet": "-ACDE"},
    "data": {"alignment": {"grid": {}, "replicas": 2, "solver": {"test_fraction": 0.25}}},
    "estimators": {
        "factored_attention": {
            "reads": "alignment", "replicas": 2, "grid": {"samples": {"values": [20, 30]}, "ridge": {"values": [0.1, 1.0]}},
            "solver": {"starts": 1},
        }
    },
}  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project folder with the schemas of the family, made the working directory."""
    schemas = tmp_path / "config" / "schemas"
    shutil.copytree(REPOSITORY / "config" / "schemas", schemas)
    (tmp_path / "config" / "experiments" / "potts_mlm").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(project, document, name="small"):
    path = project / "config" / "experiments" / "potts_mlm" / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def computed(path, estimator):
    """The dataset of the only chunk of an estimator."""
    experiment = load_experiment(path)
    part = experiment.estimators[estimator]
    (chunk,) = part.chunks
    output = path.parent / f"{estimator}.nc"
    run_chunk(experiment, part, chunk, 0, output)
    return read(output, repair="none")


def test_learners_see_the_samples_of_their_point(project):
    path = write(project, SMALL)
    known, learnt = computed(path, "equilibrium"), computed(path, "factored_attention")
    assert known.couplings.dims == ("distance", "replica", "site", "site_other")
    # One instance, two samples of it.
    np.testing.assert_array_equal(known.couplings[0, 0], known.couplings[0, 1])
    assert known.beta[0, 0] == known.beta[0, 1]
    assert known.optimal_loss[0, 0] != known.optimal_loss[0, 1]
    assert np.all(np.abs(known.hamming - 0.5) < 0.1)
    assert learnt.attention.values.tolist() == ["softmax", "raw"]
    assert np.all(learnt.attention_map.sel(attention="softmax") >= 0)
    # The chosen start is the one with the smallest objective, and its excess is against the optimum on the same test set.
    best = learnt.objective.argmin("start")
    np.testing.assert_array_equal(learnt.chosen, best)
    excess = learnt.test_loss.isel(start=best) - known.optimal_loss
    np.testing.assert_allclose(excess.transpose(*learnt.excess_loss.dims), learnt.excess_loss, atol=1e-12)
    assert np.all(learnt.site_error >= 0)


def test_an_alignment_is_learnt_from(project):
    """Columns 1 and 2 always agree: the fit beats independent sites on held-out sequences, by far more than their noise."""
    rng = np.random.default_rng(1)
    letters = rng.choice(list("ACDE"), (40, 4))
    letters[:, 1] = letters[:, 0]
    rows = "".join(f">s{k}\n{''.join(row)}\n" for k, row in enumerate(letters))
    (project / "family.fasta").write_text(rows)
    learnt = computed(write(project, ALIGNED), "factored_attention")
    assert learnt.attention_map.sizes["site"] == 4
    assert np.isnan(learnt.excess_loss).all()
    assert np.isnan(learnt.site_error).all()
    gain = learnt.independent_loss.isel(ridge=0, samples=-1) - learnt.test_loss.isel(
        ridge=0, samples=-1, start=0, attention=0
    )
    assert np.all(gain > 0.1)


def edited(document, keys, value):
    copy = yaml.safe_load(yaml.safe_dump(document))
    node = copy
    for key in keys[:-1]:
        node = node[key]
    if value is None:
        del node[keys[-1]]
    else:
        node[keys[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("model", "sites"), 1, "model.sites: 1: allowed: a whole number ≥ 2"),
        (("model", "colors"), 1, "model.colors: 1: allowed: a whole number ≥ 2"),
        (("model", "couplings", "rank"), 2, "model.couplings.rank: kind gaussian does not read it"),
        (("model", "couplings", "kind"), "contact", "model.couplings.density: missing; kind contact needs it"),
        (("model", "couplings", "kind"), "ising", 'model.couplings.kind: "ising": allowed: one of "gaussian"'),
        (("model", "couplings"), {"kind": "file", "file": "no.npy"}, "model.couplings.file: .*no.npy: cannot be read"),
        (("model", "couplings"), {"kind": "file", "file": "odd.npy"}, r"odd.npy: entry \[0, 1\] = 1: .* must be symmetric"),
        (("model", "couplings"), {"kind": "file", "file": "big.npy"}, "big.npy: 5 rows; the model has 4"),
        (("estimators", "factored_attention", "grid", "samples", "values"), [70], "grid.samples: 70: the data have 60"),
        (("estimators", "factored_attention", "grid", "ridge", "values"), [-1.0], "grid.ridge: -1.0: allowed: a number ≥ 0"),
        (("estimators", "factored_attention", "solver", "attentions"), ["hard"], 'attentions.0: "hard": allowed: one of'),
        (("estimators", "equilibrium", "grid", "distance", "values"), [1.0], "grid.distance: 1.0: allowed"),
    ],
)  # fmt: skip
def test_bad_specifications_are_refused(project, keys, value, message):
    np.save(project / "odd.npy", np.triu(np.ones((4, 4)), 1))
    np.save(project / "big.npy", np.zeros((5, 5)))
    with pytest.raises(SpecError, match=message):
        load_experiment(write(project, edited(SMALL, keys, value)))


@pytest.mark.parametrize(
    ("text", "message"),
    [(">a\nAX\n>b\nAC\n", "model.alignment: .*line 2, column 2: unknown letter 'X'"), (None, "cannot be read")],
)
def test_bad_alignments_are_refused(project, text, message):
    if text:
        (project / "family.fasta").write_text(text)
    with pytest.raises(SpecError, match=message):
        load_experiment(write(project, ALIGNED))


def test_gamma_at_the_edge_is_refused(project):
    document = yaml.safe_load((REPOSITORY / "config/experiments/potts_mlm/fig3_left.yaml").read_text())
    document = edited(document, ("estimators", "replica", "grid", "gamma", "values"), [2.0, 3.0])
    with pytest.raises(SpecError, match=r"replica\.grid\.gamma: 2\.0: allowed: a number > 2"):
        load_experiment(write(project, document))


def test_a_file_of_ones_own_is_the_model_and_belongs_to_the_code(project):
    couplings = np.zeros((4, 4))
    couplings[0, 1] = couplings[1, 0] = 1.5
    np.save(project / "mine.npy", couplings)
    document = edited(SMALL, ("model", "couplings"), {"kind": "file", "file": "mine.npy"})
    document = edited(document, ("data", "potts_samples", "grid", "distance", "values"), [0.6])
    for name in document["estimators"]:
        document = edited(document, ("estimators", name, "grid", "distance", "values"), [0.6])
    path = write(project, document)
    known = computed(path, "equilibrium")
    np.testing.assert_array_equal(known.couplings[0, 0], couplings)
    first = known.attrs["point_digest"]
    np.save(project / "mine.npy", 1.1 * couplings)
    assert computed(path, "equilibrium").attrs["point_digest"] != first


def test_an_instance_that_stays_apart_is_named(project):
    """The Potts model proper: all colours are equivalent, so the distance cannot fall below 1 - 1/C."""
    document = edited(SMALL, ("model", "color_couplings"), {"kind": "identity"})
    document = edited(document, ("data", "potts_samples", "solver", "beta_max"), 2.0)
    with pytest.raises(
        SpecError, match=r"potts_mlm/small: model\.instance: 1: .* the largest allowed; the target is 0\.5"
    ):
        computed(write(project, document), "equilibrium")
