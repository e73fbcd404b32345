"""Data in an experiment file, and the estimators that read them."""

import pytest

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import load_experiment
from toy import Toy, edited, imported, point_digest
from toy_data import SHARED, share


@pytest.fixture(scope="module")
def sharing(tmp_path_factory):
    project = Toy(tmp_path_factory.mktemp("data") / "project")
    share(project)
    with imported(project):
        yield project.folder / "config/toy/experiments/shared.yaml"


def load_shared(path, *edits, scale="laptop"):
    path.write_text(edited(SHARED, edits))
    return load_experiment(path, scale)


def test_data_and_their_readers(sharing):
    experiment = load_shared(sharing)
    drawn, means, spreads = experiment.data["drawn"], *experiment.estimators.values()
    assert means.reads is spreads.reads is drawn
    assert [chunk.size for chunk in drawn.chunks] == [1] * 4
    (chunk,) = spreads.chunks
    wanted = [item.name for item in spreads.data_chunks(chunk)]
    assert wanted == [item.name for item in drawn.chunks if item.grid["alpha"] == [0.4]]
    reads = {"name": "drawn", "model": {"gain": 2.0}, "grid": ["alpha"], "solver": {"samples": 5}}
    assert spreads.effective(chunk)["reads"] == reads
    assert experiment.effective()["estimators"]["spreads"]["reads"] == "drawn"
    other = load_shared(sharing, ("samples: 5", "samples: 6")).estimators["spreads"]
    assert point_digest(other) != point_digest(spreads)
    # Where the project lies, and how many points there are, decides no number.
    more = load_shared(sharing, scale="paper").estimators["means"]
    assert point_digest(more) == point_digest(means)


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (("[0.4]", "[0.4, 0.6]"), "estimators.spreads.grid.alpha: 0.6: not in data.drawn.grid.alpha; allowed: 0.2, 0.4"),
        (("    replicas: 2\n    chunk", "    replicas: 3\n    chunk"), "estimators.means.replicas: 3: allowed: ≤ 2, the rep"),
        (("{drawn: {replicas: 3}}", "{drawn: {replicas: 2}}"), "scales.paper.estimators.means.replicas: 3: allowed: ≤ 2"),
        (("    reads: drawn\n    grid: {alpha: {values: [0.4]}}", "    grid: {alpha: {values: [0.4]}}"),
         'estimators.spreads.reads: missing; allowed: exactly "drawn"'),
        (("reads: drawn", "reads: drown"), 'estimators.means.reads: "drown": allowed: exactly "drawn"'),
        (("reads: drawn", "reads: drown"), "data.drawn: no estimator reads it"),
        (("  spreads:\n    reads", "  growth:\n    reads"), "estimators.growth.reads: unknown key"),
        (("  spreads:\n    reads: drawn", "  drawn:"), "estimators.drawn: no such estimator; allowed: growth, counting"),
        (("    solver: {samples: 5}", "    chunk: {alpha: 1}"), "data.drawn.chunk.alpha: unknown key; allowed: replicas"),
        (("samples: 5", "samples: 0"), "data.drawn.solver.samples: 0: allowed: a whole number ≥ 1"),
        (("  drawn:", "  dealt:"), "data.dealt: no such estimator; allowed: drawn"),
        (("  drawn:", "  dealt:"), "estimators.means.reads: 'drawn': not in the section data; allowed: dealt"),
        (("data: {drawn: {rep", "data: {drown: {rep"), "scales.paper.data.drown: no such estimator; allowed: drawn"),
    ],
)  # fmt: skip
def test_wrong_data_are_named(sharing, edit, line):
    with pytest.raises(SpecError) as caught:
        load_shared(sharing, edit)
    assert [found for found in caught.value.problems if found.startswith(f"{sharing}: {line}")], caught.value.problems
