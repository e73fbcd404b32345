"""The trapezoid rule of two layers: single against double precision, and half of a lattice against all of it."""

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels

from attention_limits.sequence_multi_index.channels import channel
from attention_limits.sequence_multi_index.channels.single_precision import (
    MAX_RESOLUTION,
    MIN_VARIANCE,
    SMALLEST,
    trapezoid_precision,
)
from attention_limits.sequence_multi_index.channels.trapezoid.lattice_kernels import Output, lattice_of, widths_of
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention


def differences(found, exact, V):
    """Largest differences of log Z, means and covariances, in units of the prior standard deviations."""
    scale = np.sqrt(np.diag(V))
    means = np.abs(found.mean - exact.mean) / scale[:, None]
    covariances = np.abs(found.covariance - exact.covariance) / (scale[:, None, None, None] * scale[:, None])
    return np.abs(found.log_z - exact.log_z).max(), means.max(), covariances.max()


CORRELATED = np.array([[0.4, 0.05], [0.05, 0.02]])


@pytest.mark.parametrize(
    "V", [np.eye(2), CORRELATED, MIN_VARIANCE * np.eye(2)], ids=["unlearned", "between", "learned"]
)
@pytest.mark.parametrize(("skip", "beta"), [(SMALLEST, 1.0), (1.0, 1.0), (1.0, SMALLEST), (1.0, 10.0), (100.0, 1.0)])
def test_single_precision_is_below_the_error_of_the_resolution(monkeypatch, skip, beta, V):
    """Fields are rounded to 6e-8 of themselves, ten times as much behind a weak skip: at most 2e-4 of a width of 0.003. At the
    largest resolution of single precision the rule has errors of 3e-4 and more."""
    link = DeepAttention(skip, beta)
    u, omega, _ = draw_channels(link, V, 100, seed=241, overlap=np.eye(2) - V)
    assert trapezoid_precision(link, V, MAX_RESOLUTION) is np.float32
    found = channel_of(link, MAX_RESOLUTION).posterior(u, omega, V)
    monkeypatch.setattr(channel, "trapezoid_precision", lambda *arguments: np.float64)
    exact = channel_of(link, MAX_RESOLUTION).posterior(u, omega, V)
    assert found.resolved.mean() == exact.resolved.mean()
    assert max(differences(found, exact, V)) < 3e-4


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_half_of_the_lattice_is_enough_where_layer_one_is_unknown(skip):
    """A tiny omega_1 breaks the symmetry for the program, not for the numbers: to rounding, at double precision."""
    link, V = DeepAttention(skip), np.diag([1.0, 0.3])
    u, omega, _ = draw_channels(link, V, 40, seed=242, overlap=np.diag([0.0, 0.7]))
    omega[:, 0] = 0.0
    nearly = omega.copy()
    nearly[:, 0] = 1e-200
    half, whole = (channel_of(link).posterior(u, each, V) for each in (omega, nearly))
    assert not np.any(half.mean[:, 0])
    # Without a skip the nodes are shifted by 1e-14 from d = 0, where A is singular.
    assert max(differences(half, whole, V)) < 1e-8
    np.testing.assert_array_equal(half.resolved, whole.resolved)


@pytest.mark.parametrize("missing", [1e-6, 1e-8, 1e-10])
def test_a_smaller_step_changes_no_full_lattice(missing):
    """Therefore the kernel ends there. Whole cells, and whole vectors of four, change a side of a thousand cells by 0.4 %."""
    link, V = DeepAttention(1.0), np.diag([1.0, missing])
    u, omega, _ = draw_channels(link, V, 50, seed=243, overlap=np.diag([0.0, 1.0 - missing]))
    full = 0
    for (u_1, u_2), (_, (w_1, w_2)) in zip(u, omega, strict=True):
        output = Output(u_1 + u_2, u_1 - u_2, (0.0, 0.0, w_1 + w_2, w_1 - w_2), (V[0, 0], 0.0, V[1, 1]), 1.0, 1.0)
        widths = widths_of(output)
        step = 0.7
        while not lattice_of(output, widths, step).full:
            step *= 0.5**0.5
        one, finer = lattice_of(output, widths, step), lattice_of(output, widths, 0.25 * step)
        assert finer.full
        assert abs(finer.s_step / one.s_step - 1.0) < 0.01
        assert abs(finer.t_step / one.t_step - 1.0) < 0.01
        full += lattice_of(output, widths, 0.7).full
    assert full > 0 or missing > 1e-8
