"""All solutions of the state evolution, their free entropies, and the phases of learning.

alpha(D) of `state_evolution.curve` rises on the way to small D along a stable branch of fixed points, and falls along an unstable
one between two stable branches. The free entropy F of `state_evolution.free_entropy` selects among the stable ones: the
Bayes-optimal solution has the largest F. With more samples F grows by A per alpha, and A is larger at smaller errors: branches
take over in order of falling errors. Where two have the same F (Maxwell's construction),

    int (alpha - alpha(V)) information(V) dV = 0    between both,

the Bayes-optimal error jumps: the information-theoretic threshold. Message passing from no knowledge stays on its branch up to
the largest alpha of this branch: the algorithmic threshold. Between both, learning is possible but hard: no polynomial algorithm
is known that beats message passing.

    impossible: the Bayes-optimal solution is the one without knowledge, V = 1;
    hard:       it is another one than that of message passing;
    easy:       message passing reaches it.

Derived for the model of Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from attention_limits.attention_indexed.channels.protocol import Channel
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.attention_indexed.priors.wishart import as_prior
from attention_limits.attention_indexed.state_evolution.curve import (
    ALPHAS,
    curve,
    exact_recovery,
    followed,
    law_of_small_errors,
    noise_between,
)
from attention_limits.attention_indexed.state_evolution.free_entropy import (
    Potential,
    changes,
    output_information,
    potential,
    relative_doubt,
)

IMPOSSIBLE, HARD, EASY = 0, 1, 2
# Errors and relative alphas that differ by less are one: the accuracy of mmse(D). Smaller changes between nodes are rounding.
SAME, _ROUNDING = 1e-6, 1e-9
# The error of the limit of small width has a kink at this D; integrals between nodes need it as a node.
_KINK = 1.0


@dataclass(frozen=True)
class Branch:
    """Stable solutions, one for each alpha from `begin` to `end`.

    Attributes
    ----------
    first, last : int
        First and last node of the curve that belong to it. Both are -1 for the solution without knowledge, D = infinity, and the
        number of nodes for exact recovery, D = 0.
    begin, end : float
        Its alphas.
    """

    first: int
    last: int
    begin: float
    end: float


@dataclass(frozen=True)
class Jump:
    """The alpha at which a branch ends, or at which two branches have the same free entropy.

    Attributes
    ----------
    alpha, error : float
        `error` is the bound from the uncertain information of the channel; NaN where that is not known.
    before, after : int
        Numbers of the branches on both sides.
    """

    alpha: float
    error: float
    before: int
    after: int


@dataclass(frozen=True)
class Phases:
    """The branches of a channel and a prior in order of falling error, with the jumps between them.

    Attributes
    ----------
    channel, prior : Channel, Prior
    potential : Potential
        On the nodes of the curve.
    branches : tuple of Branch
    algorithmic, bayes : tuple of Jump
        Jumps of message passing from no knowledge, and of the Bayes-optimal solution, in order of alpha.
    """

    channel: Channel
    prior: Prior
    potential: Potential
    branches: tuple[Branch, ...]
    algorithmic: tuple[Jump, ...]
    bayes: tuple[Jump, ...]


@dataclass(frozen=True)
class States:
    """The solutions on all branches of `Phases` at n alphas; arrays (branches, n), NaN where a branch has none.

    Attributes
    ----------
    mmse, noise : array
        V and D.
    free_entropy : array
        F, +infinity at exact recovery.
    doubt : array
        Bound on the error of A from the uncertain information of the channel; alpha times it is that of F.
    output : array
        A, the derivative of F by alpha.
    """

    mmse: np.ndarray
    noise: np.ndarray
    free_entropy: np.ndarray
    doubt: np.ndarray
    output: np.ndarray


def phases(channel: Channel, prior: Prior | float) -> Phases:
    """The branches for alpha up to the largest one of `curve.ALPHAS`, and the jumps between them.

    `channel` and `prior` are those of `state_evolution.curve`. Turns of alpha(D) that the uncertain information can undo do not
    end a branch. Raises ValueError if rho is out of its range.
    """
    prior = as_prior(prior)
    table = followed(channel, prior, *ALPHAS)
    noise = table.noise if _KINK in table.noise else np.sort(np.append(table.noise, _KINK))[::-1]
    table = curve(channel, prior, noise)
    found = Phases(channel, prior, potential(channel, prior, table), _branches(channel, prior, table), (), ())
    return replace(found, algorithmic=_ends(found), bayes=_crossings(found))


def _branches(channel, prior, table):
    """The branches of a curve, in order of falling D."""
    alpha, count = table.alpha, len(table.alpha)
    slack = np.nan_to_num(np.broadcast_to(channel.uncertainty(table.mmse, prior.Q), alpha.shape))
    equations, doubt = law_of_small_errors(channel, prior.Q)
    recovers, begins = equations > 0, float(channel.information(1.0, prior.Q)) > 0
    if recovers:
        # The curve continues at D = 0.
        alpha, slack = np.append(alpha, exact_recovery(channel, prior)), np.append(slack, doubt)
    turns = turns_of(alpha, slack)
    found = [] if begins else [Branch(-1, -1, 0.0, float(alpha[0]))]
    for first, last in zip([0, *turns[1::2]], [*turns[::2], count - 1], strict=True):
        last = min(last, count - 1)
        if first < last and np.isfinite(alpha[first]):
            begin = 0.0 if begins and first == 0 else float(alpha[first])
            found.append(Branch(first, last, begin, float(alpha[first : last + 1].max())))
    if recovers:
        known = float(min(alpha[-2:]))
        if found and found[-1].last == count - 1:
            found[-1] = replace(found[-1], end=known)
        found.append(Branch(count, count, known, np.inf))
    return tuple(found)


def turns_of(alpha: np.ndarray, slack: np.ndarray) -> list[int]:
    """The numbers of the tops and depths of `alpha` (n,), in turn, which its relative errors `slack` (n,) cannot undo.

    alpha rises before the first node and after the last one: the first turn is a top, the last one a depth.
    """
    logs = np.log(np.minimum(alpha, np.finfo(float).max))
    signs = [1]
    for change in np.diff(logs):
        signs.append(signs[-1] if abs(change) < _ROUNDING else int(np.sign(change)))
    signs = np.array([*signs, 1])
    turns = [int(place) for place in np.flatnonzero(signs[1:] != signs[:-1])]

    def sure(one, other):
        top, depth = (one, other) if logs[one] > logs[other] else (other, one)
        return alpha[top] * (1.0 - slack[top]) > alpha[depth] * (1.0 + slack[depth]) * (1.0 + SAME)

    # The smallest change between two neighbours goes first: then the larger ones around it are one.
    while turns:
        smallest = int(np.argmin(np.abs(np.diff(logs[turns]))))
        if sure(*turns[smallest : smallest + 2]):
            break
        del turns[smallest : smallest + 2]
    return turns


def states(found: Phases, alpha) -> States:
    """The solutions at `alpha` (n,) >= 0 on all branches of the phases `found`."""
    alpha = np.asarray(alpha, dtype=float)
    parts = [_state(found, branch, alpha) for branch in found.branches]
    return States(*(np.array(values) for values in zip(*parts, strict=True)))


def _state(found, branch, alpha):
    """V, D, F, the doubt of A, and A on a `branch` at `alpha` (n,)."""
    own, table = found.potential, found.potential.curve
    state = np.full((5, *alpha.shape), np.nan)
    on = np.flatnonzero((alpha >= branch.begin) & (alpha <= branch.end))
    if branch.first < 0:
        state[:, on] = np.array([1.0, np.inf, 0.0, 0.0, 0.0])[:, None]
    elif branch.first == len(table.noise):
        state[:, on] = np.array([0.0, 0.0, np.inf, 0.0, np.inf])[:, None]
    else:
        heights = np.maximum.accumulate(table.alpha[branch.first : branch.last + 1])
        index = branch.first + np.searchsorted(heights, alpha[on])
        early, on, index = on[index == 0], on[index > 0], index[index > 0]
        # Before the first node the error is one to rounding.
        state[:, early] = np.array([1.0, np.nan, 0.0, 0.0, 0.0])[:, None]
        with np.errstate(divide="ignore"):
            state[1, early] = 1.0 / (alpha[early] * float(found.channel.information(1.0, found.prior.Q)))
        if not len(on):
            return state
        index = np.clip(index, branch.first + 1, branch.last)
        noise = noise_between(found.channel, found.prior, table, alpha[on], index)
        error, before = found.prior.mmse(noise), index - 1
        moved = changes(found.channel, found.prior, table.mmse[before], table.noise[before], error, noise)
        output, prior, doubt = (
            start[before] + change for start, change in zip((own.output, own.prior, own.doubt), moved, strict=True)
        )
        state[:, on] = error, noise, alpha[on] * output - prior, doubt, output
    return state


def _ends(found):
    """The jumps of message passing from no knowledge: each branch is followed to its end."""
    jumps, number, V = [], 0, found.potential.curve.mmse
    while number < len(found.branches):
        branch = found.branches[number]
        later = (k for k in range(number + 1, len(found.branches)) if found.branches[k].end > branch.end)
        after = next((k for k in later if found.branches[k].begin <= branch.end * (1.0 + SAME)), None)
        if after is None:
            break
        at = V[0] if branch.first < 0 else V[branch.last]
        error = branch.end * float(channel_doubt(found, at)) if branch.end < np.inf else 0.0
        jumps.append(Jump(branch.end, error, number, after))
        number = after
    return tuple(jumps)


def channel_doubt(found: Phases, V):
    """Bound (...) on the relative error of the information of `found` at `V` (...), by `free_entropy.relative_doubt`."""
    return relative_doubt(found.channel, V, found.prior.Q)


def _crossings(found):
    """The jumps of the Bayes-optimal solution, the upper envelope of the free entropies."""
    jumps, number = [], 0
    while True:
        others = [(_crossing(found, number, k), k) for k in range(number + 1, len(found.branches))]
        others = [(alpha, k) for alpha, k in others if alpha is not None]
        if not others:
            return tuple(jumps)
        alpha, after = min(others)
        jumps.append(Jump(alpha, _error_of_crossing(found, alpha, number, after), number, after))
        number = after


def _crossing(found, first, second):
    """The alpha at which the free entropy of the branch `second` passes that of the branch `first`, or None."""
    one, other = found.branches[first], found.branches[second]
    low, high = max(one.begin, other.begin), min(one.end, other.end)
    if high <= low * (1.0 + SAME):
        # One continues the other.
        return low if second == first + 1 else None
    if other.end == np.inf:
        return low

    def excess(log_alpha):
        alpha = np.array([np.clip(np.exp(log_alpha), low, high)])
        one_state, other_state = (_state(found, branch, alpha) for branch in (one, other))
        return float(other_state[2][0] - one_state[2][0])

    low_end, high_end = excess(np.log(low)), excess(np.log(high))
    if low_end >= 0.0:
        return low
    if high_end <= 0.0:
        # Rounding hides the crossing of two neighbours, which is near the end of the first one.
        return high if second == first + 1 else None
    return float(np.exp(brentq(excess, np.log(low), np.log(high), xtol=1e-13, rtol=1e-13)))


def _error_of_crossing(found, alpha, first, second):
    """The bound on an `alpha` of equal free entropies: the mean relative error of the information between both solutions."""
    if found.branches[second].end == np.inf:
        return alpha * law_of_small_errors(found.channel, found.prior.Q)[1]
    at = states(found, [alpha])
    information = at.output[[first, second], 0]
    if not information[1] > information[0]:
        return alpha * float(channel_doubt(found, at.mmse[second, 0]))
    return float(alpha * (at.doubt[second, 0] - at.doubt[first, 0]) / (information[1] - information[0]))


@dataclass(frozen=True)
class Hard:
    """A range of alpha where the Bayes-optimal solution is another one than that of message passing.

    Attributes
    ----------
    begin, end : Jump
        The information-theoretic and the algorithmic threshold.
    """

    begin: Jump
    end: Jump


def hard_ranges(found: Phases) -> list[Hard]:
    """All hard ranges of the phases `found` in order of alpha.

    The alpha of `end` is infinite where message passing never leaves its branch.
    """
    jumps = sorted({jump.alpha for jump in (*found.bayes, *found.algorithmic)})
    ranges, begin = [], None
    for alpha in jumps:
        best, reached = (int(_numbers(part, alpha)) for part in (found.bayes, found.algorithmic))
        if best != reached and begin is None:
            begin = next(jump for jump in (*found.bayes, *found.algorithmic) if jump.alpha == alpha)
        if best == reached and begin is not None:
            ranges.append(Hard(begin, next(jump for jump in (*found.algorithmic, *found.bayes) if jump.alpha == alpha)))
            begin = None
    if begin is not None:
        ranges.append(Hard(begin, Jump(np.inf, 0.0, int(_numbers(found.algorithmic, np.inf)), begin.after)))
    return ranges


@dataclass(frozen=True)
class Comparison:
    """The solutions at n alphas and which of them is Bayes-optimal; arrays (n,).

    Attributes
    ----------
    states : States
        Of all branches.
    mmse, bound, noise : array
        V of the solution of largest free entropy with its bound, and its D. NaN where the information is not known from V = 0 to
        V = 1, or V is below the table of a sampled channel.
    free_entropy, free_entropy_error : array
        F of this solution and its bound, in nats per d^2.
    mutual_information, mutual_information_error : array
        I(S; data) / d^2 in nats, and its bound; infinite where an output gives equations.
    phase : array
        IMPOSSIBLE, HARD or EASY; NaN where it is not decided.
    decided : bool array
        Whether the information is known, and alpha is no threshold of the Bayes-optimal solution within the error of this one.
    """

    states: States
    mmse: np.ndarray
    bound: np.ndarray
    noise: np.ndarray
    free_entropy: np.ndarray
    free_entropy_error: np.ndarray
    mutual_information: np.ndarray
    mutual_information_error: np.ndarray
    phase: np.ndarray
    decided: np.ndarray


def information_known(found: Phases) -> bool:
    """Whether the information of the channel of `found` is known at every V: another solution may be where it is not."""
    return found.channel.closed_form or bool(found.channel.resolved(0.0, 1.0, found.prior.Q))


def compare(found: Phases, alpha) -> Comparison:
    """The solutions of the phases `found` at `alpha` (n,), from zero to the largest one of `curve.ALPHAS`."""
    alpha, Q = np.asarray(alpha, dtype=float), found.prior.Q
    at, known = states(found, alpha), information_known(found)
    best, reached = (_numbers(part, alpha) for part in (found.bayes, found.algorithmic))
    V, D, F, doubt, output = (_on(part, best) for part in (at.mmse, at.noise, at.free_entropy, at.doubt, at.output))
    uncertainty = np.where(alpha == 0, 0.0, np.broadcast_to(found.channel.uncertainty(V, Q), V.shape))
    fewer, more = (_bayes_error(found, alpha * (1.0 + sign * np.nan_to_num(uncertainty))) for sign in (-1.0, 1.0))
    bound = np.maximum(fewer - V, V - more)
    if not found.channel.closed_form:
        # Zero is known down to the smallest V of the table.
        bound = bound + np.where(V == 0, found.channel.least(Q) * Q, 0.0)
    decided = np.full(alpha.shape, known)
    for jump in found.bayes:
        sides = states(found, [jump.alpha]).mmse[[jump.before, jump.after], 0]
        near = (np.abs(alpha - jump.alpha) <= jump.error) & (abs(sides[0] - sides[1]) > SAME)
        decided &= ~near
        bound = np.where(near, np.maximum(bound, abs(sides[0] - sides[1])), bound)
    outer, outer_error = output_information(found.channel, V, Q)
    with np.errstate(invalid="ignore"):
        mutual, mutual_error = alpha * (output + outer) - F, alpha * outer_error
    # Outputs that give equations have an infinite information, also at V = 0, where its limit is not that of i_out.
    infinite = np.isposinf(outer) | np.isposinf(F)
    mutual, mutual_error = np.where(infinite, np.inf, mutual), np.where(infinite, np.nan, mutual_error)
    mutual, mutual_error = np.where(alpha == 0, 0.0, mutual), np.where(alpha == 0, 0.0, mutual_error)
    phase = np.where(np.abs(V - _on(at.mmse, reached)) < SAME, EASY, HARD)
    phase = np.where(V == 1.0, IMPOSSIBLE, phase)
    # Without samples all is known.
    known, decided = known | (alpha == 0), decided | (alpha == 0)
    shown = known & np.isfinite(uncertainty)
    return Comparison(
        at,
        *(np.where(shown, part, np.nan) for part in (V, bound, D)),
        *(np.where(known, part, np.nan) for part in (F, alpha * doubt, mutual, mutual_error)),
        np.where(decided, phase, np.nan),
        decided,
    )


def _bayes_error(found, alpha):
    """V (n,) of the largest free entropy at `alpha` (n,)."""
    return _on(states(found, alpha).mmse, _numbers(found.bayes, alpha))


def _on(values, numbers):
    """The `values` (branches, n) on the branches of these `numbers` (n,)."""
    return np.take_along_axis(values, numbers[None], axis=0)[0]


def _numbers(jumps, alpha):
    """The numbers (n,) of the branch after all `jumps` up to each `alpha` (n,)."""
    after = np.array([0, *(jump.after for jump in jumps)])
    return after[np.searchsorted([jump.alpha for jump in jumps], alpha, side="right")]
