"""Sequences of a small Potts model, and the datasets of its readers, for the promises of the Potts family."""

from specifications import Refused, compute, project

from attention_limits.pipeline.base.errors import SpecError

FAMILY = "potts_mlm"
SAMPLING = {
    "samples": 400, "test_samples": 400, "gap": 5, "tuning_samples": 100, "tuning_gap": 5, "warm_up": 20, "beta_max": 5.0,
}  # fmt: skip
POTTS = {
    "sites": 4,
    "colors": 3,
    "couplings": {"kind": "gaussian"},
    "color_couplings": {"kind": "gaussian"},
    "instance": 1,
}


def sampled(model, distance, readers, **solver):
    """The datasets of the estimators `readers` on samples of a model, or the refusal."""
    data = {"potts_samples": {"grid": {"distance": {"values": [distance]}}, "replicas": 1, "solver": SAMPLING | solver}}
    estimators = {
        name: {"reads": "potts_samples", "replicas": 1, **part, "grid": {"distance": {"values": [distance]}, **part["grid"]}}
        for name, part in readers.items()
    }  # fmt: skip
    written = {"title": "Promise", "description": "Drawn.", "model": model, "data": data, "estimators": estimators}
    try:
        return compute(FAMILY, written)
    except SpecError as error:
        return Refused(tuple(error.problems))


def one(found, estimator):
    """The dataset of an estimator at the only distance and replica."""
    dataset = found[estimator]
    return dataset.isel({dim: 0 for dim in ("distance", "replica") if dim in dataset.dims})


def training(found, samples):
    """The training sequences of the learners of `sampled`, drawn again from the same streams."""
    return training_and_test(found, samples)[0]


def training_and_test(found, samples):
    """The training sequences of the learners of `sampled`, and the test sequences."""
    from attention_limits.pipeline.base.streams import Streams
    from attention_limits.pipeline.experiments.experiment import load_experiment
    from attention_limits.potts_mlm.attention.training_sets import training_set
    from attention_limits.potts_mlm.estimators.samples import potts_samples

    path = project() / "config" / FAMILY / "experiments" / "promise.yaml"
    part = next(iter(load_experiment(path).estimators.values())).reads
    streams = Streams(0, FAMILY, "promise")
    distance = found["equilibrium"].distance.values.tolist()
    spec = {
        "family": FAMILY,
        "experiment": "promise",
        "estimator": "potts_samples",
        "project": ".",
        "model": part.model,
    }
    spec |= {"grid": {"distance": distance}, "replicas": [0], "solver": part.solver}
    data = potts_samples.run(spec, streams).isel(distance=0, replica=0)
    drawn = training_set(streams, data, 0, {"distance": distance[0]}, samples).astype(int)
    return drawn, data.test_states.values.astype(int)
