"""What other pages show of docs/benchmarks.md: the table of docs/speed.md, and single times."""

import re


def speed_table(benchmarks):
    """Baseline, ours and ratio from the table of docs/benchmarks.md; of rows that differ only in numbers, the first one.

    The head of the column of names is the machine.
    """
    lines, seen = [f"| {machine(benchmarks)} | Baseline | Ours | Ratio |", "|---|---|---|---|"], set()
    for line in benchmarks.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        kind = re.sub(r"[\d.]+", "", cells[0].split(",")[0])
        if len(cells) == 8 and cells[3] not in ("", "ratio", "---") and kind not in seen:
            seen.add(kind)
            lines.append(f"| {' | '.join(cells[:4])} |")
    return "\n".join(lines) + "\n"


def machine(benchmarks):
    """The machine of docs/benchmarks.md: number of cores and processor."""
    return re.search(r"^- machine: (.*?)(?:, load .*)?$", benchmarks, re.MULTILINE)[1]


def our_time(benchmarks, name, unit):
    """The median of our time in the row `name`, or None without this row. Raises ValueError if its unit is another one."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in benchmarks.splitlines()]
    found = next((row[2] for row in rows if len(row) == 8 and row[0] == name), None)
    if found is None:
        return None
    if not found.endswith(f" {unit}"):
        raise ValueError(f"docs/benchmarks.md: {name}: {found}; expected unit: {unit}")
    return float(re.match(r"[\d. ]*\d", found)[0].replace(" ", ""))
