"""Statistical tests that a channel has the posterior that it claims; the identity is that of Nishimori 1980."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from attention_limits.attention_indexed.channels.files import channel_problems, symmetric
from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.channels.output import described_by
from attention_limits.attention_indexed.channels.sampled import FEWEST, SampledChannel
from attention_limits.pipeline.base.errors import SpecError

# A correct channel fails one statistical test with this probability, over the seeds.
FALSE_ALARM = 1e-4
# Relative bias that the finite number of nodes may have.
BIAS = 0.03
# q and V of the tests.
PLACES = ((0.0, 1.5), (1.0, 0.5), (1.4, 0.1))


@dataclass(frozen=True)
class ChannelTest:
    """One statistical test: the tested identity `name`, whether it `passed`, and a `report` of its numbers."""

    name: str
    passed: bool
    report: str


def channel_tests(channel: SampledChannel, count: int, seed: int) -> list[ChannelTest]:
    """Statistical tests on `count` outputs at each of `PLACES`, with this `seed`.

    With Z = (h - omega) / sqrt(V), m its posterior mean and any function f of y and omega, E [(Z - m) f] = 0 (Nishimori). The
    tests take f = m, f = 1 and f = omega, summed over the entries. A wrong likelihood, or a `draw` of another law, breaks at
    least one of them unless its factor depends on y alone. Each is a two-sided test at FALSE_ALARM, with BIAS of m allowed.
    """
    generator, found, T = np.random.default_rng(seed), [], channel.tokens
    limit = -ndtri(0.5 * FALSE_ALARM)
    for q, V in PLACES:
        omega = math.sqrt(q) * symmetric(generator, (count, T, T))
        Z = symmetric(generator, (count, T, T))
        observed = channel.observe(omega + math.sqrt(V) * Z, generator)
        first, second, effective = channel.deviations(observed, omega, V)
        mean = 0.5 * (first + second)
        where = f"q = {q:g}, V = {V:g}"
        share = float(np.mean(effective >= FEWEST))
        found.append(ChannelTest(f"resolved posteriors, {where}", share >= 0.99, f"{share:.1%} of {count} outputs"))
        weights = {"posterior mean": None, "one": np.ones_like(Z), "omega": omega}
        for name, f in weights.items():
            if f is None:
                values = np.sum(Z * mean - first * second, axis=(1, 2))
                scale = float(np.mean(np.sum(mean**2, axis=(1, 2))))
            elif name == "omega" and q == 0:
                continue
            else:
                values = np.sum((Z - mean) * f, axis=(1, 2))
                scale = float(np.mean(np.abs(np.sum(mean * f, axis=(1, 2)))))
            total, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(count))
            passed = abs(total) <= limit * error + BIAS * scale
            report = f"{total:.2e} ± {error:.1e}"
            found.append(ChannelTest(f"Nishimori identity with {name}, {where}", bool(passed), report))
    return found


def check_channel_command(
    channel: str, tokens: int, output_noise: float, parameters: dict, outputs: int, seed: int
) -> None:
    """Print how a channel describes its output and the tests on `outputs` outputs. Raises SpecError with all tests that fail.

    `channel` is FILE.py:NAME or the name of a provided one, `tokens` is T, `output_noise` its variance, `parameters`
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
    if made.closed_form:
        print(f"{channel}: the posterior is known in closed form; the tests of the package check it")
        return
    print(f"{channel}: T = {tokens}, described by {described_by(made.model)}")
    tests = channel_tests(made, outputs, seed)
    for test in tests:
        print(f"{test.name}: {test.report}")
    failed = [f"{channel}: {test.name} violated: {test.report}" for test in tests if not test.passed]
    if failed:
        raise SpecError(failed)
