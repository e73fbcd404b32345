"""State evolution of a sequence multi-index model, for a solver that knows prior and channel.

With the overlap Q = W_hat W^T / D (P x P) and V = E w w^T - Q, one step is

    Q_hat = alpha E sum_a g_a g_a^T,   Q <- f(Q_hat),

the expectation over omega_a ~ N(0, Q), h_a ~ N(omega_a, V) and y given h (Troiani et al. 2025, arXiv:2502.00901). The prior of
the weights w gives E w w^T and f (`priors`); for standard normal weights they are I and Q_hat (I + Q_hat)^-1. By the Nishimori
identity E sum_a g_a g_a^T = -E sum_a dg_aa: both are evaluated on the same nodes and combined. An end point counts as
converged if the iteration also stays there after a small change (`stability`).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from attention_limits.numerics.solvers.fixed_point import FixedPoint, iterate
from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.link import DIAGONAL_OVERLAP, Link, require
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import (
    LARGEST_OVERLAP,
    clip_spectrum,
    from_coordinates,
    log_eigenvalues,
    symmetrized,
    to_coordinates,
    unlearned_directions,
)
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.stability import ACCURACY, UNSTABLE, growth, lifted

# The fixed point on this share of the nodes, one over the number, gives the error of few nodes.
FEW = 4
# Once a row reaches the largest overlap and no other has 1 - Q above this number, all are recovered exactly, and the iteration
# ends: the others follow at a fixed ratio.
RECOVERED = 1e-3
# The ratio grows like the square of the skip strength. Where the fixed point has a row at the edge and another one that is not
# recovered, the edge recedes; the fixed point is right once it moves by no more than the last number.
EDGES = (LARGEST_OVERLAP, 1.0 - 1e-8, 1.0 - 1e-10)
SETTLED = 0.01
# Largest number of times that the iteration goes on from a changed end point, or with a smaller tolerance.
CONTINUED = 6
# Largest estimated distance of the end point from the fixed point, in units of the tolerance.
FARTHEST = 5.0
# Rounding error of the logarithm of an eigenvalue.
ROUNDING = 1e-9


def is_frozen(link: Link, prior: Prior, overlap) -> bool:
    """Whether an overlap (P, P) stays at exact recovery.

    This holds if the weights of `prior` and the outputs of `link` are discrete, and the outputs have no noise.

    Near V = 0 then Q_hat grows like V^(-1/2), from fields within V^(1/2) of a step of the output, and V falls exponentially with
    Q_hat. No node has such a field, so the averages miss this growth.
    """
    if link.output_entropy != 0 or not np.isfinite(prior.entropy):
        return False
    return bool(np.linalg.eigvalsh(prior.whitened(overlap))[0] >= LARGEST_OVERLAP - 1e-12)


class Settings(Protocol):
    """The settings that the search reads; the section `schema.bayes.StateEvolutionSolver` has them.

    Attributes
    ----------
    tolerance : float
        Largest accepted change of log Q_hat per iteration: a relative change of Q_hat.
    max_iterations : int
        Largest number of evaluations of the map for each edge (`EDGES`), in the warm-up and after it each.
    warm_up : int
        Iterate first on the first n / warm_up nodes, then from the end of this iteration on all nodes; 1 means no warm-up. The
        start keeps its meaning unless a discontinuous transition lies between the thresholds of the two node sets.
    side_information : float
        kappa in [0, 1): the solver also observes sqrt(kappa) W + sqrt(1 - kappa) noise.
    regularization : float
        epsilon >= 0, see `channel_averages`.
    """

    tolerance: float
    max_iterations: int
    warm_up: int
    side_information: float
    regularization: float


class Steps(NamedTuple):
    """How the search moves; no specification changes it.

    Attributes
    ----------
    seed_overlap : float
        Smallest eigenvalue of Q_hat put into the map, so that a zero which has become unstable is left within a few iterations.
        An eigenvalue that the map sends below it is zero, and returned as 0.
    lookahead : int
        Geometric acceleration, see `numerics.solvers.fixed_point.iterate`; 0 is the plain iteration.
    """

    seed_overlap: float = 1e-4
    lookahead: int = 8


STEPS = Steps()


@dataclass(frozen=True)
class _Map:
    """One step of the state evolution in the coordinates of Q_hat, at one alpha.

    Attributes
    ----------
    channel : Channel
    prior : Prior
    alpha : float
    settings : Settings
    steps : Steps
    fixed, free : integer arrays
        Rows that are held, and all others.
    kept : array
        Coordinates of the held rows.
    """

    channel: Channel
    prior: Prior
    alpha: float
    settings: Settings
    steps: Steps
    fixed: np.ndarray
    free: np.ndarray
    kept: np.ndarray

    def hold(self, coordinates):
        """The coordinates with those of the held rows at their values."""
        coordinates[self.fixed] = self.kept
        return coordinates

    def _free_logs(self, coordinates):
        """Logarithms of the eigenvalues of Q_hat of the free rows."""
        return coordinates[self.free] if self.fixed.size else log_eigenvalues(coordinates, self.prior.rows)

    def at_edge(self, coordinates, largest):
        """Whether an eigenvalue of the free rows reaches the largest overlap."""
        return bool(np.max(self._free_logs(coordinates), initial=-np.inf) >= -np.log(1.0 - largest) - ROUNDING)

    def recovered(self, coordinates):
        """Whether all free rows are recovered."""
        return bool(np.min(self._free_logs(coordinates), initial=np.inf) >= -np.log(RECOVERED))

    def image(self, overlap, nodes):
        """alpha E sum_a g_a g_a^T at an overlap, both (P, P); not finite where the channel breaks."""
        averages = channel_averages(self.channel, overlap, nodes, self.settings.regularization, self.prior)
        return self.alpha * self.prior.within(symmetrized(self.channel.symmetry(self.prior), averages.information))

    def to_edge(self, largest, nodes, first, tested) -> FixedPoint:
        """The fixed point with overlaps up to `largest`, from the coordinates `first`; its stability is `tested` or not."""
        settings, steps, rows = self.settings, self.steps, self.prior.rows
        hint = settings.side_information / (1.0 - settings.side_information) * np.eye(rows)

        def step(coordinates):
            overlap = self.prior.overlap(from_coordinates(coordinates, rows), largest)
            if is_frozen(self.channel.link, self.prior, overlap):
                return to_coordinates(np.eye(rows) / (1.0 - largest), steps.seed_overlap, largest)
            image = self.image(overlap, nodes)
            if not np.all(np.isfinite(image)):
                return np.full_like(coordinates, np.nan)
            return self.hold(to_coordinates(clip_spectrum(image, 0.0, np.inf) + hint, steps.seed_overlap, largest))

        def exact(coordinates):
            return self.at_edge(coordinates, largest) and self.recovered(coordinates)

        done, tolerance, before, stable = 0, settings.tolerance, None, None
        for _ in range(CONTINUED):
            left = max(1, settings.max_iterations - done)
            if stable is not None:
                left = min(left, done)
            found = iterate(step, first, tolerance, left, steps.lookahead, arrived=exact)
            done += found.iterations
            found = replace(found, iterations=done)
            if stable is not None and not found.converged:
                # The map of a sampled channel has small steps, which can keep the residual above a tolerance that is smaller than
                # asked for.
                return replace(stable, iterations=done)
            if not tested or not found.converged or not np.all(np.isfinite(found.value)) or exact(found.value):
                return found
            leaves = self._leaves(step, found, largest, nodes, before)
            if leaves is None:
                return found
            first, tolerance = leaves
            if first is None:
                return replace(found, converged=False)
            stable, before = found if tolerance < settings.tolerance else None, found.value
        return replace(found, converged=False) if stable is None else stable

    def _leaves(self, step, found, largest, nodes, before):
        """Where the iteration goes on, and with which tolerance; None where it stays at the end point `found`.

        The place is None where the end point is unstable, but the nodes show no way from it.

        `before` is the end point that was left before this one, if any.
        """
        tolerance, rows = self.settings.tolerance, self.prior.rows
        unlearned = self._unlearned(found.value)
        if unlearned.shape[1]:
            q_hat = from_coordinates(found.value, rows, self.steps.seed_overlap)

            def image(precision):
                return self.image(self.prior.overlap(precision, largest), nodes)

            up, response = lifted(self.channel, self.alpha, nodes, q_hat, unlearned, self.prior, image)
            if up is None and response > UNSTABLE:
                return None, tolerance
            if up is not None:
                return self.hold(to_coordinates(up, self.steps.seed_overlap, largest)), tolerance
        rate, change = growth(step, found.value, self._moving(found.value))
        # The steps of a sampled map give the rate an error: near one it does not separate growth from a slow return.
        if rate > 1.0 + ACCURACY:
            # A change that grows at first and then returns does not leave.
            returned = before is not None and np.max(np.abs(found.value - before)) <= 0.5 * np.max(np.abs(change))
            return None if returned else (self.hold(found.value + change), tolerance)
        distance = found.residual * rate / (1.0 - rate) if rate < 1.0 else 0.0
        if distance > FARTHEST * tolerance:
            return found.value, max(found.residual * FARTHEST * tolerance / distance, 1e-3 * tolerance)
        return None

    def _unlearned(self, coordinates):
        """Directions of the free rows at the seed, orthonormal columns (P, k).

        None where rotations are kept: then there is one number, without noise at zero.
        """
        if self.channel.symmetry(self.prior) == "rotations":
            return np.zeros((self.prior.rows, 0))
        if not self.fixed.size:
            return unlearned_directions(coordinates, self.prior.rows, self.steps.seed_overlap)
        at_seed = [row for row in self.free if coordinates[row] <= np.log(self.steps.seed_overlap) + ROUNDING]
        return np.eye(self.prior.rows)[:, at_seed]

    def _moving(self, coordinates):
        """A change of the coordinates without symmetry, in the directions in which the map can move."""
        change = np.random.default_rng(0).standard_normal(len(coordinates))
        if self.channel.symmetry(self.prior) == "rotations":
            change = np.where(np.arange(len(coordinates)) < self.prior.rows, 1.0, 0.0)
        elif self.channel.symmetry(self.prior) == "rows":
            change[self.prior.rows :] = 0.0
        change[self.fixed] = 0.0
        return change

    def fixed_point(self, nodes, first, tested=True) -> FixedPoint:
        """The fixed point on the given nodes: the edge recedes while a row is at the edge and another row still follows."""
        done, before = 0, None
        for largest in EDGES:
            found = self.to_edge(largest, nodes, first, tested)
            done += found.iterations
            if not found.converged or not self.at_edge(found.value, largest) or self.recovered(found.value):
                return replace(found, iterations=done)
            overlap = self.prior.overlap(from_coordinates(found.value, self.prior.rows), largest)
            if before is not None and np.max(np.abs(overlap - before)) <= SETTLED:
                return replace(found, iterations=done)
            first, before = found.value, overlap
        return replace(found, iterations=done, converged=False)


@dataclass(frozen=True)
class OverlapFixedPoint(FixedPoint):
    """A fixed point whose value is the overlap Q.

    Attributes
    ----------
    precision : array (P, P)
        Q_hat, side information included; zero in the directions that are not learned.
    node_error : array (P, P)
        Standard error of Q from the finite number of nodes: the change from the first n / w to all n nodes over sqrt(w - 1), as
        for independent nodes; w is the warm-up. NaN without a warm-up. It is large where both end on two sides of a jump.
    """

    precision: np.ndarray
    node_error: np.ndarray


def solve(
    channel: Channel,
    alpha,
    nodes,
    start,
    settings: Settings,
    held=None,
    prior: Prior | None = None,
    steps: Steps = STEPS,
) -> OverlapFixedPoint:
    """Fixed point of the state evolution at one alpha, on fixed nodes.

    Parameters
    ----------
    channel : Channel
    alpha : float
        n / d, samples per dimension.
    nodes : GaussianNodes
        Kept fixed, so that the iteration is a deterministic map with its own fixed point; independent sets of nodes give
        independent fixed points, and their spread the error.
    start : float or array (P, P)
        Initial Q_hat, positive semi-definite; a number in (0, 1) stands for start / (1 - start) I, which is Q = start * I for
        standard normal weights: near 0 is uninformed, near 1 informed.
    settings : Settings
    held : array (P,) or None
        Overlaps in [0, 1] that are held fixed on the diagonal of Q, NaN for the rows that are free; only for links that offer
        DIAGONAL_OVERLAP, and for standard normal weights.
    prior : Prior, optional
        Standard normal weights by default.
    steps : Steps, optional

    Returns
    -------
    OverlapFixedPoint
        value is Q (P, P); residual the last change in the units of the tolerance; iterations without the warm-up and the test
        of stability. Not converged where a row reaches the last edge and another one still follows it, and where the iteration
        has left its end point CONTINUED times.

    Raises
    ------
    ValueError
        For alpha < 0, a start outside its range, a prior with other rows, or overlaps held where they cannot be.
    """
    size, prior = channel.link.rows, as_prior(prior, channel.link)
    given = np.shape(start) == (size, size)
    if alpha < 0 or not (given or (np.ndim(start) == 0 and 0 < start < 1)):
        raise ValueError(f"need alpha >= 0 and 0 < start < 1, or a precision of {size} rows; got {alpha}, {start}")
    if held is not None:
        require(channel.link, {DIAGONAL_OVERLAP})
        if not (prior.rotations and prior.isotropic):
            raise ValueError("overlaps can be held for standard normal weights only")
    held = np.full(size, np.nan) if held is None else np.asarray(held, dtype=float)
    fixed = np.flatnonzero(~np.isnan(held))
    # Zero is a limit of the logarithmic coordinates: 1e-12 is zero to rounding.
    kept = np.log(1.0 / (1.0 - np.clip(held[fixed], 1e-12, LARGEST_OVERLAP)) - 1.0)
    step = _Map(channel, prior, alpha, settings, steps, fixed, np.setdiff1d(np.arange(size), fixed), kept)
    first = step.hold(to_coordinates(start if given else start / (1.0 - start) * np.eye(size), steps.seed_overlap))
    few = None
    if settings.warm_up > 1:
        warm = step.fixed_point(nodes.head(len(nodes) // settings.warm_up), first, tested=False)
        if not np.all(np.isfinite(warm.value)):
            return _missing(warm, size)
        first, few = warm.value, prior.overlap(from_coordinates(warm.value, size, steps.seed_overlap), EDGES[-1])
    outcome = step.fixed_point(nodes, first)
    if not np.all(np.isfinite(outcome.value)):
        return _missing(outcome, size)
    precision = from_coordinates(outcome.value, size, steps.seed_overlap)
    overlap = prior.overlap(precision, EDGES[-1])
    error = np.full((size, size), np.nan) if few is None else _few_nodes_error(few, overlap, settings.warm_up)
    return OverlapFixedPoint(overlap, outcome.residual, outcome.iterations, outcome.converged, precision, error)


def _few_nodes_error(few, overlap, share):
    """Standard error of an overlap (P, P) on n nodes, from the one on `few` = n / `share` of them, as for independent nodes."""
    return np.abs(few - overlap) / np.sqrt(share - 1.0)


def _missing(outcome, size):
    """The fixed point of an iteration that has ended with numbers that are not finite."""
    nothing = np.full((size, size), np.nan)
    return OverlapFixedPoint(nothing, outcome.residual, outcome.iterations, outcome.converged, nothing, nothing)


def error_of_few_nodes(channel: Channel, alpha, nodes, start, settings: Settings, overlap, prior: Prior):
    """Standard error of the `overlap` (P, P) on all nodes, from the fixed point on the first 1 / FEW of them.

    `channel`, `alpha`, `nodes`, `start`, `settings` and `prior` are those of `solve`.
    """
    few = solve(channel, alpha, nodes.head(max(1, len(nodes) // FEW)), start, settings, prior=prior)
    return _few_nodes_error(few.value, overlap, FEW)
