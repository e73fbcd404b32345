"""Promises of the flow of one-pass gradient descent: right, flagged, or refused."""

import numpy as np
import pytest
import slow_sequence_multi_index as slow
import slow_sequence_multi_index_training as slow_training
from drawn_sequence_multi_index import FAMILY, SIGMAS, computed, models
from hypothesis import example, given, settings
from specifications import section

from agreement import assert_mean
from attention_limits.pipeline.base.streams import Streams

pytestmark = pytest.mark.slow

NODES, SAMPLES, DIMENSION, SHORT = 16384, 20000, 40, 1e-5
SMALL = {"depth": (1, 2), "tokens": (2, 3), "heads": (1, 2), "rank": (1, 2), "rows": (1, 3)}


def weights_of(rows, std, dimension, replica=0):
    """Start and teacher (P, D) of a run without data."""
    streams = Streams(0, FAMILY, "promise")
    start, teacher = (
        streams.generator(name, replica).standard_normal((rows, dimension)) for name in ("start", "teacher")
    )
    return std * start, teacher


@settings(max_examples=2)
@given(
    model=models("deep_attention", "rank_attention", "untied", "multi_head", "rescaled_attention", "committee_depth",
                 "phase_retrieval", "sum_of_squares", "product", sizes=SMALL),
    rate=section(FAMILY, "sgd_flow", "grid", "rate").map(lambda drawn: drawn["rate"]),
    solver=section(FAMILY, "sgd_flow", "solver", "weight_decay", "initial_std"),
)  # fmt: skip
@example(
    model={"link": "deep_attention", "skip": 1.0, "beta": 1.0, "depth": 2, "tokens": 2, "noise": 0.1}, rate=0.3,
    solver={"weight_decay": 0.5, "initial_std": 0.9},
)  # fmt: skip
def test_sgd_flow_begins_with_the_drift_of_random_sequences(model, rate, solver):
    """Loss, dM/ds and dQ/ds at the start: five errors of the mean over random sequences.

    The nodes of the run have an error too, no larger than that of as many random ones without their at most 4^P
    changes of sign.
    """
    solver = {"dimension": DIMENSION, "nodes": NODES, "records": 1, "tolerance": 1e-10} | solver
    # The overlaps change by about 1e-5 of their own rate.
    found = computed("sgd_flow", model, {"rate": rate}, solver | {"time": SHORT})
    if found is None:
        return
    found = found.isel(replica=0)
    rows = found.sizes["layer"]
    student, teacher = weights_of(rows, solver["initial_std"], DIMENSION)
    tokens, noise = model.get("tokens", 1), model.get("noise", 0.0)
    Q, M = (student @ other.T / DIMENSION for other in (student, teacher))
    np.testing.assert_allclose(found.student_by_time.values[0], Q, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.cross_by_time.values[0], M, rtol=1e-9, atol=1e-15)
    rng = np.random.default_rng(23)
    loss, with_teacher, with_own, squared = slow_training.flow_samples(
        lambda h: slow.forward(model, h), tokens, noise, student, teacher, SAMPLES, rng
    )
    decay = solver["weight_decay"]
    drifts = {
        "cross_by_time": -with_teacher - decay * M,
        "student_by_time": -with_own - with_own.transpose(0, 2, 1) - 2.0 * decay * Q + rate * squared,
    }
    assert_samples(found.loss_by_time.values[0], loss, rows)
    for name, values in drifts.items():
        first, last = found[name].values
        if np.all(np.isfinite(last)):
            assert_samples((last - first) / SHORT, values, rows)
        else:
            assert not found.flow_converged


def assert_samples(value, samples, rows):
    error = SIGMAS * samples.std(axis=0) * np.sqrt(1.0 / SAMPLES + 4.0**rows / NODES)
    slack = 1e-3 * np.abs(samples).mean(axis=0) + 1e-4
    difference = np.abs(value - samples.mean(axis=0))
    assert np.all(difference <= error + slack), (difference, error, slack)


def test_sgd_flow_of_phase_retrieval_is_that_of_gaussian_moments():
    """Eight teachers and starts; the differences come from the nodes, and are small. False-alarm rate 1e-4."""
    solver = {"dimension": 100, "nodes": 4096, "records": 4, "time": 0.2, "weight_decay": 2.0, "initial_std": 0.7}
    rate, apart = 0.06, []
    found = computed("sgd_flow", {"link": "phase_retrieval"}, {"rate": rate}, solver, replicas=8)
    assert found.flow_converged.all()
    for replica in range(8):
        student, teacher = weights_of(1, 0.7, 100, replica)
        start = [float((student * other).mean()) for other in (student, teacher)]
        exact = slow_training.flow_of_phase_retrieval(start, (teacher**2).mean(), rate, 2.0, found.time.values)
        run = found.isel(replica=replica)
        apart.append(np.stack([run.student_by_time.values.ravel(), run.cross_by_time.values.ravel()], axis=1) - exact)
        # M has either sign.
        apart[-1][:, 1] *= np.sign(start[1])
    apart = np.array(apart)[:, 1:]
    assert_mean(apart, allowance=2e-3)
    assert np.abs(apart).max() < 0.05
