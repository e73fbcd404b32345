"""All solutions of the state evolution against alpha, their free entropies, and the Bayes-optimal one."""

import numpy as np

from attention_limits.attention_indexed.estimators.one_layer.curves import channels_of, collect_curves, priors_of
from attention_limits.attention_indexed.state_evolution.bounded_solutions import bounded
from attention_limits.attention_indexed.state_evolution.curve import solve
from attention_limits.attention_indexed.state_evolution.phases import (
    SAME,
    compare,
    hard_ranges,
    information_known,
    phases,
)
from attention_limits.attention_indexed.state_evolution.uniqueness import uniqueness

# Stable solutions at one alpha that a cube holds; `solutions` counts all.
BRANCHES = 4
_BY_BRANCH = ("mmse_by_branch", "noise_by_branch", "free_entropy_by_branch", "free_entropy_by_branch_error")
_NAMES = (
    "mmse", "mmse_error", "unique", "mmse_bayes", "mmse_bayes_error", "free_entropy", "free_entropy_error",
    "mutual_information", "mutual_information_error", "solutions", "phase", "decided", "certificate",
    "information_theoretic_threshold", "information_theoretic_threshold_error", "algorithmic_threshold",
    "algorithmic_threshold_error",
)  # fmt: skip


def run(spec, streams):
    """Solutions, free entropies, mutual information, thresholds and phase (see `variables`). Nothing is random."""
    alpha = np.array(spec["grid"]["alpha"])
    channel_of, prior_of = channels_of(spec), priors_of(spec)

    def compute(point):
        channel, prior = channel_of(point), prior_of(point)
        reached = bounded(channel, lambda values: solve(channel, prior, values), alpha, prior.Q)
        found = phases(channel, prior)
        bayes, ranges = compare(found, alpha), hard_ranges(found)
        first, last = (ranges[0].begin, ranges[-1].end) if ranges else (None, None)
        count, by_branch = _by_branch(found, bayes, alpha)
        return {
            "mmse": reached.mmse,
            "mmse_error": reached.bound,
            "unique": reached.unique,
            "mmse_bayes": bayes.mmse,
            "mmse_bayes_error": bayes.bound,
            "free_entropy": bayes.free_entropy,
            "free_entropy_error": bayes.free_entropy_error,
            "mutual_information": bayes.mutual_information,
            "mutual_information_error": bayes.mutual_information_error,
            "solutions": count,
            "phase": bayes.phase,
            "decided": bayes.decided,
            "certificate": np.full_like(alpha, uniqueness(found).by),
            **_threshold("information_theoretic_threshold", first, alpha),
            **_threshold("algorithmic_threshold", last, alpha),
            **by_branch,
        }

    return collect_curves(spec, "alpha", _NAMES, compute, {"branch": np.arange(1, BRANCHES + 1)}, _BY_BRANCH)


def _by_branch(found, bayes, alpha):
    """The number of stable solutions (n,), and the variables `_BY_BRANCH` (n, BRANCHES) of the first ones; missing where the
    information of the channel is not known."""
    states = bayes.states
    values = states.mmse, states.noise, states.free_entropy, alpha * states.doubt
    known = np.isfinite(states.mmse) & (information_known(found) | (alpha == 0))
    # Where one branch continues another one, both have the same solution.
    known[:-1] &= ~(np.abs(np.diff(states.mmse, axis=0)) < SAME)
    order = np.argsort(~known, axis=0, kind="stable")
    held, shown = np.full((len(values), BRANCHES, len(alpha)), np.nan), min(BRANCHES, len(known))
    held[:, :shown] = [np.take_along_axis(np.where(known, part, np.nan), order, axis=0)[:shown] for part in values]
    count = np.where(information_known(found) | (alpha == 0), known.sum(axis=0), np.nan)
    return count, dict(zip(_BY_BRANCH, np.swapaxes(held, 1, 2), strict=True))


def _threshold(name, jump, alpha):
    """A threshold and its bound, the same at all `alpha`; missing without a hard range."""
    value, error = (np.nan, np.nan) if jump is None else (jump.alpha, jump.error)
    return {name: np.full_like(alpha, value), f"{name}_error": np.full_like(alpha, error)}
