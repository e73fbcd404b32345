"""The tables of docs/speed.md that compare the time of a run with the limits of the machine.

A job needs at least its start, and the rest of its CPU time times the share of the limit that its kernel reaches (the last table
of docs/benchmarks.md). Jobs without such a kernel, and compilation, keep their times.
"""

import math
import re
from dataclasses import dataclass
from fnmatch import fnmatch

# Beginnings of the names of kernels in the table of limits.
TRAPEZOID, SAMPLING, ANY_LINK = (
    "trapezoid channel",
    "importance sampling of 3 layers",
    "importance sampling of any link",
)
PROXIMAL, AMP, FACTORED = "proximal operator", "AMP iteration", "gradient of factored"
SGD = "SGD step of attention"
# By rule: the kernel of each experiment, by the first pattern that fits its name. Experiments without a pattern use a kernel that
# no benchmark measures: quadrature over an angle, closed forms, proximal operators with jets, sampled layers of extensive width.
KERNELS = {
    "aim_matrix_amp": {"*": AMP},
    "aim_matrix_amp_sizes": {"*": AMP},
    "aim_gradient_descent": {"*": "gradient descent step"},
    "aim_two_layers_state_evolution": {"two_layers": "two layers of extensive", "two_layers_skip": "two layers of extensive"},
    "aim_two_layers_amp": {"*": "two layers of extensive"},
    "potts_transformer": {"*": "training step"},
    "potts_factored_attention": {"*": FACTORED},
    "potts_factored_training": {"*": FACTORED},
    "potts_mixed_attention": {"*": FACTORED},
    "potts_samples": {"*": "Gibbs update"},
    "smi_batch_reuse_sgd": {"*": "step of gradient descent with batch reuse"},
    "smi_erm_minimisation": {"*": "loss and gradient of empirical risk"},
    "smi_erm_optimal_ridge": {"erm_one_layer_bounds": PROXIMAL},
    "smi_erm_state_evolution": {"erm_classic_*": None, "erm_two_layers": None, "*": PROXIMAL},
    "smi_erm_transition": {"*": PROXIMAL},
    "smi_exact_recovery": {"atlas_depth": SAMPLING},
    "smi_gamp": {"fig3_*": SAMPLING, "rank_two": None, "phase_retrieval_*": None, "phases_*": None, "*": TRAPEZOID},
    "smi_gaussian_sequences": {"*": "Gaussian sequences"},
    "smi_held_gamp": {"*": TRAPEZOID},
    "smi_held_overlap": {"*": TRAPEZOID},
    "smi_phase_comparison": {"phases_attention": TRAPEZOID, "phases_product": ANY_LINK, "phases_sum_of_squares": ANY_LINK},
    "smi_shallow_growth": {"layer_order_rescaled": ANY_LINK, "*": SAMPLING},
    "smi_staircase": {"fig3_*": SAMPLING, "noisy_attention": ANY_LINK, "*": TRAPEZOID},
    "smi_state_evolution": {
        "fig1_*": TRAPEZOID, "fig3_*": SAMPLING, "noisy_attention": ANY_LINK, "priors_perceptron": None, "priors_*": TRAPEZOID,
        "erm_two_layers_bounds": TRAPEZOID,
    },
    "smi_state_evolution_informed": {"*": TRAPEZOID},
    "smi_state_evolution_trajectory": {"*": TRAPEZOID},
    "smi_threshold_atlas": {"atlas_beta": SAMPLING, "atlas_skip": SAMPLING, "atlas_de*": SAMPLING, "*": ANY_LINK},
    "ssi_attention_sgd": {"*": SGD},
    "ssi_hermite_sgd": {"*": "SGD step of He"},
    "ssi_link_sgd": {"*": "SGD step of any student"},
    "ssi_tied_sgd": {"*": SGD},
    "ssi_untied_sgd": {"*": SGD},
}  # fmt: skip
# Minutes of the goals, and seconds until the first figure.
GOALS = {"papers": 15.0, "all": 32.0}
FIRST_FIGURE = 30.0
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Job:
    """All jobs of a rule for one experiment or figure: their number, CPU seconds, and those at the limit of their kernel.

    `kernel` is the beginning of its name, or None; `papers`: whether a figure of the papers needs the jobs.
    """

    rule: str
    count: int
    seconds: float
    kernel: str | None
    limit: float
    papers: bool


def kernel_of(rule, experiment):
    """The beginning of the name of the kernel, or None."""
    patterns = KERNELS.get(rule, {})
    return next((kernel for pattern, kernel in patterns.items() if fnmatch(experiment, pattern)), None)


def all_kernels():
    """The kernels of KERNELS, sorted."""
    return sorted({kernel for patterns in KERNELS.values() for kernel in patterns.values() if kernel})


def shares(benchmarks):
    """The share of the limit of one core that each kernel reaches, by the beginning of its name; at most 1.

    Kernels without a row in the table of docs/benchmarks.md are left out.
    """
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in benchmarks.splitlines()]
    known = {row[0]: float(row[8].removesuffix("%")) / 100 for row in rows if len(row) == 10 and row[8].endswith("%")}
    found = {kernel: [share for name, share in known.items() if name.startswith(kernel)] for kernel in all_kernels()}
    return {kernel: min(1.0, *rows) for kernel, rows in found.items() if rows}


