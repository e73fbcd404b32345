"""Channels in Python files of the user, and their quick check; nothing in this module compiles."""

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from attention_limits.attention_indexed.channels.identities import identity_problems
from attention_limits.attention_indexed.channels.output import (
    LIKELIHOOD,
    POSTERIOR,
    GaussianNoise,
    OutputChannel,
    described_by,
)
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.pipeline.base.user_files import object_of_file, require_parameters, user_file

# Scores at which the frequencies of discrete outputs are compared with the likelihood, outputs at each, standard errors, and the
# accuracy beside them.
PLACES, DRAWS, SURE, UNIT = 4, 2048, 6.0, 0.005


def channel_file(name: str, project: Path) -> Path | None:
    """The file below the folder `project` that defines a channel of this `name`, if it is of the user, else None."""
    path, separator, _ = name.rpartition(":")
    return user_file(project, path) if separator else None


def _is_channel(found):
    return inspect.isclass(found) and issubclass(found, OutputChannel)


def channel_of_file(model: Mapping, project: Path) -> OutputChannel | GaussianNoise:
    """The channel of a file below the folder `project`, with the noise of the keys `model` as in `loading.load_channel`.

    Raises ValueError if there is no such class, if it does not take the parameters, or has neither noise nor a posterior.
    """
    name, parameters = model["channel"], model.get("parameters") or {}
    made = object_of_file("channel", name, project, "class {} derived from OutputChannel", _is_channel)
    allowed = [key for key in inspect.signature(made).parameters if key != "tokens"]
    unknown = sorted(set(parameters) - set(allowed))
    if unknown:
        raise ValueError(
            f"{', '.join(unknown)}: no parameter of the channel {name}; {allowed_names(unknown[0], allowed)}"
        )
    require_parameters(name, made, parameters)
    try:
        channel = made(tokens=model["tokens"], **parameters)
    except (Exception, SystemExit) as error:
        kind = "" if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"the channel {name}: {kind}{error}") from None
    noise = model.get("output_noise") or 0.0
    if noise and described_by(channel):
        raise ValueError(f"output_noise: {noise:g}: the channel has a {described_by(channel)} of y; allowed: 0")
    if noise:
        return GaussianNoise(channel, noise)
    if described_by(channel) is None:
        raise ValueError("output_noise: 0: the channel has no log_likelihood and no posterior; allowed: > 0")
    return channel


def channel_problems(model: Mapping, project: Path) -> list[str]:
    """Why the channel of a file of the keys `model` cannot be used, with files below `project`; empty for a provided one."""
    if channel_file(model["channel"], project) is None:
        return []
    try:
        return list(problems_of(channel_of_file(model, project)))
    except ValueError as error:
        return [str(error)]


def problems_of(model: OutputChannel | GaussianNoise, count: int = 32, seed: int = 0) -> Iterator[str]:
    """The first problem of the channel `model` on `count` random scores with this `seed`, if there is one."""
    generator = np.random.default_rng(seed)
    h = symmetric(generator, (count, model.tokens, model.tokens))
    try:
        with np.errstate(all="ignore"):
            yield from _problems_of_output(model, h, generator)
    except (Exception, SystemExit) as error:
        yield f"the channel fails on random scores: {type(error).__name__}: {error}"


def _problems_of_output(model, h, generator):
    count, given = len(h), h.copy()
    clean = np.asarray(model.output(given))
    if not np.array_equal(given, h):
        yield "output changes the scores that it is given"
        return
    real = np.issubdtype(clean.dtype, np.number) and not np.iscomplexobj(clean)
    if clean.shape[:1] != (count,) or not real:
        yield f"output must be real numbers (n = {count}, ...), got {clean.dtype} of shape {clean.shape}"
        return
    if not np.all(np.isfinite(clean)):
        bad = int(np.argmin(np.isfinite(clean).reshape(count, -1).all(axis=1)))
        yield f"output must be finite: h = {_text(h[bad])} gave {_text(clean[bad])}"
        return
    again = np.asarray(model.output(h))
    if not np.array_equal(again, clean):
        bad = int(np.argmax(np.any((again != clean).reshape(count, -1), axis=1)))
        yield (
            "output is random: noise belongs into draw, or into the key output_noise; "
            f"h = {_text(h[bad])} gave {_text(clean[bad])}, and {_text(again[bad])} when called again"
        )
        return
    one = np.asarray(model.output(h[:1]))
    many = np.asarray(model.output(np.stack([h, h[::-1]], axis=1)))
    if not np.allclose(one, clean[:1]) or not np.allclose(many, np.stack([clean, clean[::-1]], axis=1)):
        yield "output of a sequence must depend on its own scores only, for scores with any leading axes (..., M, M)"
        return
    observed = np.asarray(model.draw(h, generator))
    if observed.shape[:1] != (count,) or np.iscomplexobj(observed) or not np.all(np.isfinite(observed)):
        yield f"draw must return finite real outputs (n = {count}, ...), got {observed.dtype} of shape {observed.shape}"
        return
    # The same random numbers for all scores: only the scores can make the outputs differ.
    alone = np.stack([np.asarray(model.draw(h[[k]], np.random.default_rng(0)))[0] for k in range(count)])
    if np.array_equal(alone, np.broadcast_to(alone[:1], alone.shape)):
        yield (
            f"the output does not depend on the scores: h = {_text(h[0])} and h = {_text(h[1])} gave {_text(alone[0])}, and all "
            f"of {count} random scores give the same"
        )
        return
    found = list(_problems_of_posterior(model, observed, h, generator))
    yield from found or identity_problems(model, generator)


