"""Cross checks of the attention-indexed family: channel, sizes and memory; nothing in this module compiles."""

import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path

from attention_limits.attention_indexed.channels.files import channel_file, channel_problems
from attention_limits.attention_indexed.channels.names import NAMES, untied_problem
from attention_limits.attention_indexed.model.sizes import (
    LEAST_TOKENS,
    MOST_SAMPLED,
    MOST_TOKENS,
    aspect_problem,
    megabytes,
    sizes,
)
from attention_limits.attention_indexed.priors.spectra import law_of_file
from attention_limits.pipeline.base.files import canonical_json
from attention_limits.pipeline.experiments.specification import Problem


def _values(estimator, key: str) -> list:
    """All values of a parameter of the model, scanned or not; none where the estimator has no such parameter."""
    fixed = [estimator.model[key]] if key in estimator.model else []
    return estimator.grid.get(key, fixed)


@functools.cache
def _channel_problems(parameters: str, project: Path, code: bytes) -> list[str]:
    """`channel_problems` of `parameters` in JSON: many experiments, estimators and scales share a channel.

    The file of the user may change, so its bytes, `code`, belong to the key.
    """
    return channel_problems(json.loads(parameters), project)


def _problems_of_channel(model: Mapping, project: Path) -> list[str]:
    file = channel_file(model["channel"], project)
    if file is None:
        return []
    read = {key: model.get(key) for key in ("channel", "parameters", "tokens", "output_noise")}
    return _channel_problems(canonical_json(read), project, file.read_bytes() if file.is_file() else b"")


def channel_checks(estimator) -> list[Problem]:
    """Problems of the channel at each number of tokens. Only channels with noise or from a file are constructed."""
    channel, tokens = estimator.model.get("channel"), _values(estimator, "tokens")
    if channel is None:
        return []
    noise = _values(estimator, "output_noise")
    sampled = max(noise, default=0) > 0 or channel not in NAMES
    if channel == "hardmax_published" and max(noise) > 0:
        return [(("model", "channel"), f"{channel}: no posterior mean, so it takes no noise; allowed: output_noise 0")]
    most = min(MOST_TOKENS.get(channel, max(tokens)), MOST_SAMPLED if sampled and channel != "linear" else max(tokens))
    if most < max(tokens):
        return [(("model", "channel"), f"{channel}: allowed with at most {most} tokens, not {max(tokens)}")]
    if few := too_few_tokens(channel, tokens):
        return few
    if channel in NAMES and estimator.model.get("parameters"):
        return [(("model", "parameters"), f"the channel {channel} takes none; only a channel of a file does")]
    points = [{**estimator.model, "tokens": M, "output_noise": value} for M in tokens for value in noise]
    found = [text for point in points for text in _problems_of_channel(point, estimator.project)]
    return [(("model", "channel"), text) for text in dict.fromkeys(found)]


def too_few_tokens(channel: str, tokens: list[int]) -> list[Problem]:
    """A `channel` whose output of the smallest number of `tokens` is constant."""
    least = LEAST_TOKENS.get(channel, 1)
    if min(tokens) >= least:
        return []
    text = f"{channel}: allowed with at least {least} tokens, not {min(tokens)}: the output of one score is constant"
    return [(("model", "channel"), text)]


def untied_checks(estimator) -> list[Problem]:
    """Keys of an untied model that only symmetric scores have, and an aspect that the model cannot have."""
    model, ratios = estimator.model, _values(estimator, "ratio")
    problem = next(
        filter(None, (aspect_problem(model.get("aspect", 1.0), model.get("untied", False), x) for x in ratios)), None
    )
    found: list[Problem] = [(("model", "aspect"), problem)] if problem else []
    if not model.get("untied"):
        return found
    channel, noise = model.get("channel"), max(_values(estimator, "output_noise"), default=0.0)
    if channel is not None and (problem := untied_problem(channel, noise)):
        found.append((("model", "channel"), problem))
    if model.get("spectrum"):
        found.append((("model", "spectrum"), "eigenvalues of a symmetric S; allowed: untied: false"))
    return found


def two_layer_checks(estimator) -> list[Problem]:
    """Numbers of tokens and skip strengths that the output of the last layer does not allow."""
    tokens, skip = max(_values(estimator, "tokens")), min(_values(estimator, "skip"))
    if estimator.model["channel"] == "hardmax" and tokens > 2:
        return [(("model", "channel"), f"hardmax: allowed with 2 tokens, not {tokens}")]
    if tokens > 2 and skip < 1:
        place = "grid" if "skip" in estimator.grid else "model"
        return [
            (
                (place, "skip"),
                f"{skip:g}: allowed with {tokens} tokens: at least 1, where every mixing matrix is invertible",
            )
        ]
    return []


def spectrum_checks(estimator) -> list[Problem]:
    """Problems of the law of the eigenvalues of S at each width ratio."""
    name = estimator.model.get("spectrum")
    found: list[Problem] = []
    for ratio in _values(estimator, "ratio") if name else ():
        try:
            law_of_file(name, ratio, estimator.project)
        except ValueError as error:
            found.append((("model", "spectrum"), str(error)))
    return found


def _dimensions(estimator) -> list[int]:
    """All dimensions of an estimator: the axis of its grid, or the one of its solver."""
    return estimator.grid.get("dimension") or [estimator.solver.dimension]


def size_checks(estimator) -> list[Problem]:
    """A number of sequences or a width that rounds to zero, and an aspect whose shorter side rounds to one."""
    dimension = min(_dimensions(estimator))
    found: list[Problem] = []
    alpha, ratio = min(_values(estimator, "alpha")), min(_values(estimator, "ratio"))
    if alpha * dimension**2 < 0.5:
        allowed = f"allowed: at least {0.5 / dimension**2:g} at dimension {dimension}"
        found.append((("grid", "alpha"), f"{alpha:g}: {allowed}, or alpha d^2 sequences round to none"))
    if ratio * dimension < 0.5:
        place = "grid" if "ratio" in estimator.grid else "model"
        allowed = f"allowed: at least {0.5 / dimension:g} at dimension {dimension}"
        found.append(((place, "ratio"), f"{ratio:g}: {allowed}, or the width rho d rounds to zero"))
    aspect = estimator.model.get("aspect", 1.0)
    elongation = max(aspect, 1.0 / aspect)
    if elongation > (largest := (dimension / 1.5) ** 2):
        text = f"{aspect:g}: allowed at dimension {dimension}: {1.0 / largest:g} to {largest:g}, or the shorter side is one"
        found.append((("model", "aspect"), text))
    return found


def memory_checks(estimator, layers: int, starts: int = 0) -> list[Problem]:
    """Data that exceed the memory.

    `starts` > 0 counts the numbers that gradient descent holds; a key `starts` of the solver replaces it.
    """
    alpha, ratio = max(_values(estimator, "alpha")), max(_values(estimator, "ratio"))
    aspect = estimator.model.get("aspect", 1.0)
    sequences = math.sqrt(aspect) + 1.0 / math.sqrt(aspect) if estimator.model.get("untied") else 1
    size, tokens = sizes(alpha, ratio, int(max(_dimensions(estimator)))), max(_values(estimator, "tokens"), default=2)
    needed, allowed = (
        megabytes(size, tokens, layers, getattr(estimator.solver, "starts", starts), sequences),
        estimator.resources["memory"],
    )
    if needed <= allowed:
        return []
    numbers = f"n M d = {size.count} x {tokens} x {size.dimension} numbers at alpha = {alpha:g} and r = {size.rank}"
    return [(("resources", "memory"), f"{allowed} MB: {numbers} need {needed} MB")]
