"""Tables of the pages README.md and docs/speed.md, from docs/benchmarks.md and the times of the last published run."""

import re

# The three rows of the benchmarks that the README shows, by the beginning of their names.
TELLING = ("denoiser", "step of training a transformer", "learning curve of extensive width")
# The kernel on which a rule spends its time: the beginning of its name in the table of limits of docs/benchmarks.md. The layers
# of deep attention use two kernels; this is the one that is further from its limit.
KERNELS = {
    "aim_matrix_amp": "AMP iteration",
    "aim_gradient_descent": "gradient descent step",
    "potts_transformer": "training step",
    "potts_factored_attention": "gradient of factored",
    "potts_factored_training": "gradient of factored",
    "potts_mixed_attention": "gradient of factored",
    "potts_samples": "Gibbs update",
    "smi_gamp": "trapezoid channel",
    "smi_state_evolution": "trapezoid channel",
    "smi_staircase": "trapezoid channel",
    "ssi_attention_sgd": "SGD step",
    "ssi_tied_sgd": "SGD step",
    "ssi_untied_sgd": "SGD step",
}


def speed_table(benchmarks, only=("",), corner=""):
    """Baseline, ours and ratio from the table of docs/benchmarks.md; of rows that differ only in numbers, the first one.

    The rows are those whose names begin with one of `only`. `corner` is the head of the column of names.
    """
    lines, seen = ["| " + f"{corner} | Baseline | Ours | Ratio |".lstrip(), "|---|---|---|---|"], set()
    for line in benchmarks.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        kind = re.sub(r"[\d.]+", "", cells[0].split(",")[0])
        if len(cells) == 8 and cells[3] not in ("", "ratio", "---") and kind not in seen and cells[0].startswith(only):
            seen.add(kind)
            lines.append(f"| {' | '.join(cells[:4])} |")
    return "\n".join(lines) + "\n"


def telling_table(benchmarks):
    """The rows of `TELLING`, with the machine as the head of the column of names."""
    return speed_table(benchmarks, TELLING, machine(benchmarks))


def machine(benchmarks):
    """The machine of docs/benchmarks.md: number of cores and processor."""
    return re.search(r"^- machine: (.*?)(?:, load .*)?$", benchmarks, re.MULTILINE)[1]


def shares(benchmarks):
    """The share of the limit of one core that each rule of KERNELS reaches, from docs/benchmarks.md."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in benchmarks.splitlines()]
    known = {row[0]: float(row[8].removesuffix("%")) / 100 for row in rows if len(row) == 10 and row[8].endswith("%")}
    return {rule: known[next(name for name in known if name.startswith(begin))] for rule, begin in KERNELS.items()}


def rules_table(families, benchmarks):
    """Jobs and CPU seconds of each rule at `laptop`; rules below one percent of the sum share the last row but one.

    `families` holds by family and rule the number of jobs, their CPU seconds, and those for the figures of the papers. The last
    column is the time of the papers' figures if the kernel of a rule reached its limit; other rules stay as they are.
    """
    share, found = shares(benchmarks), {}
    for rules in families.values():
        for rule, (count, seconds, needed) in rules.items():
            found[rule] = (count, seconds, needed, needed * share.get(rule, 1.0))
    total = [sum(row[column] for row in found.values()) for column in range(4)]
    large = {rule: row for rule, row in found.items() if row[1] >= 0.01 * total[1]}
    rest = [all_rules - sum(row[column] for row in large.values()) for column, all_rules in enumerate(total)]
    rows = sorted(((f"`{rule}`", row) for rule, row in large.items()), key=lambda item: -item[1][1])
    lines = [
        "| Rule | Jobs | CPU seconds | for the figures of the papers | these at the limit |",
        "|---|---|---|---|---|",
    ]
    for name, row in (*rows, (f"{len(found) - len(large)} other rules", rest), ("all", total)):
        lines.append(f"| {name} | {' | '.join(f'{value:.0f}' for value in row)} |")
    return "\n".join(lines) + "\n"
