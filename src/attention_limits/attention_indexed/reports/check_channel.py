"""The checks of a channel, as a function and as the command check-channel.

The identity is that of Nishimori 1980; the checks are derived in this module.
"""

import math
from pathlib import Path

import numpy as np

from attention_limits.attention_indexed.channels.files import channel_problems, problems_of
from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.channels.output import described_by
from attention_limits.attention_indexed.channels.protocol import Channel
from attention_limits.attention_indexed.channels.sampled import FEWEST
from attention_limits.attention_indexed.model.score_law import SCRAMBLINGS, row_nodes
from attention_limits.attention_indexed.reports.compilation import in_numpy
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.checks import Check, mean_check, refined, require_passed, same_check

# Relative bias that the finite number of nodes of a sampled channel may have.
BIAS = 0.03
# q and V of the checks.
PLACES = ((0.0, 1.5), (1.0, 0.5), (1.4, 0.1))
# Largest share of unresolved posteriors; change under a symmetry, relative to the largest entry.
UNRESOLVED, SYMMETRIC = 0.01, 1e-6
# V / Q at which the limit of small V is read, its relative error there, and standard errors of an estimated V.
TINY, LIMIT, DEVIATIONS = 1e-10, 1e-3, 5.0


def check_channel(channel: Channel, outputs: int = 2048, seed: int = 0) -> list[Check]:
    """All checks of a channel, on `outputs` random outputs at each of `PLACES`, with this `seed`.

    With Z = (h - omega) / sqrt(V), m its posterior mean and any function f of y and omega, E [(Z - m) f] = 0 (Nishimori). The
    checks take f = m, f = 1, f = omega and f = omega |omega|, for each entry. A wrong likelihood, or a `draw` of another law,
    breaks at least one of them unless its factor depends on y alone. The information is E 4 sum_ab G_ab^2, the distance is
    E ||f(h) - f(h')||^2, and V is estimated from the outputs. A correct channel fails each of these with the probability
    `checks.FALSE_ALARM`, and that of V with 6e-7, over the seeds; sampled channels may have the bias BIAS of the largest entry.
    Shapes, symmetry, invariances of the output and limits of the information are deterministic. A channel without a posterior
    mean has the limits alone.
    """
    found = _limits(channel)
    if not hasattr(channel, "gradient"):
        return found
    generator = np.random.default_rng(seed)
    if not channel.closed_form:
        problems = list(problems_of(channel.model, seed=seed))
        found.append(Check("problems of output and likelihood", float(len(problems)), note="; ".join(problems)))
        if problems:
            return found
    for q, V in PLACES:
        found += refined(lambda count, q=q, V=V: _at(channel, q, V, count, generator), outputs)
    distance = refined(lambda count: [_distance(channel, count, generator)], outputs)
    return [*found, *_invariances(channel, generator), *distance]


def _limits(channel):
    """The information of K equations is K / V; that of ties has a limit."""
    V, Q = 0.3, 1.5
    if channel.equations is not None:
        return [same_check("information minus K / V", channel.information(V, Q), channel.equations / V, 1e-9)]
    if channel.ties is None:
        return []
    small = float(channel.information(TINY * Q, Q)) * math.sqrt(TINY) * Q
    allowed = channel.ties * (LIMIT + float(channel.uncertainty(TINY * Q, Q)))
    return [Check("information sqrt(V Q) at small V", small, channel.ties, limit=allowed)]


def _scores(channel, variance, count, generator):
    return channel.law.scores(generator.standard_normal((count, channel.tokens, channel.tokens)), variance)


def _deviations(channel, observed, omega, V):
    """Two estimates of m, (n, M, M), the same where the posterior is exact, and the share of outputs without one."""
    if channel.closed_form:
        mean = 2.0 * math.sqrt(V) * channel.gradient(observed, omega, V).G
        return mean, mean, float(np.mean(~np.isfinite(mean).all(axis=(1, 2))))
    first, second, effective = channel.deviations(observed, omega, V)
    return first, second, float(np.mean(effective < FEWEST))


