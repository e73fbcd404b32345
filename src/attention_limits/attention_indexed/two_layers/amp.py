"""Matrix AMP for two attention layers: `matrix_amp` for both layers at once, coupled through the channel of `softmax`.

Per iteration and layer l, with S~_l = S_hat_l - (tr S_hat_l / d) I,

    omega_l = h(S~_l) - 2 V'_l G_l,prev,    q_hat_l = (2/d^2) sum_mu (D - spread_l,mu) / (s_l V_l),

then S_hat_l, V_l and V'_l from G_l and q_hat_l as for one layer (derived for this project).

The prior variance of the channel is s_l V_l. At its true value the mean of |z_l|^2 + spread_l over the samples is D (Nishimori).
At finite d the errors exceed V_l near exact recovery; with s_l = 1 the iteration then predicts a recovery that it does not reach.
Each iteration multiplies s_l by this mean over D, a step of expectation maximisation for the variance, and keeps s_l at least
one.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from attention_limits.attention_indexed.amp.matrix_amp import AmpRun, Dataset, Step, iterate, refine
from attention_limits.attention_indexed.amp.sample_sums import all_scores
from attention_limits.attention_indexed.amp.schedule import Schedule, Settings
from attention_limits.attention_indexed.model.scores import draw_sequences, traceless
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.priors.wishart import Wishart
from attention_limits.attention_indexed.two_layers.layers import LEAST
from attention_limits.attention_indexed.two_layers.phases.free_entropy import noise_at
from attention_limits.attention_indexed.two_layers.state_evolution import RECOVERED, Model


def draw_dataset(model: Model, size: Sizes, generator) -> Dataset:
    """Two teachers of `model` and their data, from the numpy.random.Generator `generator`.

    Raises ValueError if a size is below one.
    """
    prior = Wishart(size.rank / size.dimension)
    teachers = np.stack([prior.draw(size, generator) for _ in range(model.layers)])
    sequences = draw_sequences(size.count, model.tokens, size.dimension, generator, np.float32)
    observed = model.observed(*(all_scores(sequences, traceless(S)) for S in teachers))
    return Dataset(sequences, teachers, observed, prior)


def informed_start(data: Dataset, error: float, generator) -> tuple[np.ndarray, np.ndarray]:
    """Posterior means S_hat (2, d, d) of the teachers S_l of `data` given S_l + sqrt(D) Z, and their errors V (2,).

    Both are `error` = mmse(D), between 0 and 1; Z is of the Gaussian orthogonal ensemble (off-diagonal variance 1/d), from the
    numpy.random.Generator `generator`.
    """
    noise, dimension = float(noise_at(data.prior.ratio, error)), data.teacher.shape[-1]
    Z = generator.standard_normal(data.teacher.shape)
    Z = (Z + np.swapaxes(Z, 1, 2)) / np.sqrt(2.0 * dimension)
    estimates = [data.prior.denoise(observed, noise)[0] for observed in data.teacher + np.sqrt(noise) * Z]
    return np.stack(estimates), np.full(2, error)


def run(model: Model, data: Dataset, settings: Settings, start: tuple | None = None) -> AmpRun:
    """Iterate on the `data` of a `model` until the residual falls below the tolerance of `settings`, or without progress.

    `start` is that of `informed_start`, or None for the prior means. Raises ValueError where `settings` are out of their range.
    The run has also diverged where the estimate of a layer is too large: a posterior mean has ||S_hat||_F^2 / d <= 1 + rho in
    the limit, and an estimate with twice as much is no posterior mean.
    """
    schedule = Schedule(settings.max_iterations, settings.damping, settings.tolerance)
    found = iterate(_Layers(model, data), data, schedule, RECOVERED, start)
    size = np.sum(found.estimate**2, axis=(1, 2))
    diverged = found.diverged or bool(size.max() > 2.0 * data.prior.Q * data.teacher.shape[1])
    return replace(found, diverged=diverged, converged=found.converged and not diverged)


@dataclass
class _Layers:
    """The undamped `Step` of both layers, and s_l of the last one, `scale` (2,)."""

    model: Model
    data: Dataset
    scale: np.ndarray = field(default_factory=lambda: np.ones(2))

    def __call__(self, estimates, V, onsager):
        model, sequences = self.model, self.data.sequences
        count, dimension = len(sequences), estimates.shape[1]
        omega = np.stack([all_scores(sequences, traceless(S)) for S in estimates], axis=1) - onsager
        used = self.scale * V
        _, z, spread, sound = model.posterior(self.data.observed, model.contrasts(omega), used)
        spread, resolved = spread.mean(axis=0), float(np.mean(sound))
        self.scale = np.maximum(1.0, self.scale * (np.mean(np.sum(z**2, axis=2), axis=0) + spread) / model.size)
        # From the posterior variances. The mean of G^2 has the same expectation, but where the finite size makes V too small,
        # it is too large and makes V smaller still.
        # Where the data hardly inform about a layer, sampled variances can exceed those of the prior.
        known = np.maximum(model.size - spread, LEAST)
        q_hat = 2.0 * known / used * count / dimension**2
        if not np.all(np.isfinite(q_hat)):
            return Step(resolved)
        G = model.slopes(z, used)
        found = [refine(sequences, S, G[:, k], q_hat[k], self.data.prior) for k, S in enumerate(estimates)]
        new, predicted, own = (np.array(part) for part in zip(*found, strict=True))
        residual = np.linalg.norm(new - estimates, axis=(1, 2)) / np.sqrt(dimension * predicted)
        return Step(resolved, new, predicted, 2.0 * own[:, None, None] * G, float(residual.max()))
