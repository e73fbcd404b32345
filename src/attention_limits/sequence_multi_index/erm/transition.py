"""Transitions between two solutions, minima of the training objective, by state evolution.

The semantic solution overlaps with the weights of the target. With positions in its tokens, a student also has a positional one,
which overlaps with the directions of the positions (Cui et al. 2024, arXiv:2402.03902). The agnostic one overlaps with neither:
students of a loss that is even in the fields have it without positions, too. The semantic solution has the smaller training
objective above alpha_c, where the free energies are equal. It generalises better than the best constant output above alpha_l.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.sequence_multi_index.erm.losses import Loss
from attention_limits.sequence_multi_index.erm.nodes import Nodes
from attention_limits.sequence_multi_index.erm.state_evolution import Problem, Settings, Solution, informed, solve

CRITERIA = ("energy", "constant")
# Overlaps from which the branches start at the largest alpha; elsewhere they start from the nearest alpha that is solved.
START = {"semantic": (0.9, 0.0), "positional": (0.0, 1.0), "agnostic": (0.0, 0.0)}
# Below this the overlaps count as zero: the branch has ended. A branch that keeps less of its overlap in one step was lost.
SMALLEST_OVERLAP, MIN_KEPT_SHARE = 1e-3, 0.5
# Smallest ratio of two alphas that follow each other in the search, and the largest number of its steps.
SHRINK, MAX_SECANTS = 0.85, 40


class TransitionSettings(Settings, Protocol):
    """The settings that the search reads; the section `schema.erm.TransitionSolver` has them.

    Attributes
    ----------
    smallest, largest : float
        Range of alpha, at whose upper end the semantic solution is the better one.
    accuracy : float
        Of a transition, in alpha.
    against : str
        The branch whose free energy is compared with that of the semantic one: "positional" or "agnostic".
    """

    smallest: float
    largest: float
    accuracy: float
    against: str


@dataclass(frozen=True)
class Transition:
    """The `alpha` of a transition, NaN where none is found, and the largest `jump` index of the branches that cross at it."""

    alpha: float
    jump: float


MISSING = Transition(np.nan, np.nan)


class Branches:
    """The fixed points of both branches on the same nodes, at any alpha; those found serve as starts.

    `loss`, `ridge`, `nodes` and `settings` are those of `transitions`.
    """

    def __init__(self, loss: Loss, ridge: float, nodes: Nodes, settings: Settings):
        self._loss, self._ridge, self._nodes = loss, ridge, nodes
        self._settings = settings
        self._found: dict[tuple[str, float], Solution] = {}

    def at(self, branch: str, alpha: float) -> Solution:
        """The fixed point of a branch."""
        if (branch, alpha) not in self._found:
            problem = Problem(self._loss, alpha, self._ridge, branch)
            known = [other for name, other in self._found if name == branch]
            if known:
                start = self._found[branch, min(known, key=lambda other: abs(other - alpha))].order
            else:
                start = informed(problem, self._nodes, *START[branch])
            self._found[branch, alpha] = solve(problem, self._nodes, start, self._settings)
        return self._found[branch, alpha]

    def overlap(self, branch: str, alpha: float) -> float:
        """The largest overlap that names the branch: with the target, with a direction of the positions, or with itself."""
        order = self.at(branch, alpha).order
        return float(np.abs({"semantic": order.m, "positional": order.mu, "agnostic": order.q}[branch]).max())

    def usable(self, branch: str, alpha: float) -> bool:
        """Whether the fixed point has converged, and belongs to the branch that is known at the next larger alpha."""
        larger = [other for name, other in self._found if name == branch and other > alpha]
        known = self.overlap(branch, min(larger)) if larger else 0.0
        least = max(MIN_KEPT_SHARE * known, SMALLEST_OVERLAP)
        return self.at(branch, alpha).converged and self.overlap(branch, alpha) > least


def constant_loss(loss: Loss, nodes: Nodes) -> float:
    """The test loss on `nodes` of the best output that reads no token: for the square loss half the variance of the output.

    NaN for another loss.
    """
    if loss.name != "square":
        return np.nan
    return 0.5 * float(nodes.mean(np.sum((nodes.outputs - nodes.mean(nodes.outputs)) ** 2, axis=1)))


def transitions(loss: Loss, ridge: float, nodes: Nodes, settings: TransitionSettings) -> dict[str, Transition]:
    """The transitions of every criterion in [smallest, largest].

    Parameters
    ----------
    loss : Loss
        The best constant output is known for the square loss alone; another loss has no transition of this criterion.
    ridge : float
        lambda > 0.
    nodes : Nodes
        With positions, if `settings.against` is "positional".
    settings : TransitionSettings

    Raises
    ------
    ValueError
        For a positional branch without positions.
    """
    against, ends = settings.against, (settings.smallest, settings.largest, settings.accuracy)
    if against == "positional" and not nodes.positions.size:
        raise ValueError("tokens without positions have no positional branch; allowed: agnostic")
    branches, constant = Branches(loss, ridge, nodes, settings), constant_loss(loss, nodes)

    def energy(alpha):
        return branches.at(against, alpha).free_energy - branches.at("semantic", alpha).free_energy

    def error(alpha):
        return constant - branches.at("semantic", alpha).errors["test_loss"]

    found = {"energy": _crossing(branches, energy, ("semantic", against), *ends)}
    known = np.isfinite(constant)
    found["constant"] = _crossing(branches, error, ("semantic",), *ends) if known else MISSING
    return found


def _crossing(branches, gain, names, smallest, largest, accuracy) -> Transition:
    """Zero of `gain` by secants from the largest alpha down, in short steps, so that no branch in `names` is lost for another."""
    before, alpha = largest, max(SHRINK * largest, smallest)
    if gain(largest) <= 0:
        return MISSING
    for _ in range(MAX_SECANTS):
        if not all(branches.usable(name, at) for name in names for at in (before, alpha)):
            return MISSING
        if alpha == smallest and gain(alpha) > 0:
            return MISSING
        slope = (gain(before) - gain(alpha)) / (before - alpha)
        following = alpha - gain(alpha) / slope if slope > 0 else np.nan
        before, alpha = alpha, float(np.clip(following, max(SHRINK * alpha, smallest), min(alpha / SHRINK, largest)))
        if not alpha >= smallest:
            return MISSING
        if abs(alpha - before) < accuracy and alpha > smallest:
            return Transition(alpha, max(branches.at(name, alpha).jump for name in names))
    return MISSING