def _at(channel, q, V, count, generator):
    """The checks at omega of variance q and scores of variance V about it."""
    where, bias = f"q = {q:g}, V = {V:g}", 0.0 if channel.closed_form else BIAS
    omega = _scores(channel, q, count, generator)
    Z = _scores(channel, 1.0, count, generator)
    observed = channel.observe(omega + math.sqrt(V) * Z, generator)
    first, second, unresolved = _deviations(channel, observed, omega, V)
    mean = 0.5 * (first + second)
    found = [Check(f"share of unresolved posteriors, {where}", unresolved, limit=UNRESOLVED)]
    given = channel.gradient(observed, omega, V)
    wrong = [part for part in (given.G, mean) if part.shape != omega.shape]
    found.append(Check(f"wrong shapes of the posterior, {where}", float(len(wrong))))
    if wrong:
        return found
    if channel.law.symmetric:
        found.append(same_check(f"gradient minus its transpose, {where}", given.G, given.G.swapaxes(1, 2), SYMMETRIC))
    power = np.sum(first * second, axis=(1, 2)) / V
    # A power of less variance, such as the mean over the outputs at omega, differs from this one by less than its error.
    found.append(mean_check(f"4 sum G^2, {where}", power, 4.0 * given.power, unit=4.0 * given.power))
    products = Z * mean - first * second
    found.append(
        mean_check(
            f"Nishimori identity with posterior mean, {where}",
            products,
            allowance=bias * np.mean(mean**2, axis=0).max(),
        )
    )
    weights = {"one": np.ones_like(Z), "omega": omega, "omega |omega|": omega * np.abs(omega)}
    for name, f in weights.items():
        if name == "one" or q > 0:
            allowed = bias * np.abs(np.mean(mean * f, axis=0)).max()
            found.append(mean_check(f"Nishimori identity with {name}, {where}", (Z - mean) * f, 0.0, allowed, 1.0 + q))
    expected, uncertainty = float(channel.information(V, q + V)), float(channel.uncertainty(V, q + V))
    if math.isfinite(uncertainty):
        found.append(mean_check(f"information, {where}", power, expected, (uncertainty + bias) * expected, expected))
    estimate = channel.variance(observed, omega)
    if estimate is not None:
        error = math.sqrt(4.0 / (count * channel.equations))
        found.append(Check(f"variance from the outputs over V, {where}", estimate / V, 1.0, error, DEVIATIONS * error))
    return found


def _invariances(channel, generator):
    """The output of c h, and that of h_ab + c, where the channel says that they are those of h."""
    omega = _scores(channel, 1.0, 64, generator)
    h = omega + _scores(channel, 0.5, 64, generator)
    G = channel.gradient(channel.observe(h, generator), omega, 0.5).G
    unit, found = float(np.abs(G).max()), []
    if channel.scale_free:
        scaled = channel.gradient(channel.observe(3.0 * h, generator), 3.0 * omega, 4.5).G
        found.append(same_check("gradient, change with the scale of the scores", 3.0 * scaled, G, SYMMETRIC, unit))
    if channel.shift_free:
        shifted = channel.gradient(channel.observe(h + 0.7, generator), omega, 0.5).G
        found.append(same_check("gradient, change with a constant in the scores", shifted, G, SYMMETRIC, unit))
        found.append(same_check("sum of the gradient", G.sum(axis=(1, 2)), 0.0, SYMMETRIC, unit))
    return found


def _distance(channel, count, generator):
    """E ||f(h) - f(h')||^2 of scores h and h' of variance 1.5 that share two thirds of it."""
    s, t = (_scores(channel, 1.0, count, generator) for _ in range(2))
    pair = np.array([[1.0, math.sqrt(0.5)], [1.0, -math.sqrt(0.5)]])
    first, second = (channel.output(row[0] * s + row[1] * t) for row in pair)
    samples = np.sum(np.reshape(first - second, (count, -1)) ** 2, axis=1)
    nodes = row_nodes(channel.tokens, generator.spawn(SCRAMBLINGS), channel.law)
    expected, error = channel.distance(pair, nodes)
    return mean_check("distance of two outputs", samples, expected, DEVIATIONS * error, expected)


def check_channel_command(
    channel: str, tokens: int, output_noise: float, parameters: dict, outputs: int, seed: int
) -> None:
    """Print how a channel describes its output and its checks on `outputs` outputs. Raises SpecError with all checks that fail.

    `channel` is FILE.py:NAME or the name of a provided one, `tokens` is M, `output_noise` its variance, `parameters`
    keyword arguments of the channel, `seed` the seed of the scores.
    """
    given = {"channel": channel, "tokens": tokens, "output_noise": output_noise, "parameters": parameters}
    problems = channel_problems(given, Path())
    if problems:
        raise SpecError([f"{channel}: {problem}" for problem in problems])
    try:
        made = load_channel(given, Path())
    except ValueError as error:
        raise SpecError([str(error)]) from None
    form = "a closed form" if made.closed_form else described_by(made.model)
    print(f"{channel}: M = {tokens}, described by {form}")
    if (reason := in_numpy(made)) is not None:
        print(
            f"posterior by sampling: {f'in NumPy, since {reason}' if reason else 'compiled from its NumPy functions'}"
        )
    require_passed(channel, check_channel(made, outputs, seed))