def start_of_a_job(benchmarks):
    """CPU seconds until a job computes. Raises ValueError if docs/benchmarks.md lacks them."""
    found = re.search(r"^- start of a job: ([\d.]+) s", benchmarks, re.MULTILINE)
    if found is None:
        raise ValueError("docs/benchmarks.md: no line '- start of a job': run `make bench`")
    return float(found[1])


def jobs_of(families, benchmarks):
    """A list of `Job`.

    `families` holds by family, rule, and experiment or figure: the number of jobs, their CPU seconds, and whether the figures of
    the papers need them.
    """
    share, start, found = shares(benchmarks), start_of_a_job(benchmarks), []
    for rules in families.values():
        for rule, experiments in rules.items():
            for name, (count, seconds, papers) in experiments.items():
                kernel = kernel_of(rule, name)
                kernel = kernel if kernel in share else None
                starts = min(seconds, count * start)
                limit = starts + (seconds - starts) * share.get(kernel, 1.0)
                found.append(Job(rule, count, seconds, kernel, limit, papers))
    return found


def rules_table(jobs):
    """Jobs and CPU seconds of each rule, as measured and with kernels at their limits: all figures, and those of the papers.

    Rules below one percent of the sum share the last row but one.
    """
    found = {}
    for job in jobs:
        row = found.setdefault(job.rule, [0.0] * 5)
        new = (job.count, job.seconds, job.limit, job.papers * job.seconds, job.papers * job.limit)
        found[job.rule] = [a + b for a, b in zip(row, new, strict=True)]
    total = [sum(column) for column in zip(*found.values(), strict=True)]
    large = {rule: row for rule, row in found.items() if row[1] >= 0.01 * total[1]}
    rest = [whole - sum(row[column] for row in large.values()) for column, whole in enumerate(total)]
    rows = sorted(((f"`{rule}`", row) for rule, row in large.items()), key=lambda item: -item[1][1])
    lines = [
        "| Rule | Jobs | CPU seconds | at the limit | for the figures of the papers | these at the limit |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in (*rows, (f"{len(found) - len(large)} other rules", rest), ("all", total)):
        lines.append(f"| {name} | {' | '.join(f'{value:.0f}' for value in row)} |")
    return "\n".join(lines) + "\n"


def bounds_table(jobs, runs, start):
    """Both goals: the CPU minutes of their jobs by parts, the bound on two cores, and the measured time.

    `runs` holds by goal the wall and CPU seconds of `make run`, or of both runs together, and of the first the seconds until its
    first figure (tools/goals.py), without "all" if only `make run` was measured; `start` is the time of `start_of_a_job`.
    """
    parts = {
        goal: _parts([job for job in jobs if goal == "all" or job.papers], runs.get(goal, {}).get("wall"), start)
        for goal in GOALS
    }
    lines = ["| | `make run` | with `make run FIGURES=all` |", "|---|---|---|"]
    for name in parts["papers"]:
        lines.append(f"| {name} | {' | '.join(parts[goal][name] for goal in GOALS)} |")
    for name, key in (("measured CPU minutes of the whole run", "cpu"), ("**measured** minutes", "wall")):
        found = (f"{runs[goal][key] / 60:.1f}" if goal in runs else NOT_MEASURED for goal in GOALS)
        lines.append(f"| {name} | {' | '.join(found)} |")
    lines.append(f"| goal | {' | '.join(f'{minutes:.0f}' for minutes in GOALS.values())} |")
    lines.append(f"| first figure after seconds; goal {FIRST_FIGURE:.0f} | {runs['papers']['first']:.0f} | |")
    return "\n".join(lines) + "\n"


def _parts(jobs, wall, start):
    """The rows of one goal, by name, as texts; without `wall`, the seconds of the run, the rows that need them say so."""

    def minutes(chosen, seconds):
        return sum(seconds(job) for job in jobs if chosen(job)) / 60

    def start_of(job):
        return min(job.seconds, job.count * start)

    def is_kernel(job):
        return job.kernel is not None

    def is_drawing(job):
        return job.rule.endswith(("_figures", "_cubes"))

    whole, starts = (minutes(lambda job: True, seconds) for seconds in (lambda job: job.seconds, start_of))
    kernels = minutes(is_kernel, lambda job: job.seconds - start_of(job))
    limits = minutes(is_kernel, lambda job: job.limit - start_of(job))
    drawing = minutes(is_drawing, lambda job: job.seconds - start_of(job))
    other = whole - starts - kernels - drawing
    outside = math.nan if wall is None else wall / 60 - whole / 2
    numbers = {
        "CPU minutes of all jobs": whole,
        "— their starts": starts,
        "— kernels of the table of limits": kernels,
        "— these kernels at their limits": limits,
        "— merging and drawing": drawing,
        "— other computations": other,
        "minutes outside of the jobs: set-up, Snakemake, report, waiting": outside,
        "**bound**: minutes on two cores with all kernels at their limits": outside + (whole - kernels + limits) / 2,
        "bound if the other computations took no time": outside + (starts + limits + drawing) / 2,
    }
    return {
        "jobs": f"{sum(job.count for job in jobs)}",
        **{name: NOT_MEASURED if math.isnan(value) else f"{value:.1f}" for name, value in numbers.items()},
        "share of the CPU time in starts, kernels, merging and drawing": f"{100 * (1 - other / whole):.0f} %",
    }
