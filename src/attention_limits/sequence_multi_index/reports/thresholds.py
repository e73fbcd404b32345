"""The thresholds of weak recovery of one link, with errors over independent scramblings of the nodes.

Source: Troiani et al. 2025, arXiv:2502.00901.
"""

import sys
import time
from pathlib import Path

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.probability.statistics import mean_with_floor
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.registry import RESOLVED
from attention_limits.pipeline.base.streams import Streams
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.loading import load_prior
from attention_limits.sequence_multi_index.reports.check_link import sound_link
from attention_limits.sequence_multi_index.schema.thresholds import Thresholds
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

# Coarser than that of the experiments, because a report uses fewer nodes.
TOLERANCE = 1e-3


def thresholds(asked: Thresholds, project: Path, report: bool) -> tuple[list[dict], dict]:
    """The staircase of weak recovery (`staircase`, Troiani et al. 2025, arXiv:2502.00901), one row per step.

    Parameters
    ----------
    asked : Thresholds
    project : Path
        Folder that the path of a link starts from.
    report : bool
        Print each step of a replica on stderr when it is found.

    Returns
    -------
    rows : list of dict
        `threshold`: its name. `value` and `error`: alpha = n / D, mean over replicas and standard error; NaN where nothing more
        is learned. `bound`: nothing is learned below this alpha. `learnt`: the rows of W, or combinations. `before`: overlap of
        each row at this threshold. `found`, `converged`: number of replicas. `resolved`: smallest fraction of outputs whose
        channel met its check. `text`: all this in words.
    notes : dict
        `method`, and `warning` where the channel met its check on few outputs.

    Raises
    ------
    SpecError
        If the link does not exist, refuses its parameters, fails its quick check, or has no posterior.
    """
    replicas, nodes = asked.replicas, asked.solver.nodes
    link = sound_link(asked.model.plain(), project, asked.seed)
    streams = Streams(asked.seed, "sequence_multi_index", "threshold")
    try:
        prior = load_prior(asked.model.plain().get("prior"), link.rows)
        channels = [Channel(link, asked.solver.resolution, streams.generator("channel", r)) for r in range(replicas)]
    except ValueError as error:
        raise SpecError([str(error)]) from None
    dimension, runs = node_dimension(link), []
    for r in range(replicas):
        few = gaussian_nodes(dimension, nodes, streams.generator("nodes", r))
        many = gaussian_nodes(dimension, 8 * nodes, streams.generator("nodes at zero", r))
        said = _report(r, replicas) if report else lambda number, step: None
        runs.append(staircase(channels[r], few, many, TOLERANCE, report=said, prior=prior))
    count = max(len(steps) for steps in runs)
    rows = [_row(k + 1, [steps[k] for steps in runs if k < len(steps)], replicas) for k in range(count)]
    notes = {"method": f"channel by {channels[0].method}; errors over {replicas} scramblings of {nodes} nodes"}
    if (resolved := min(row["resolved"] for row in rows)) < RESOLVED:
        notes["warning"] = f"the channel met its check on only {resolved:.0%} of the outputs; raise resolution"
    return rows, notes


def _report(replica, replicas):
    """Prints each step of a replica on stderr when it is found."""
    start = time.monotonic()

    def report(number, step):
        what = f"alpha = {step.alpha:.4f}" if np.isfinite(step.alpha) else "no further threshold"
        text = f"replica {replica + 1} of {replicas}, step {number}: {what} ({time.monotonic() - start:.0f} s)"
        print(text, file=sys.stderr, flush=True)

    return report


def _row(number, steps, replicas):
    """One threshold: value with error, rows that become learnable, overlaps of the rows learned before."""
    # The error that the nodes of each replica show is a floor.
    alpha, error = mean_with_floor([step.alpha for step in steps], [step.error for step in steps])
    found = [step for step in steps if np.isfinite(step.alpha)]
    row = {
        "threshold": f"weak recovery {number}", "value": float(alpha), "error": np.nan, "normalisation": "n / D",
        # Replicas are independent, so the mean of their bounds is as safe as each bound.
        "bound": float(np.mean([step.bound for step in steps])), "learnt": "", "before": [], "found": len(found),
        "converged": sum(step.converged for step in found), "resolved": min(step.resolved for step in steps),
    }  # fmt: skip
    if not found and np.isfinite(steps[0].bound):
        return row | {"text": f"{number}. no weak recovery below alpha = {row['bound']:.4g}"}
    if not found:
        return row | {
            "text": f"{number}. no further row is learned before the learned rows are recovered, to 1 - Q = 2e-5"
        }
    # All replicas share the error of few nodes.
    row["error"] = float(np.hypot(error, np.nan_to_num(np.mean([step.shift for step in found]))))
    row["learnt"] = _rows(np.mean([step.direction for step in found], axis=0))
    row["before"] = np.mean([np.diag(step.overlap) for step in found], axis=0).tolist()
    text = f"{number}. alpha = {alpha:.4f}" + (f" ± {row['error']:.4f}" if np.isfinite(row["error"]) else "")
    text += f", learned: {row['learnt']}"
    if any(q > 0 for q in row["before"]):
        text += "; before: " + ", ".join(f"Q_{p}{p} = {q:.3f}" for p, q in enumerate(row["before"], 1) if q > 0)
    if row["found"] < replicas or row["converged"] < row["found"]:
        text += f" ({row['found']} of {replicas} replicas, {row['converged']} converged)"
    return row | {"text": text}


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
