"""Specifications of the Potts family that are refused before any job."""

import subprocess
import sys

import numpy as np
import pytest
from potts_tools import ALIGNED, SMALL, edited, write

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.pipeline.experiments.project import load_project
from attention_limits.pipeline.experiments.yaml_reader import read_yaml
from toy import REPOSITORY


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("model", "sites"), 1, "model.sites: 1: allowed: a whole number ≥ 2"),
        (("model", "colors"), 1, "model.colors: 1: allowed: a whole number ≥ 2"),
        (("model", "couplings", "rank"), 2, "model.couplings.rank: unknown key; allowed: kind"),
        (("model", "couplings", "kind"), "contact", "model.couplings.density: missing; allowed: a number ≥ 0"),
        (("model", "couplings", "kind"), "ising", 'model.couplings.kind: "ising": allowed: contact, distances, file'),
        (("model", "couplings"), {"kind": "file", "file": "no.npy"}, "model.couplings.file: .*no.npy: cannot be read"),
        (("model", "couplings"), {"kind": "file", "file": "odd.npy"}, r"odd.npy: row 1, column 2: 1: .* must be symmetric"),
        (("model", "couplings"), {"kind": "file", "file": "big.npy"}, "big.npy: 5 rows; the model has 4"),
        (
            ("estimators", "factored_attention", "grid", "samples", "values"), [70],
            "grid.samples: 70: allowed: ≤ 60, the training sequences of data.potts_samples",
        ),
        (("estimators", "factored_attention", "grid", "ridge", "values"), [-1.0], "grid.ridge: -1.0: allowed: a number ≥ 0"),
        (("estimators", "factored_attention", "solver", "attentions"), ["hard"], 'attentions.0: "hard": allowed: one of'),
        (("estimators", "factored_attention", "solver", "attentions"), ["raw", "raw"], "attentions: .* at most once"),
        (("estimators", "equilibrium", "grid", "distance", "values"), [1.0], "grid.distance: 1.0: allowed"),
        (("model", "colors"), 2, "potts_samples.grid.distance: 0.5: allowed: below 0.5, that of 2 colours at random"),
    ],
)  # fmt: skip
def test_bad_specifications_are_refused(tmp_path, keys, value, message):
    np.save(tmp_path / "odd.npy", np.triu(np.ones((4, 4)), 1))
    np.save(tmp_path / "big.npy", np.zeros((5, 5)))
    with pytest.raises(SpecError, match=message):
        load_experiment(write(tmp_path, edited(SMALL, keys, value)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nA1\n>b\nAC\n", "model.alignment: .*line 2, column 2: '1' is no letter"),
        ("", "model.alignment: .*family.fasta: 0 sequences; at least 2"),
        (None, "model.alignment: .*cannot be read"),
    ],
)
def test_bad_alignments_are_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "family.fasta").write_text(text)
    with pytest.raises(SpecError, match=message):
        load_experiment(write(tmp_path, ALIGNED))


def test_gamma_at_the_edge_is_refused(tmp_path):
    document = read_yaml(REPOSITORY / "config/potts_mlm/experiments/fig3_left.yaml")
    document = edited(document, ("estimators", "replica", "grid", "gamma", "values"), [2.0, 3.0])
    with pytest.raises(SpecError, match=r"replica\.grid\.gamma: 2\.0: allowed: a number > 2"):
        load_experiment(write(tmp_path, document))


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("model", "alphabet"), "-AAB", r"model.alphabet: '-AAB': allowed: protein, rna, dna, or a text of '-'"),
        (("model", "alphabet"), "ABC", r"model.alphabet: 'ABC': allowed: protein, rna, dna, or a text of '-'"),
        (("data", "alignment", "solver", "max_column_gaps"), 0.0, "model.alignment: .*0 of 4 columns have at most 0 gaps"),
        (("data", "alignment", "solver", "test_fraction"), 1.0, "test_fraction: 1.0: allowed: a number > 0 and < 1"),
        (
            ("estimators", "factored_attention", "grid", "samples", "values"), [4],
            "grid.samples: 4: allowed: ≤ 3, the training sequences of data.alignment",
        ),
    ],
)  # fmt: skip
def test_bad_readings_of_an_alignment_are_refused(tmp_path, keys, value, message):
    rows = ("-ACD", "A-CD", "AC-D", "ACD-")
    (tmp_path / "family.fasta").write_text("".join(f">s{k}\n{row}\n" for k, row in enumerate(rows)))
    document = edited(ALIGNED, ("estimators", "factored_attention", "grid", "samples", "values"), [3])
    load_experiment(write(tmp_path, document))
    with pytest.raises(SpecError, match=message):
        load_experiment(write(tmp_path, edited(document, keys, value)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1 2 3.0\n3 5 1.0\n",
            "model.distances: .*d.txt: line 2: columns 3 and 5: expected: 1 ≤ i < j ≤ 4, the match columns",
        ),
        ("1 2\n", "model.distances: .*d.txt: line 1: '1 2': expected: i j distance"),
        (None, "model.distances: .*d.txt: cannot be read"),
        (
            "1 2 0.3\n1 4 1.2\n",
            "model.contact: 8: all of its pairs are contacts: .*d.txt has distances from 0.3 to 1.2; both are in one",
        ),
        ("1 2 30\n1 4 80\n", "model.contact: 8: none of its pairs is a contact: .*d.txt has distances from 30 to 80"),
    ],
)
def test_bad_distances_are_refused(tmp_path, text, message):
    (tmp_path / "family.fasta").write_text("".join(f">s{k}\nACDE\n" for k in range(4)))
    if text is not None:
        (tmp_path / "d.txt").write_text(text)
    part = {"reads": "alignment", "grid": {"samples": {"values": [3]}, "heads": {"values": [1]}}}
    document = {
        **ALIGNED,
        "model": {**ALIGNED["model"], "distances": "d.txt"},
        "estimators": {"multihead_attention": part},
    }
    with pytest.raises(SpecError, match=message):
        load_experiment(write(tmp_path, document))


