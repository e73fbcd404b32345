"""The thresholds of one link, with errors over independent scramblings of the nodes: weak recovery, and exact recovery.

Source: Troiani et al. 2025, arXiv:2502.00901.
"""

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from attention_limits.numerics.probability.statistics import mean_of_brackets, mean_with_floor
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.registry import RESOLVED
from attention_limits.pipeline.base.streams import Streams
from attention_limits.sequence_multi_index.channels.averages import output_nodes
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.priors.loading import load_prior
from attention_limits.sequence_multi_index.reports.check_link import sound_link
from attention_limits.sequence_multi_index.schema.checks import spikes_problem
from attention_limits.sequence_multi_index.schema.thresholds import RecoverySolver, Thresholds
from attention_limits.sequence_multi_index.state_evolution.exact_recovery import exact_recovery, optimal_recovery
from attention_limits.sequence_multi_index.weak_recovery.generative_exponent import generative_exponent
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

# Coarser than that of the experiments, because a report uses fewer nodes.
TOLERANCE = 1e-3
# Exact recovery is computed up to this number of fields per output, and for exact channels: other links need minutes.
MOST_FIELDS = 4
RECOVERY_WIDTH, RECOVERY_ITERATIONS = 0.01, 500
# Below this the growth of a small overlap is zero up to rounding: the output has no information of second order.
ZERO = 1e-12
# Rounding error of F.
ROUNDING = 1e-16
# Name of the row, search, and words where it finds a bracket and where it finds none.
_RECOVERIES = (
    (
        "exact recovery, optimal", optimal_recovery, "exact recovery is Bayes-optimal",
        "exact recovery is not Bayes-optimal",
    ),
    ("exact recovery, AMP", exact_recovery, "AMP recovers exactly", "AMP does not recover exactly"),
)  # fmt: skip


def thresholds(asked: Thresholds, project: Path, report: bool) -> tuple[list[dict], dict]:
    """The staircase of weak recovery (`staircase`, Troiani et al. 2025, arXiv:2502.00901), and exact recovery.

    One row per step. Then two rows, of the alpha above which exact recovery is Bayes-optimal, and of the one above which message
    passing recovers (`exact_recovery`); between them recovery is hard. One row says why they are not computed, where this is so.
    Weak recovery is that of message passing: a jump of the optimal overlap below it is not computed (`phase_comparison`).

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
        is learned, and where it is not computed; infinite where no alpha recovers exactly. `text`: all this in words. Of weak
        recovery alone: `bound`: nothing is learned below this alpha; `learnt`: the rows of W, or combinations; `before`: overlap
        of each row at this threshold; `resolved`: smallest fraction of outputs whose channel met its check. `found`, `converged`:
        number of replicas.
    notes : dict
        `method`, and `warning` where the channel met its check on few outputs.

    Raises
    ------
    SpecError
        If the link does not exist, refuses its parameters, fails its quick check, has no posterior, or has spikes that the prior
        does not allow. The ValueError of the prior and of the channel is raised as this error.
    """
    replicas, nodes = asked.replicas, asked.solver.nodes
    link = sound_link(asked.model.plain(), project, asked.seed)
    streams = Streams(asked.seed, "sequence_multi_index", "threshold")
    try:
        prior = load_prior(asked.model.plain(), link.rows, project)
        if problem := spikes_problem(link, prior):
            raise ValueError(problem)
        channels = [Channel(link, asked.solver.resolution, streams.generator("channel", r)) for r in range(replicas)]
    except ValueError as error:
        raise SpecError([str(error)]) from None
    runs, node_sets = [], []
    for r in range(replicas):
        few = output_nodes(link, nodes, streams.generator("nodes", r))
        many = output_nodes(link, 8 * nodes, streams.generator("nodes at zero", r))
        said = _report(r, replicas) if report else lambda number, step: None
        runs.append(staircase(channels[r], few, many, TOLERANCE, report=said, prior=prior))
        node_sets.append(few)
    count = max(len(steps) for steps in runs)
    rows = [_row(k + 1, [steps[k] for steps in runs if k < len(steps)], replicas) for k in range(count)]
    if not rows[0]["found"]:
        rows[0] |= _without_threshold(link, prior, rows[0]["bound"])
    notes = {"method": f"channel by {channels[0].method}; errors over {replicas} scramblings of {nodes} nodes"}
    if (resolved := min(row["resolved"] for row in rows)) < RESOLVED:
        notes["warning"] = f"the channel met its check on only {resolved:.0%} of the outputs; raise resolution"
    return rows + _recovery_rows(channels, node_sets, prior, asked, report), notes


