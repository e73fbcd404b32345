"""Fixed points of the state evolution from several starts, and their free entropies.

The overlap of the Bayes-optimal estimate is the fixed point of largest free entropy; approximate message passing, the best known
algorithm in polynomial time, reaches the one that follows from the uninformed start (Troiani et al. 2025, arXiv:2502.00901).
Where the two differ, learning is possible but hard. One set of nodes does not decide which free entropy is larger:
`readings.phases` decides over independent sets together.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.overlaps import symmetrized
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.fixed_point import FEW, Settings, solve
from attention_limits.sequence_multi_index.state_evolution.free_entropy import free_entropy

UNINFORMED_START = 1e-3
# Where recovery has just become stable, a start further away would leave it.
INFORMED_START = 1.0 - 1e-5
# An overlap below this share of the gap counts as zero. Unlearned overlaps are exactly zero, so one below the gap may be learned.
ZERO_OVERLAP_SHARE = 0.1


class BranchSettings(Settings, Protocol):
    """The settings of all fixed points; the section `schema.bayes.PhasesSolver` has those that a specification can set.

    Attributes
    ----------
    gap : float
        An overlap below a tenth of it (in the root mean square of the entries) counts as zero.
    """

    gap: float


@dataclass(frozen=True)
class Branches:
    """Fixed points on one set of nodes, by start along the first axis: uninformed, informed, random ones.

    Attributes
    ----------
    overlap : array (S, P, P)
    free_entropy : array (S,)
        Phi per dimension, up to alpha times a constant in Q; +inf at exact recovery from continuous outputs without noise: that
        fixed point is stable only if Phi grows without bound towards it.
    overlap_node_error : array (S, P, P)
    free_entropy_node_error : array (S,)
        Signed standard errors from the finite number of nodes: the fixed point on the first 1 / FEW of the nodes minus that on
        all, over sqrt(FEW - 1). All starts share the nodes, so the error of a difference is the difference of the errors.
    learned : bool array (S,)
        Whether the overlap differs from the one without data.
    converged : bool array (S,)
    resolved : float
        Smallest fraction of outputs whose channel met its check.
    """

    overlap: np.ndarray
    free_entropy: np.ndarray
    overlap_node_error: np.ndarray
    free_entropy_node_error: np.ndarray
    learned: np.ndarray
    converged: np.ndarray
    resolved: float


def random_starts(channel: Channel, prior: Prior, count: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Precisions Q_hat (P, P) of random starts, for `solve`.

    Q_hat = U diag(q / (1 - q)) U^T with q uniform and U a uniform rotation. Where the signs of the rows are free the map keeps Q
    diagonal (`Channel.symmetry`): then U is the identity, and each row has its own q.

    Parameters
    ----------
    channel : Channel
    prior : Prior
    count : int
    generator : numpy.random.Generator
    """
    symmetry, rows, starts = channel.symmetry(prior), channel.link.rows, []
    for _ in range(count):
        q = generator.uniform(UNINFORMED_START, INFORMED_START, rows)
        frame = np.linalg.qr(generator.standard_normal((rows, rows)))[0]
        frame = np.eye(rows) if symmetry == "rows" else frame
        starts.append(symmetrized(symmetry, (frame * (q / (1.0 - q))) @ frame.T))
    return starts


def branches(
    channel: Channel, alpha, nodes, settings: BranchSettings, prior: Prior | None = None, starts=()
) -> Branches:
    """The fixed points of all starts at one alpha, on the given nodes.

    Parameters
    ----------
    channel : Channel
    alpha : float
        n / d.
    nodes : GaussianNodes
        In `averages.node_dimension(channel.link)` dimensions; all starts share them.
    settings : BranchSettings
    prior : Prior, optional
        Standard normal weights by default.
    starts : sequence of arrays (P, P), optional
        Precisions to start from besides the uninformed and the informed start (`random_starts`).
    """
    prior = as_prior(prior, channel.link)
    few, found = nodes.head(max(1, len(nodes) // FEW)), []
    unlearned, smallest = prior.uninformed(0.0), ZERO_OVERLAP_SHARE * settings.gap
    for start in (UNINFORMED_START, INFORMED_START, *starts):
        point, phi, resolved = branch(channel, alpha, nodes, start, settings, prior)
        rough, rough_phi, _ = branch(channel, alpha, few, start, settings, prior)
        with np.errstate(invalid="ignore"):
            shift = (rough_phi - phi) / np.sqrt(FEW - 1.0)
        learned = np.sqrt(np.sum((point.value - unlearned) ** 2) / prior.rows) > smallest
        error = (rough.value - point.value) / np.sqrt(FEW - 1.0)
        found.append((point.value, phi, error, shift, learned, point.converged, resolved))
    *arrays, resolved = zip(*found, strict=True)
    return Branches(*map(np.array, arrays), min(resolved))


def branch(channel: Channel, alpha, nodes, start, settings: Settings, prior: Prior):
    """The fixed point of one start, its free entropy, and the fraction of outputs whose channel met its check.

    `channel`, `alpha`, `nodes`, `start`, `settings` and `prior` are those of `fixed_point.solve`; the free entropy is that of
    `Branches`.

    Returns
    -------
    point : OverlapFixedPoint
    free_entropy, resolved : float
    """
    point = solve(channel, alpha, nodes, start, settings, prior=prior)
    if not np.all(np.isfinite(point.value)):
        return point, np.nan, 0.0
    averages = channel_averages(channel, point.value, nodes, prior=prior)
    if np.isneginf(channel.link.output_entropy) and prior.recovered(point.value):
        return point, np.inf, averages.resolved
    return (
        point,
        free_entropy(point.value, alpha, averages.log_z, prior=prior, precision=point.precision),
        averages.resolved,
    )
