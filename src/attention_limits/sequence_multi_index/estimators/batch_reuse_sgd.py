"""Stochastic gradient descent that takes several steps on each batch of a fixed data set; one replica is one data set."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import jax
import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress
from attention_limits.sequence_multi_index.gaussian_sequences import local_fields
from attention_limits.sequence_multi_index.gradient_descent import Block, Descent, descend, drawn_batches
from attention_limits.sequence_multi_index.links.loading import load_link


def run(spec, streams):
    """Cosines, norms and training loss by batch (see `variables`), on the data that `reads` names."""
    solver = spec["solver"]

    def blocks(link, alpha, sequences, teachers):
        outputs = np.stack([_outputs(link, *pair) for pair in zip(sequences, teachers, strict=True)])
        # Handed to JAX once, not with every block.
        sequences, outputs = jax.device_put(sequences), jax.device_put(outputs)
        orders = [
            drawn_batches(
                sequences.shape[1],
                solver["batch"],
                solver["batches"],
                streams.generator("batches", replica, alpha=alpha),
            )
            for replica in spec["replicas"]
        ]
        for done, count in block_sizes(solver):
            yield Block(sequences, outputs, np.stack([order[done : done + count] for order in orders]))

    return simulate(spec, streams, blocks)


def block_sizes(solver) -> list[tuple[int, int]]:
    """Batches before each block, and in it; a block lies between two records."""
    starts = range(0, solver["batches"], solver["record_every"])
    return [(done, min(solver["record_every"], solver["batches"] - done)) for done in starts]


def simulate(spec, streams, blocks: Callable[..., Iterator[Block]]):
    """The dataset of a run; `blocks(link, alpha, sequences, teachers)` are the batches for all replicas at one alpha."""
    link, solver = load_link(spec["model"], Path(spec["project"])), spec["solver"]
    alphas, replicas = spec["grid"]["alpha"], spec["replicas"]
    runs, realised, counts = [], [], block_sizes(solver)
    for alpha in alphas:
        data = [spec["data"](replica, alpha=alpha) for replica in replicas]
        sequences = np.stack([part.sequences.values for part in data])
        teachers = np.stack([part.teacher.values for part in data])
        realised.append([part.realised_alpha.item() for part in data])
        starts = [
            solver["initial_std"] * streams.generator("start", replica, alpha=alpha).standard_normal(teachers.shape[1:])
            for replica in replicas
        ]
        made: Iterable[Block] = progress(blocks(link, alpha, sequences, teachers), len(counts), spec["estimator"])
        # In units of 1 / D, like the loss.
        decay = solver["weight_decay"] / teachers.shape[2]
        runs.append(
            descend(link, made, np.stack(starts), teachers, Descent(solver["learning_rate"], decay, solver["reuse"]))
        )
    by_batch = ("alpha", "replica", "batch")
    cosine = np.stack([run.cosine for run in runs])
    return xr.Dataset(
        {
            "cosine_by_batch": ((*by_batch, "layer"), cosine),
            "norm_by_batch": ((*by_batch, "layer"), np.stack([run.norm for run in runs])),
            "loss_by_batch": (by_batch, np.stack([run.loss for run in runs])),
            "realised_alpha": (("alpha", "replica"), realised),
            "finite": (("alpha", "replica"), np.isfinite(cosine[:, :, -1]).all(axis=2)),
        },
        {
            "alpha": alphas,
            "replica": replicas,
            "batch": runs[0].batches,
            "layer": np.arange(1, link.depth + 1),
        },
    )


def _outputs(link, sequences, teacher):
    return link.forward(local_fields(sequences, teacher)).astype(np.float32)
