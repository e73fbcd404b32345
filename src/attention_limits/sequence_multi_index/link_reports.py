"""Reports on one link, without an experiment file: the commands threshold and check-link.

`link` is the name of a provided link or FILE.py:NAME, `parameters` its keyword arguments, `resolution` the accuracy of the
channel, `seed` the root seed.
"""

import sys
import time
from pathlib import Path

import numpy as np

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.streams import Streams
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.links.checking import problems_of
from attention_limits.sequence_multi_index.links.density import check_link
from attention_limits.sequence_multi_index.links.link import inference
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.staircase import staircase
from attention_limits.sequence_multi_index.state_evolution import node_dimension

# Outputs with a resolved channel below this fraction are worth a warning.
MOSTLY = 0.95


def threshold_command(link: str, parameters: dict, replicas: int, nodes: int, resolution: float, seed: int) -> None:
    """Print the staircase of weak recovery of a link, with errors over `replicas` scramblings of `nodes` nodes.

    Raises SpecError for a link that its quick check refuses, and for a number of nodes that is no power of two.
    """
    if nodes & (nodes - 1):
        raise SpecError([f"--nodes must be a power of two, got {nodes}"])
    model = _sound(link, parameters, seed)
    try:
        streams = Streams(seed, "sequence_multi_index", "threshold")
        channels = [Channel(model, resolution, streams.generator("channel", r)) for r in range(replicas)]
    except ValueError as error:
        raise SpecError([str(error)]) from None
    written = ", ".join(f"{key} {value}" for key, value in parameters.items())
    print(f"{link}{': ' if written else ''}{written}")
    print(f"channel by {channels[0].method}; errors over {replicas} scramblings of {nodes} nodes", flush=True)
    dimension = node_dimension(model)
    runs = []
    for r in range(replicas):
        start = time.monotonic()
        few = gaussian_nodes(dimension, nodes, streams.generator("nodes", r))
        many = gaussian_nodes(dimension, 8 * nodes, streams.generator("nodes at zero", r))
        steps = staircase(channels[r], few, many, report=_report(r, replicas, start))
        runs.append(steps)
    for k in range(max(len(steps) for steps in runs)):
        present = [steps[k] for steps in runs if k < len(steps)]
        print(_line(k + 1, present, replicas))
    resolved = min(step.resolved for steps in runs for step in steps)
    if resolved < MOSTLY:
        print(f"warning: the channel met its check on only {resolved:.0%} of the outputs; raise --resolution")


def check_link_command(link: str, parameters: dict, outputs: int, resolution: float, seed: int) -> None:
    """Print the sizes of a link and its checks on `outputs` outputs. Raises SpecError with all checks that fail."""
    model = _sound(link, parameters, seed)
    print(f"{link}: {model.rows} rows, {model.tokens} tokens, sign symmetry {model.sign_symmetry}")
    try:
        form = inference(model)
    except ValueError as error:
        print(f"good for simulations only: {error}")
        return
    print(f"output, symmetry and {form} agree with each other")
    checks = check_link(model, outputs, resolution, seed)
    for check in checks:
        print(f"{check.name}: {check.report}")
    failed = [f"{link}: {check.name} violated: {check.report}" for check in checks if not check.passed]
    if failed:
        raise SpecError(failed)


def _sound(link, parameters, seed):
    """The link, if it passes the quick check; SpecError with all problems otherwise."""
    try:
        model = load_link({"link": link, **parameters}, Path())
    except ValueError as error:
        raise SpecError([str(error)]) from None
    found = problems_of(model, seed=seed)
    if found:
        raise SpecError([f"{link}: {problem}" for problem in found])
    return model


def _report(replica, replicas, start):
    """Prints each step of a replica on stderr when it is found."""

    def report(number, step):
        what = f"alpha = {step.alpha:.4f}" if np.isfinite(step.alpha) else "no further threshold"
        text = f"replica {replica + 1} of {replicas}, step {number}: {what} ({time.monotonic() - start:.0f} s)"
        print(text, file=sys.stderr, flush=True)

    return report


def _line(number, steps, replicas):
    """One threshold as text: value with error, rows that become learnable, overlaps of the rows learnt before."""
    alpha, spread = mean_and_error([step.alpha for step in steps])
    if not np.isfinite(alpha) and np.isfinite(steps[0].bound):
        # Independent replicas: their mean bound is as safe as each.
        return f"{number}. no weak recovery below alpha = {np.mean([step.bound for step in steps]):.4g}"
    if not np.isfinite(alpha):
        return f"{number}. no further row is learnt before the learnt rows are recovered exactly"
    found = [step for step in steps if np.isfinite(step.alpha)]
    # Few replicas may agree by chance. The error estimated from the nodes of each replica, known for the first step, is a floor.
    own = np.sqrt(np.sum([step.error**2 for step in found])) / len(found)
    error = np.fmax(spread, own)
    text = f"{number}. alpha = {alpha:.4f}" + (f" ± {error:.4f}" if np.isfinite(error) else "")
    text += f", learnt: {_rows(np.mean([step.direction for step in found], axis=0))}"
    before = np.mean([np.diag(step.overlap) for step in found], axis=0)
    if np.any(before > 0):
        text += "; before: " + ", ".join(f"Q_{p}{p} = {q:.3f}" for p, q in enumerate(before, 1) if q > 0)
    if len(found) < replicas or not all(step.converged for step in found):
        text += f" ({len(found)} of {replicas} replicas, {sum(step.converged for step in found)} converged)"
    return text


def _rows(direction):
    """The subspace of an eigenmatrix in words: rows of W, or combinations of them."""
    values, vectors = np.linalg.eigh(direction)
    columns = vectors[:, values > 0.05 * values[-1]]
    projector = columns @ columns.T
    if np.allclose(projector, np.diag(np.round(np.diag(projector))), atol=0.1):
        rows = [f"row {p}" for p in range(1, len(direction) + 1) if projector[p - 1, p - 1] > 0.5]
        return " and ".join(rows)
    combinations = []
    for vector in columns.T:
        signed = vector * np.sign(vector[np.argmax(np.abs(vector))])
        parts = [f"{'-' if weight < 0 else '+'} {abs(weight):.2f} row {p}" for p, weight in enumerate(signed, 1)]
        combinations.append(" ".join(parts).removeprefix("+ "))
    return " and ".join(combinations)
