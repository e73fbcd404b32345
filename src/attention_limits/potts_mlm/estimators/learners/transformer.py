"""Stochastic gradient descent and Adam train transformer encoders on shared sequences."""

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from attention_limits.pipeline.cubes.points import collect, points
from attention_limits.potts_mlm.attention.training_sets import (
    optimal_loss,
    sites_from_one,
    training_set,
    true_couplings,
)
from attention_limits.potts_mlm.descent.epochs import evaluated_epochs
from attention_limits.potts_mlm.potts.recovery import contact_precision, site_error
from attention_limits.potts_mlm.transformer.transformer import OPTIMIZERS, Schedule, Shape, final_attention, train

_EPOCHS = ("optimizer", "epoch")
_DIMS = {
    "transformer_gradient_norm": ("optimizer",),
    "transformer_converged": ("optimizer",),
    "transformer_training_loss": _EPOCHS,
    "transformer_test_loss": _EPOCHS,
    "transformer_site_error": _EPOCHS,
    "transformer_precision": _EPOCHS,
    "transformer_all_layers_site_error": _EPOCHS,
    "transformer_all_layers_precision": _EPOCHS,
    "transformer_map": ("optimizer", "site", "site_other"),
}


def run(spec, streams):
    """Losses and errors of the attention by epoch, and the attention at the end, averaged over the final two layers.

    Rende et al. 2024 average over the final two of three layers. With one or two layers these are all layers. The errors of the
    mean over all layers stand beside them (see `variables`).

    Both optimisers, all sample sizes and distances of a replica begin with the same weights. All trainings of a job run side by
    side on its threads.
    """
    solver = spec["solver"]

    def tested(data):
        return data.test_states.values[: solver.test_sequences]

    def job(at, replica, optimizer):
        data = spec["data"](replica, **at)
        sequences = training_set(streams, data, replica, at, at["samples"])
        shape = Shape(sequences.shape[1], data.sizes["color"], at["layers"], solver.width, solver.hidden)
        rate = getattr(solver, f"{optimizer}_learning_rate")
        schedule = Schedule(optimizer, rate, solver.batch, solver.epochs, solver.evaluations)
        return shape, sequences, tested(data), streams.generator("training", replica), schedule

    def compute(at, replica):
        data = spec["data"](replica, **at)
        done = [next(trainings) for _ in OPTIMIZERS]
        J = true_couplings(data)
        # The attention of the mask to itself is no coupling.
        other = 1.0 - np.eye(len(J))
        maps = [final_attention(item.attention) * other for item in done]
        all_layers = [item.attention.mean(axis=1) * other for item in done]
        return {
            "transformer_optimal_loss": optimal_loss(data, tested(data)),
            "transformer_training_loss": [item.training_loss for item in done],
            "transformer_test_loss": [item.test_loss for item in done],
            "transformer_gradient_norm": [item.gradient_norm for item in done],
            "transformer_converged": [item.gradient_norm <= solver.tolerance for item in done],
            "transformer_site_error": [[site_error(one, J) for one in by_epoch] for by_epoch in maps],
            "transformer_precision": [[contact_precision(one, J) for one in by_epoch] for by_epoch in maps],
            "transformer_all_layers_site_error": [[site_error(one, J) for one in by_epoch] for by_epoch in all_layers],
            "transformer_all_layers_precision": [
                [contact_precision(one, J) for one in by_epoch] for by_epoch in all_layers
            ],
            "transformer_map": [final_attention(item.attention[-1]) for item in done],
        }

    epochs = evaluated_epochs(solver.epochs, solver.evaluations)
    jobs = [job(at, replica, optimizer) for at, replica in points(spec) for optimizer in OPTIMIZERS]
    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        trainings = pool.map(lambda arguments: train(*arguments), jobs)
        return sites_from_one(collect(spec, compute, _DIMS, {"optimizer": np.array(OPTIMIZERS), "epoch": epochs}))
