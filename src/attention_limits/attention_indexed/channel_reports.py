"""The command check-channel: tests of one channel, without an experiment file."""

from pathlib import Path

from attention_limits.attention_indexed.channel_files import channel_problems
from attention_limits.attention_indexed.channel_tests import channel_tests
from attention_limits.attention_indexed.loading import load_channel
from attention_limits.attention_indexed.output_channel import described_by
from attention_limits.pipeline.errors import SpecError


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