def test_simulated_sequences_must_fit_into_memory(tmp_path):
    document = read_yaml(REPOSITORY / "config/potts_mlm/experiments/fig3_left.yaml")
    document = edited(document, ("estimators", "ridge_simulation", "grid", "alpha", "values"), [1000.0])
    with pytest.raises(SpecError, match=r"ridge_simulation\.grid\.alpha: 1000: allowed: ≤ 626\.566 for 400 sites"):
        load_experiment(write(tmp_path, document))


def test_more_evaluations_than_epochs_are_refused(tmp_path):
    grid = {"distance": {"values": [0.5]}, "samples": {"values": [20]}, "layers": {"values": [1]}}
    part = {"reads": "potts_samples", "grid": grid, "solver": {"epochs": 3, "test_sequences": 50}}
    with pytest.raises(
        SpecError, match=r"transformer\.solver\.evaluations: 20: allowed: ≤ 3, the value of solver\.epochs"
    ):
        load_experiment(write(tmp_path, edited(SMALL, ("estimators", "transformer"), part)))


def test_specifications_compile_nothing():
    """A light process lists the whole project: no module of the specifications imports numba or jax."""
    command = "import sys; from attention_limits.potts_mlm import specs; print({'numba', 'jax'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


DISTANT = {
    **edited(SMALL, ("data",), {"alignment": {"solver": {"max_column_gaps": 0.5}}}),
    "model": "family",
    "estimators": {"alignment_summary": {"reads": "alignment"}},
    "scales": {"smoke": {"data": {"alignment": {"solver": {"max_column_gaps": 0.005}}}}},
}


def test_an_alignment_takes_the_place_of_one_with_distances(tmp_path):
    """Fewer columns than the distances number, and gaps that only another scale refuses: the scale of the run decides."""
    path = write(tmp_path, DISTANT)
    (tmp_path / "old.fasta").write_text(">a\nACDEAC\n>b\nCCDEAC\n>c\nACDEAD\n")
    (tmp_path / "pairs.txt").write_text("1 6 7.5\n")
    (tmp_path / "new.fasta").write_text(">a\n-CDE\n>b\nA-DE\n>c\nAC-E\n>d\nACD-\n")
    models = "family: {alphabet: -ACDE, alignment: old.fasta, distances: pairs.txt}\n"
    (path.parents[1] / "models.yaml").write_text(models)
    changes = {"alignment": "new.fasta", "distances": None}
    config = {"set": {"potts_mlm": {"family": changes}}}
    project = load_project(tmp_path, config)
    assert project.notes() == []
    assert "distances" not in project.all()[0].estimators["alignment_summary"].model
    with pytest.raises(SpecError) as caught:
        load_project(tmp_path, {**config, "scale": "smoke"})
    assert caught.value.problems == [
        f"set: family.alignment: {path}, scale smoke: {tmp_path}/new.fasta: 0 of 4 columns have at most 0.005 gaps "
        "(solver.max_column_gaps); at least 2 are needed"
    ]
