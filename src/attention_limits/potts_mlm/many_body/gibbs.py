"""Gibbs sampling of many-body Potts models: one chain for each sequence, all chains side by side.

Half of the chains begin at random colours, the other half at one random colour in all sites. Both halves agree on the energy once
they have forgotten their starts.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.potts_mlm.many_body.model import ManyBody

# Standard errors by which the mean energies of the two halves may differ.
DEVIATIONS = 4.0


@dataclass(frozen=True)
class Sampled:
    """The last states of all chains.

    Attributes
    ----------
    states : int8 array (n, L)
        In a random order of the chains.
    energies : array (2,)
        Mean energy of the chains from random colours, and of those from one colour.
    errors : array (2,)
        Their standard errors.
    """

    states: np.ndarray
    energies: np.ndarray
    errors: np.ndarray

    @property
    def converged(self) -> bool:
        """Whether both means differ by at most DEVIATIONS standard errors."""
        return bool(abs(self.energies[0] - self.energies[1]) <= DEVIATIONS * np.hypot(*self.errors))


def sweep(model: ManyBody, states, rng: np.random.Generator) -> None:
    """One Gibbs sweep of all chains of a `model`, sites in order, drawn by `rng`: the integer `states` (n, L) change in place."""
    for site in range(model.sites):
        fields = model.fields_of(site, states)
        cumulated = np.cumsum(np.exp(fields - fields.max(axis=1, keepdims=True)), axis=1)
        drawn = rng.random(len(states)) * cumulated[:, -1]
        states[:, site] = np.minimum((cumulated <= drawn[:, None]).sum(axis=1), model.colors - 1)


def sample(model: ManyBody, count: int, sweeps: int, rng: np.random.Generator) -> Sampled:
    """`count` >= 4 independent sequences of a `model`, each the end of a chain of `sweeps` sweeps, drawn by `rng`."""
    states = rng.integers(0, model.colors, (count, model.sites))
    half = count // 2
    states[half:] = states[half:, :1]
    for _ in range(sweeps):
        sweep(model, states, rng)
    parts = [model.energy(part) for part in (states[:half], states[half:])]
    errors = [part.std(ddof=1) / np.sqrt(len(part)) for part in parts]
    order = rng.permutation(count)
    return Sampled(states[order].astype(np.int8), np.array([part.mean() for part in parts]), np.array(errors))
