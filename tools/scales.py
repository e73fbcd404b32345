"""The page docs/scales.md: the numbers of the audit at scale `laptop` and at scale `paper`, and a test of their errors."""

import functools
import math

import numpy as np
from scipy import stats

from attention_limits.pipeline.audit import number_text
from attention_limits.pipeline.experiments.experiment import at_scales

HEAD = """\
# Laptop against paper

This page lists the published numbers that both scales have computed. The last column is our number at `paper` minus our number
at `laptop`, divided by the standard error of this difference. If `paper` only adds replicas (from n to N), its number contains
the replicas of `laptop`. The squared error of the difference is then (N/n - 1) times the squared error at `paper`. Otherwise it
is the sum of both squared errors. If the stated errors are right, these values are standard normal. Numbers without a random
error, and numbers of the same points at both scales, have no such value. Numbers of one cube share data sets or random nodes, so
their differences are correlated: the errors of the mean and of the standard deviation, and the probability, do not contain this.
"""


_versions = functools.cache(at_scales)


def growth(entry, project):
    """Replicas at `paper` divided by those at `laptop` if `paper` only adds replicas to what a published number reads, else None.

    `entry` is a `Published`, `project` the project at any scale. Where a reading names estimators of its cubes, only these count.
    """
    named = set(map(str, entry.arguments.values()))
    found = set()
    for cube in entry.cubes:
        versions = _versions(project.experiments[entry.family][cube].path)
        few, many = (versions[scale].estimators for scale in ("laptop", "paper"))
        for name in (named & few.keys()) or few:
            a, b = few[name], many[name]
            digests = {
                estimator.attributes(estimator.chunks[0], project.run.seed)["point_digest"] for estimator in (a, b)
            }
            # Other values of the grid would change a reading that interpolates.
            found.add(b.replicas / a.replicas if len(digests) == 1 and a.grid == b.grid else None)
    return found.pop() if len(found) == 1 else None


def distance(few, many, factor):
    """The difference of two rows of the audit in standard errors; None without a random error or for the same points.

    `factor` is `growth` of the number.
    """
    error = math.hypot(few["error"], many["error"]) if factor is None else many["error"] * math.sqrt(factor - 1)
    return (many["ours"] - few["ours"]) / error if error > 0 else None


def summary(values):
    """One sentence about the distribution of the differences."""
    if len(values) < 2:
        return f"{len(values)} differences with an error."
    size, probability = len(values), stats.kstest(values, "norm").pvalue
    mean, spread = f"{np.mean(values):+.2f} ± {size**-0.5:.2f}", f"{np.std(values):.2f} ± {(2 * size) ** -0.5:.2f}"
    return (
        f"{size} differences with an error: mean {mean}, standard deviation {spread}, largest {max(map(abs, values)):.1f}. "
        f"A Kolmogorov–Smirnov test against the standard normal distribution has p = {probability:.2g}."
    )


def page(laptop, paper):
    """The text of the page from the rows of the audit at both scales; those of `paper` carry `growth`."""
    few = {row["quantity"]: row for row in laptop if row["ours"] is not None}
    lines, values = [], []
    for row in paper:
        other = few.get(row["quantity"])
        if other is None or row["ours"] is None:
            continue
        found = distance(other, row, row["growth"])
        values += [] if found is None else [found]
        numbers = (number_text(item["ours"], item["error"]) for item in (other, row))
        lines.append(f"| {row['quantity']} | {' | '.join(numbers)} | {'' if found is None else f'{found:+z.1f}'} |")
    table = ["| Quantity | laptop | paper | Difference |", "|---|---|---|---|", *lines]
    return "\n".join([HEAD, summary(values), "", *table]) + "\n"
