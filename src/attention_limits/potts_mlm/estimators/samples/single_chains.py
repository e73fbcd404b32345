"""Single chains, the sampler of Rende et al. 2024, at the temperature that tempered runs found: do they reach equilibrium?

A chain that stays near its start visits fewer colours than the model does. The comparison of several chains shows this, and the
fits show what factored attention learns from one chain alone.
"""

import numpy as np

from attention_limits.numerics.probability.chain_diagnostics import split_r_hat
from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.factored import fit
from attention_limits.potts_mlm.descent.lbfgs import stacked
from attention_limits.potts_mlm.descent.minima import of_starts
from attention_limits.potts_mlm.potts.gibbs import Ladder, color_counts, cross_distance, hamming_distance
from attention_limits.potts_mlm.potts.model import Potts
from attention_limits.potts_mlm.potts.recovery import contact_precision, site_error

_CHAINS = ("chain_hamming", "chain_hamming_error", "chain_cross", "chain_energy")
_LEARNED = ("chain_site_error", "chain_precision", "chain_fit_converged", "chain_fit_confirmed")
_DIMS = {
    **dict.fromkeys(_CHAINS, ("chain",)),
    **dict.fromkeys(_LEARNED, ("attention", "learned_chain")),
}


def run(spec, streams):
    """Distances, energies and agreement of the chains, and the couplings learned from each of the first (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        data = spec["data"](replica, **at)
        model = Potts(data.couplings.values, data.color_couplings.values)
        ladder = Ladder(model, float(data.beta), streams.generator("chains", replica, **at), runs=solver.chains)
        ladder.sample(solver.warm_up, solver.gap)
        runs = ladder.sample(solver.samples, solver.gap, "single chains")
        states = np.stack([run.states[:, 0] for run in runs], axis=1)
        energies = np.stack([run.energies[:, 0] for run in runs])
        distance, error = hamming_distance(states, model.colors)
        counts = color_counts(states, model.colors)
        common = counts.sum(axis=0).argmax(axis=-1)
        r_hat = max(split_r_hat(energies), split_r_hat(np.mean(states == common, axis=2).T))
        rng = streams.generator("start", replica)
        learned = [_learned(states[:, k], model, solver, rng) for k in range(solver.learned)]
        tempered = color_counts(data.test_states.values, model.colors)
        return {
            "chain_hamming": distance,
            "chain_hamming_error": error,
            "chain_cross": [cross_distance(one, tempered) for one in counts],
            "chain_energy": energies.mean(axis=1) / model.sites,
            "tempered_energy": model.energy(data.test_states.values).mean() / model.sites,
            "chain_r_hat": r_hat,
            "chains_converged": r_hat <= solver.largest_r_hat,
            **{name: np.moveaxis(values, 0, -1) for name, values in stacked(learned).items()},
        }

    coordinates = {"attention": np.array(solver.attentions)}
    return collect(spec, compute, _DIMS, coordinates)


def _learned(sequences, model, solver, rng):
    """What each kind of attention learns from one chain (M, L): {variable: array (attention,)}."""
    found = []
    for kind in solver.attentions:
        fits = [fit(sequences, model.colors, child, kind, solver.ridge, solver) for child in rng.spawn(solver.starts)]
        starts = of_starts(fits)
        best = fits[starts["chosen"]]
        found.append(
            {
                "chain_site_error": site_error(best.attention, model.J),
                "chain_precision": contact_precision(best.attention, model.J),
                "chain_fit_converged": best.descent.converged,
                "chain_fit_confirmed": starts["confirmed"],
            }
        )
    return stacked(found)
