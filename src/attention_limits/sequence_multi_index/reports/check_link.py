"""The command check-link: tests of one link, without an experiment file."""

from pathlib import Path

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import GRADIENT, Link, inference, require
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.reports.density_tests import density_tests


def check_link_command(link: str, parameters: dict, outputs: int, resolution: float, seed: int) -> None:
    """Print the sizes of a link and the tests on `outputs` outputs. Raises SpecError with all tests that fail.

    `link` is the name of a provided link or FILE.py:NAME, `parameters` its keyword arguments, `resolution` the accuracy of the
    channel, `seed` the seed of the fields.
    """
    model = sound_link({"link": link, **parameters}, Path(), seed)
    print(f"{link}: {model.rows} rows, {model.tokens} tokens, sign symmetry {model.sign_symmetry}")
    print(f"gradient descent: {_descent_report(model)}")
    try:
        form = inference(model)
    except ValueError as error:
        print(f"good for simulations only: {error}")
        return
    print(f"output, symmetry and {form} agree with each other")
    tests = density_tests(model, outputs, resolution, seed)
    for test in tests:
        print(f"{test.name}: {test.report}")
    failed = [f"{link}: {test.name} violated: {test.report}" for test in tests if not test.passed]
    if failed:
        raise SpecError(failed)


def _descent_report(link: Link) -> str:
    # A late import: JAX takes a second.
    from attention_limits.sequence_multi_index.links.jax_forward import problem_of

    try:
        require(link, {GRADIENT})
    except ValueError as error:
        return str(error)
    return problem_of(link) or "JAX differentiates the output"


def sound_link(model: dict, project: Path, seed: int) -> Link:
    """The link of the keys `model`, with files below `project`, if it passes its quick check on fields with this `seed`.

    Raises SpecError with all problems otherwise.
    """
    try:
        link = load_link(model, project)
    except ValueError as error:
        raise SpecError([str(error)]) from None
    found = problems_of(link, seed=seed)
    if found:
        raise SpecError([f"{model['link']}: {problem}" for problem in found])
    return link
