"""Whether the posterior or the likelihood of a channel of a file is that of its outputs: the quick check of a file.

It takes plain random scores, without the nodes of the program; `reports.check_channel` tests the sampled posterior too. With m
the posterior mean of the scores h and f any function of the output y and of omega, E [f (h - m)] = 0 (Nishimori 1980).
"""

from collections.abc import Iterator

import numpy as np

from attention_limits.attention_indexed.channels.output import LIKELIHOOD, POSTERIOR, GaussianNoise, described_by
from attention_limits.attention_indexed.model.score_law import SYMMETRIC

# Random outputs, and the q and V of the scores, at which an exact posterior is tested.
MANY, CENTRE, VARIANCE = 8192, 1.0, 0.5
# Random outputs at which a likelihood is tested, and scores of the prior that sample its posterior; an output takes part if so
# many effective scores carry it. Their bias, in standard deviations of the scores.
OUTPUTS, SCORES, EFFECTIVE, BIAS = 512, 2048, 50.0, 0.05
# Numbers of the scores in one array.
AT_ONCE = 2**20
# Standard errors that refuse. A right channel fails with a probability of about 1e-8 for each identity and entry, over the seeds.
SURE = 6.0
# Output noise, relative to the largest output, that rounding leaves.
DIGITS = 1e-10


def identity_problems(model, generator) -> Iterator[str]:
    """The first identity that the posterior or the likelihood of a channel `model` violates, with its numbers.

    `generator` is a numpy Generator. The likelihood of Gaussian noise is right; the noise must be above the rounding of the
    output.
    """
    if isinstance(model, GaussianNoise):
        yield from _noise_problems(model, generator)
    elif described_by(model) == POSTERIOR:
        yield from _posterior_problems(model, generator)
    elif described_by(model) == LIKELIHOOD:
        yield from _likelihood_problems(model, generator)


def _noise_problems(model, generator):
    h = _scores(model, 64, 1.5, generator)
    clean = np.abs(np.asarray(model.output(h), dtype=float)).reshape(len(h), -1).max(axis=1)
    worst = int(np.argmax(clean))
    if np.sqrt(model.noise) < DIGITS * clean[worst]:
        yield (
            f"the output is {clean[worst]:.3g} at h = {h[worst].round(4).tolist()}: noise of the standard deviation "
            f"{np.sqrt(model.noise):.3g} is lost in its last digits; allowed: at least {DIGITS * clean[worst]:.3g}, or a smaller "
            "output"
        )


def _scores(model, count, variance, generator):
    return SYMMETRIC.scores(generator.standard_normal((count, model.tokens, model.tokens)), variance)


def _posterior_problems(model, generator):
    omega = _scores(model, MANY, CENTRE, generator)
    h = omega + _scores(model, MANY, VARIANCE, generator)
    observed = np.asarray(model.draw(h, generator))
    m = np.asarray(model.posterior(observed, omega, VARIANCE), dtype=float)
    if not np.all(np.isfinite(m)):
        bad = int(np.argmin(np.isfinite(m).all(axis=(1, 2))))
        yield f"posterior is not finite for y = {observed[bad].tolist()} at omega = {omega[bad].round(4).tolist()}"
        return
    first, second = np.triu_indices(model.tokens)
    entries = [values[:, first, second] for values in (h - m, m - omega, omega)]
    yield from _violated("posterior contradicts output", entries[0], _functions(observed, *entries[1:]), 0.0)


def _likelihood_problems(model, generator):
    first, second = np.triu_indices(model.tokens)
    h = _scores(model, OUTPUTS, 1.0, generator)
    nodes = _scores(model, SCORES, 1.0, generator)
    known = nodes[:, first, second]
    observed = np.asarray(model.draw(h, generator))
    step, carried = max(1, AT_ONCE // nodes.size), np.zeros(OUTPUTS)
    mean, square = np.empty((2, OUTPUTS, len(first)))
    for start in range(0, OUTPUTS, step):
        part = slice(start, start + step)
        fields = np.broadcast_to(nodes, (len(observed[part]), *nodes.shape))
        logs = np.asarray(model.log_likelihood(observed[part], fields), dtype=float)
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        total = np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        carried[part] = total[:, 0] ** 2 / np.maximum(np.sum(weights**2, axis=1), 1e-300)
        mean[part], square[part] = weights @ known / total, weights @ known**2 / total
    # Which outputs take part is a function of the output alone, so the identities hold for them.
    kept = carried >= EFFECTIVE
    if kept.sum() < OUTPUTS // 8:
        return
    true, m = h[:, first, second][kept], mean[kept]
    functions = _functions(observed[kept], m)
    found = list(_violated("log_likelihood contradicts draw", true - m, functions, BIAS))
    yield from found or _violated(
        "log_likelihood contradicts draw", true**2 - square[kept], functions[:1], BIAS, "h^2", "E[h^2 | y]"
    )


def _functions(observed, *entries):
    """Name and values (n, k) of functions f: one, the outputs in bounded form, and the given `entries` (n, k)."""
    seen = np.reshape(observed, (len(observed), -1)).astype(float)
    seen = np.tanh((seen - seen.mean(axis=0)) / (seen.std(axis=0) + 1e-300))
    return [("1", np.ones((len(seen), 1))), ("tanh y", seen), *zip(("m", "omega"), entries, strict=False)]


def _violated(what, rest, functions, bias, name="h", mean="m"):
    """The identity E[f rest] = 0 that is violated most, over the `functions` f, for `rest` (n, entries)."""
    worst, text = 0.0, ""
    for of, values in functions:
        products = values[:, :, None] * rest[:, None, :]
        average, error = products.mean(axis=0), products.std(axis=0, ddof=1) / np.sqrt(len(rest))
        excess = np.abs(average) - SURE * error - bias - 1e-9
        place = np.unravel_index(np.argmax(excess), excess.shape)
        if excess[place] > worst:
            worst = excess[place]
            text = f"E[f ({name} - {mean})] = 0 for f = {of}, but it is {average[place]:.3g} ± {error[place]:.2g}"
    if text:
        yield f"{what}: with m the posterior mean of a score h, {text} over {len(rest)} random outputs"