def _recovery_rows(channels, node_sets, prior, asked, report):
    """The rows of exact recovery: optimal, and by message passing; or one that says why there is none."""
    never, not_computed = _no_recovery(channels[0], prior)
    if never or not_computed:
        value, text = (np.inf, never) if never else (np.nan, not_computed)
        return [_recovery_row("exact recovery", value, 0.0 if never else np.nan, f"exact recovery: {text}")]
    given = RecoverySolver(nodes=asked.solver.nodes, max_iterations=RECOVERY_ITERATIONS, width=RECOVERY_WIDTH)
    settings, rows = SimpleNamespace(**vars(given), warm_up=4, side_information=0.0, regularization=0.0), []
    for name, search, words, none in _RECOVERIES:
        found = []
        for replica, (channel, nodes) in enumerate(zip(channels, node_sets, strict=True), 1):
            found.append(search(channel, nodes, settings, prior))
            if report:
                bracket = f"{found[-1].below:.4f} to {found[-1].above:.4f}"
                print(f"replica {replica} of {len(channels)}, {name}: alpha = {bracket}", file=sys.stderr, flush=True)
        brackets = np.transpose([(one.below, one.above, one.node_error) for one in found])
        value, error = map(float, mean_of_brackets(*brackets))
        counts = {"found": int(np.isfinite(brackets[1]).sum()), "converged": sum(one.converged for one in found)}
        text = f"{words} from alpha = {value:.4f} ± {error:.4f} on"
        if not counts["found"]:
            text = f"{none} below alpha = {given.highest:g}"
        elif not brackets[0].any():
            text = f"{words} at the smallest alpha that was tried, {brackets[1].max():g}"
        elif min(counts.values()) < len(found):
            text += f" ({counts['found']} of {len(found)} replicas, {counts['converged']} converged)"
        rows.append(_recovery_row(name, value, error, text) | counts)
    return rows


def _recovery_row(name, value, error, text):
    return {"threshold": name, "value": value, "error": error, "normalisation": "n / D", "text": text}


def _no_recovery(channel, prior):
    """Why no alpha recovers exactly, and why it is not computed; empty texts where it is."""
    link = channel.link
    if link.noise_dimension:
        return "at no alpha, because the output has noise", ""
    if link.output_entropy == 0 and not np.isfinite(prior.entropy):
        return "at no alpha, because the outputs are discrete and the weights are not", ""
    if channel.sampled:
        return (
            "",
            "not computed, because the channel is sampled; see the estimators exact_recovery and phase_comparison",
        )
    if link.rows * link.tokens > MOST_FIELDS:
        return (
            "",
            f"not computed for more than {MOST_FIELDS} fields; see the estimators exact_recovery and phase_comparison",
        )
    return "", ""


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
    if not found and row["bound"] > 1.0 / ZERO:
        known = "with the learned rows recovered, " if number > 1 else ""
        return row | {"text": f"{number}. none: {known}{_vanishing(1.0 / row['bound'])}"}
    if not found and np.isfinite(row["bound"]) and number > 1:
        text = (
            f"no further row is learned below alpha = {row['bound']:.4g}; the rows learned before are recovered there"
        )
        return row | {"text": f"{number}. {text}"}
    if not found and np.isfinite(row["bound"]):
        return row | {"text": f"{number}. no weak recovery below alpha = {row['bound']:.4g}"}
    if not found:
        return row | {"text": f"{number}. not computed: the branch of the learned rows ends without a threshold"}
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


def _vanishing(zero):
    """F = 0 in words, up to the number `zero`."""
    return f"one iteration multiplies a small overlap by alpha F, and F = 0 to {max(zero, ROUNDING):.0e}"


def _without_threshold(link, prior, bound):
    """Bound and text of a first threshold that no replica finds: whether F is zero, and the generative exponent.

    A sampled channel shows F = 0 up to its scatter alone; few outputs have a more exact F, see `generative_exponent`.
    """
    found = generative_exponent(link, prior)
    if found is None or found.order in (1, 2):
        return {}
    # Every eigenvalue of F is below E sum_pq T_pq^2, twice the information of order two.
    bound = max(bound, 1.0 / max(2.0 * found.zero, ROUNDING))
    order = (
        f"; the next order with information is {found.order} (generative exponent), which no alpha of order one uses"
    )
    if not found.order:
        order = f"; no order up to {found.highest} has information"
    return {"bound": bound, "text": f"1. none: {_vanishing(1.0 / bound)}{order}"}


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
