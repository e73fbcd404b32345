"""Factored attention trained by stochastic gradient descent, as Rende et al. 2024 (arXiv:2304.07235) train it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.potts_mlm.attention.factored import attention_of, losses, objective
from attention_limits.potts_mlm.descent.epochs import annealed, evaluated_epochs
from attention_limits.potts_mlm.descent.lbfgs import START


class Schedule(Protocol):
    """How to train; the section `schema.training.Schedule` has these attributes.

    Attributes
    ----------
    learning_rate : float
        Initial rate.
    batch : int
        Sequences per step; all when there are fewer.
    epochs, evaluations : int
        Passes through the sequences, and how many of them end with an evaluation.
    """

    learning_rate: float
    batch: int
    epochs: int
    evaluations: int


@dataclass(frozen=True)
class Path:
    """A training at the epochs of its evaluations.

    Attributes
    ----------
    epochs : array (n,)
    training_loss, test_loss : arrays (n,)
        Per site in nats: mean over the steps of the epoch, and over the test sequences. NaN after a divergence.
    attention : array (n, L, L)
    """

    epochs: np.ndarray
    training_loss: np.ndarray
    test_loss: np.ndarray
    attention: np.ndarray


def train(sequences, test, colors: int, rng: np.random.Generator, attention: str, schedule: Schedule) -> Path:
    """Descend the loss of batches, summed over all sites, at a rate that a cosine anneals to 0; the steps in single precision.

    A masked site does not see itself, so one pass gives the losses of all sites, each masked in turn.

    Parameters
    ----------
    sequences, test : int8 arrays (M, L) and (n, L)
        Colours 0 to colors - 1.
    colors : int
        C.
    rng : numpy.random.Generator
        Draws the start, normal numbers of standard deviation START, and the order of the sequences.
    attention : "raw" or "softmax"
        As in `factored.fit`.
    schedule : Schedule
        An epoch leaves out an incomplete last batch. The last evaluation is after the last epoch.
    """
    sequences = np.ascontiguousarray(sequences, dtype=np.int8)
    count, sites = sequences.shape
    batch = min(schedule.batch, count)
    steps = count // batch
    flat = START * rng.standard_normal(sites**2 + colors**2)
    if attention == "raw":
        flat[: sites**2 : sites + 1] = 0.0
    wanted = evaluated_epochs(schedule.epochs, schedule.evaluations)
    training, tested, maps = [], [], []
    for epoch in range(schedule.epochs):
        order = rng.permutation(count)
        rates = annealed(schedule.learning_rate, epoch * steps, steps, schedule.epochs * steps)
        done = []
        for step, rate in enumerate(rates):
            chosen = sequences[order[step * batch : (step + 1) * batch]]
            loss, slope = objective(flat, chosen, colors, attention, 0.0, single=True)
            flat -= rate * sites * slope
            done.append(loss)
        if epoch + 1 in wanted:
            matrix = attention_of(flat[: sites**2].reshape(sites, sites), attention)
            values = flat[sites**2 :].reshape(colors, colors).T
            training.append(np.mean(done))
            tested.append(losses(matrix, values, test).mean())
            maps.append(matrix.copy())
    return Path(wanted, np.array(training), np.array(tested), np.array(maps))
