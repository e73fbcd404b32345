"""Sequences from the fitted model of an alignment, and their one- and two-site statistics beside those of the alignment."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.training_sets import sites_from_one
from attention_limits.potts_mlm.potts.contacts import joint_model
from attention_limits.potts_mlm.proteins.fits import fit_point
from attention_limits.potts_mlm.proteins.generation import generate
from attention_limits.potts_mlm.proteins.statistics import agreement, connected_correlations, sequence_weights

# Edges of the histogram of two-site correlations; values beyond them count in the outermost bins.
EDGES = np.linspace(-0.1, 0.2, 61)
_CENTRES = 0.5 * (EDGES[1:] + EDGES[:-1])
_DIMS = {
    "training_frequency": ("site", "color"), "generated_frequency": ("site", "color"), "pair_histogram": ("bin", "bin_other"),
}  # fmt: skip


def run(spec, streams):
    """Frequencies, correlations and slopes of generated against training sequences, and of held-out ones (see `variables`)."""
    solver, full_fits = spec["solver"], {}

    def compute(at, replica):
        data = spec["data"](replica, **at)
        found, colors = fit_point(spec, streams, data, at, replica, full_fits), data.sizes["color"]
        starts = found.described()
        best = found.starts[starts["chosen"]]
        rng = streams.generator("generation", replica, **at)
        made = generate(
            *joint_model(best.fields, best.couplings), found.sequences, solver.generated, solver.sweeps, rng
        )
        test = data.test_states.values
        of_alignment = connected_correlations(found.sequences, found.weights, colors)
        of_model = connected_correlations(made.states, np.ones(len(made.states)), colors)
        of_test = connected_correlations(test, sequence_weights(test, solver.identity), colors)
        pairs = [np.clip(item[1].ravel(), EDGES[0], EDGES[-1]) for item in (of_alignment, of_model)]
        statistics = {}
        for name, other in (("generated", of_model), ("held_out", of_test)):
            for k, sites in enumerate(("site", "pair")):
                correlation, slope = agreement(of_alignment[k], other[k])
                statistics |= {f"{name}_{sites}_correlation": correlation, f"{name}_{sites}_slope": slope}
        return {
            "training_frequency": of_alignment[0],
            "generated_frequency": of_model[0],
            "pair_histogram": np.histogram2d(*pairs, bins=(EDGES, EDGES))[0],
            **statistics,
            "generated_converged": made.converged,
            "fit_converged": best.descent.converged,
            "fit_confirmed": starts["confirmed"],
        }

    coordinates = {"bin": _CENTRES, "bin_other": _CENTRES}
    return sites_from_one(collect(spec, compute, _DIMS, coordinates))