def _problems_of_posterior(model, observed, h, generator):
    if callable(getattr(model, LIKELIHOOD, None)):
        yield from list(_problems_of_likelihood(model, observed, h)) or _problems_of_frequencies(model, h, generator)
    if described_by(model) == POSTERIOR:
        mean = np.asarray(model.posterior(observed, np.zeros_like(h), 1.5))
        if mean.shape != h.shape or not np.all(np.isfinite(mean)):
            yield f"posterior must return finite means {h.shape}, got shape {mean.shape}"
        elif not np.allclose(mean, mean.swapaxes(1, 2)):
            yield "posterior must return symmetric matrices, as the scores are"


def _problems_of_likelihood(model, observed, h):
    fields = np.stack([h, h[::-1]], axis=1)
    given, outputs = fields.copy(), observed.copy()
    values = np.asarray(model.log_likelihood(outputs, given))
    if not (np.array_equal(given, fields) and np.array_equal(outputs, observed)):
        yield "log_likelihood changes the outputs or the scores that it is given"
    elif values.shape != (len(h), 2) or not np.issubdtype(values.dtype, np.floating):
        yield f"log_likelihood must return real numbers (n, S) = {(len(h), 2)}, got {values.dtype} of shape {values.shape}"
    elif np.any(np.isnan(values)) or np.any(values == np.inf):
        place, other = np.argwhere(np.isnan(values) | (values == np.inf))[0]
        yield f"log_likelihood is {values[place, other]} for y = {_text(observed[place])} at h = {_text(fields[place, other])}"
    elif not np.array_equal(values, np.asarray(model.log_likelihood(observed, fields))):
        yield "log_likelihood is random: two calls with the same outputs and scores differ"
    elif np.any(np.isneginf(values[:, 0])):
        place = int(np.argmax(np.isneginf(values[:, 0])))
        yield f"the true scores have likelihood zero: h = {_text(h[place])}"
    elif np.array_equal(values[:, 0], values[:, 1]):
        yield (
            f"log_likelihood does not depend on the scores: {values[0, 0]:.6g} for y = {_text(observed[0])} at h = {_text(h[0])} "
            f"and at h = {_text(h[-1])}"
        )


def _problems_of_frequencies(model, h, generator):
    """Discrete outputs: `draw` gives each with the probability that the likelihood says, at some scores."""
    for place in h[:PLACES]:
        drawn = np.asarray(model.draw(np.broadcast_to(place, (DRAWS, *place.shape)), generator))
        outputs, counts = np.unique(drawn.reshape(DRAWS, -1), axis=0, return_counts=True)
        if 16 * len(outputs) > DRAWS:
            return
        alone = outputs.reshape(-1, *drawn.shape[1:]).astype(drawn.dtype)
        scores = np.broadcast_to(place, (len(alone), 1, *place.shape))
        said, found = np.exp(np.asarray(model.log_likelihood(alone, scores))[:, 0]), counts / DRAWS
        distance = np.abs(found - said) - SURE * np.sqrt(found * (1.0 - found) / DRAWS)
        worst = int(np.argmax(distance))
        if distance[worst] > UNIT:
            yield (
                f"log_likelihood contradicts draw: at h = {_text(place)} it gives y = {_text(alone[worst])} the probability "
                f"{said[worst]:.4g}, and {counts[worst]} of {DRAWS} outputs are this one; its probabilities add up to "
                f"{said.sum():.4g}"
            )
            return


def _text(values):
    return str(np.asarray(values).round(4).tolist())


def symmetric(generator, shape):
    """Symmetric matrices of the `shape` (n, M, M), of variance 2 on the diagonal and 1 off it, from the numpy `generator`."""
    return SYMMETRIC.scores(generator.standard_normal(shape), 1.0)
