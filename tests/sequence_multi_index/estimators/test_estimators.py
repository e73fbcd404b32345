"""The estimators of Figure 2: data, gradient descent with reuse and online, GAMP on data that are read."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from attention_limits.pipeline.base.streams import Streams
from attention_limits.sequence_multi_index.estimators.bayes import gamp
from attention_limits.sequence_multi_index.estimators.training import batch_reuse_sgd, gaussian_sequences, online_sgd
from attention_limits.sequence_multi_index.links.loading import load_link

pytestmark = pytest.mark.slow

MODEL = {"link": "deep_attention", "depth": 2, "tokens": 2, "skip": 1.0, "beta": 1.0}
STREAMS = Streams(0, "sequence_multi_index", "test")
SGD = {
    "batch": 10,
    "batches": 7,
    "reuse": 3,
    "learning_rate": 3.0,
    "weight_decay": 0.07,
    "initial_std": 0.9,
    "record_every": 3,
    "starts": 1,
}
GAMP = {
    "max_iterations": 3, "damping": 0.0, "start_overlap": 1e-3, "informed_start": None, "side_information": 0.0,
    "regularization": 0.0, "resolution": 0.75, "tolerance": 1e-9, "variance": "average",
}  # fmt: skip


def data(replica, alpha):
    """The data of one point, as a reader gets them from `spec["data"]`."""
    drawn = gaussian_sequences.run(spec("data", {"dimension": 40}, [alpha], [replica]), STREAMS)
    return drawn.isel(alpha=0, replica=0, drop=True)


def spec(estimator, solver, alphas, replicas, model=MODEL):
    return {
        "estimator": estimator, "model": model, "grid": {"alpha": alphas}, "replicas": replicas,
        "solver": SimpleNamespace(**solver),
        "project": ".", "data": data, "reads": {"name": "gaussian_sequences"},
    }  # fmt: skip


def test_the_data_are_of_their_point_and_in_single_precision():
    one, same, other = data(0, 1.5), data(0, 1.5), data(1, 1.5)
    assert one.sizes == {"sample": 60, "token": 2, "dimension": 40, "layer": 2}
    assert one.sequences.dtype == np.float32
    assert one.identical(same)
    assert not np.allclose(one.teacher, other.teacher)
    # 4800 standard normal numbers: five standard errors, a false alarm in 10^6.
    assert abs(float(one.sequences.mean())) < 5 / np.sqrt(4800)
    assert abs(float((one.sequences**2).mean()) - 1) < 5 * np.sqrt(2 / 4800)


@pytest.mark.parametrize("estimator", [batch_reuse_sgd, online_sgd])
def test_a_point_does_not_depend_on_its_block(estimator):
    together = estimator.run(spec("sgd", SGD, [1.5, 2.0], [0, 1]), STREAMS)
    assert together.batch.values.tolist() == [0, 3, 6, 7]
    assert together.cosine_by_batch.dims == ("alpha", "replica", "batch", "layer")
    assert together.finite.values.all()
    alone = estimator.run(spec("sgd", SGD, [2.0], [1]), STREAMS)
    assert alone.identical(together.sel(alpha=[2.0], replica=[1]))


@pytest.mark.parametrize("estimator", [batch_reuse_sgd, online_sgd])
def test_the_result_is_the_start_with_the_smallest_training_error(estimator):
    one, three = (estimator.run(spec("sgd", SGD | {"starts": n}, [1.5], [0, 1]), STREAMS) for n in (1, 3))
    errors = three.training_error_of_start.isel(alpha=0)
    np.testing.assert_allclose(errors.isel(start=0), one.training_error_of_start.isel(alpha=0, start=0), rtol=1e-4)
    # The replicas have different best starts with this seed; the first start alone is that of one start.
    best = errors.argmin("start").values
    for replica in (0, 1):
        same = np.allclose(three.cosine_by_batch[0, replica], one.cosine_by_batch[0, replica], atol=1e-5)
        assert same == (best[replica] == 0)
    assert np.any(best > 0)


def test_the_errors_are_those_of_the_overlaps():
    """One row of linear regression: error |W - W*|^2 / D, and the noise is that of GAMP on the same data."""
    model = {"link": "linear", "rows": 1, "tokens": 1, "noise": 0.3}

    def linear_data(replica, alpha):
        drawn = gaussian_sequences.run(spec("data", {"dimension": 40}, [alpha], [replica], model), STREAMS)
        return drawn.isel(alpha=0, replica=0, drop=True)

    solver = SGD | {"learning_rate": 0.4, "weight_decay": 0.0}
    found = batch_reuse_sgd.run(spec("sgd", solver, [1.5], [0], model) | {"data": linear_data}, STREAMS)
    found = found.isel(alpha=0, replica=0)
    norm = found.norm_by_batch.values[-1, 0]
    expected = norm**2 - 2 * found.overlap.item() + found.teacher_norm.item()
    # 8192 nodes of a polynomial of degree two: 1e-3.
    np.testing.assert_allclose(found.error_plug_in.item(), expected, rtol=3e-3)
    drawn = linear_data(0, 1.5)
    noise = STREAMS.generator("output noise", 0, alpha=1.5).standard_normal((60, 1))
    observed = batch_reuse_sgd.output_of(
        load_link(model, Path()),
        drawn.sequences.values,
        drawn.teacher.values,
        STREAMS.generator("output noise", 0, alpha=1.5),
    )
    fields = drawn.sequences.values[:, 0].astype(float) @ drawn.teacher.values[0] / np.sqrt(40)
    np.testing.assert_allclose(observed.ravel(), fields + np.sqrt(0.3) * noise[:, 0], rtol=1e-5, atol=1e-6)


def test_both_estimators_start_from_the_same_weights_and_part():
    reuse, online = (
        estimator.run(spec("sgd", SGD, [1.5], [0]), STREAMS) for estimator in (batch_reuse_sgd, online_sgd)
    )
    np.testing.assert_array_equal(reuse.cosine_by_batch[..., 0, :], online.cosine_by_batch[..., 0, :])
    assert not np.array_equal(reuse.cosine_by_batch[..., 1, :], online.cosine_by_batch[..., 1, :])
    # Weights of standard deviation 0.9 in 40 dimensions: five standard errors, a false alarm in 10^6.
    assert np.abs(reuse.norm_by_batch[..., 0, :] - 0.9).max() < 5 * 0.9 / np.sqrt(2 * 40)


def test_gamp_runs_on_the_data_it_reads():
    asked = []

    def other(replica, alpha):
        asked.append((replica, alpha))
        return data(replica + 5, alpha)

    read = gamp.run({**spec("gamp", GAMP, [1.5], [0]), "data": other}, STREAMS)
    assert asked == [(0, 1.5)]
    teacher = data(5, 1.5).teacher.values
    np.testing.assert_allclose(read.teacher_norm[0, 0], teacher @ teacher.T / 40, rtol=1e-12)
    cosine = read.cosine_trajectory[0, 0, -1].values
    overlap = np.diag(read.overlap_trajectory[0, 0, -1]) / np.sqrt(np.diag(read.norm_trajectory[0, 0, -1]))
    np.testing.assert_allclose(cosine, overlap / np.sqrt(np.mean(teacher**2, axis=1)), rtol=1e-12)
