"""What other pages show of the benchmarks: two tables of docs/speed.md, and single times."""

import json
import math
import re

from attention_limits.pipeline.base.files import write_text


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


def in_block(text, name, table):
    """The `text` of a page with this `table` between the comments of its block."""
    begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
    before, _, rest = text.partition(begin)
    return before + begin + table + end + rest.partition(end)[2]


def write_sizes(root):
    """Write the table of sizes into docs/speed.md of the folder `root`."""
    page = root / "docs" / "speed.md"
    table = sizes_table((root / "benchmarks" / "sizes.json").read_text(encoding="utf-8"))
    write_text(page, in_block(page.read_text(encoding="utf-8"), "sizes", table))


def sizes_table(text):
    """The table of `benchmarks/sizes.json`: CPU seconds, memory, error, exponent, and the cost at ten times `paper`."""
    lines = [
        "| Estimator and experiment | Size | CPU seconds | Memory / MB | Error or flag | Exponent | At ten times `paper` |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in json.loads(text).values():
        sizes = row["sizes"]
        changes = ", ".join(f"{key} = {_short(value)}" for key, value in row["changes"].items())
        name = f"`{row['estimator'].split('.')[1]}` of {row['experiment']}" + (f", {changes}" if changes else "")
        errors = ", ".join(_error(row["variable"], size["error"]) for size in sizes)
        cells = (
            f"{row['size']} = {', '.join(_count(size['size']) for size in sizes)}",
            ", ".join(f"{size['seconds']:.3g}" for size in sizes),
            ", ".join(f"{size['memory']}" for size in sizes),
            f"{row['variable']}: {errors}" if row["variable"] else "none stated",
            _exponent_text(sizes, row["start"]),
            _at_ten_times(row),
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def exponent(sizes, start, key):
    """That of a power of the size, between the last two sizes, without the start of the program; None where too little is left.

    An estimator imports a second and 100 MB more than the closed formula whose start is known.
    """
    if len(sizes) < 2:
        return None
    less, more = (size[key] - start[key] for size in sizes[-2:])
    least = {"seconds": 2.0, "memory": 100.0}[key]
    return math.log(more / less) / math.log(sizes[-1]["size"] / sizes[-2]["size"]) if less > least else None


def _exponent_text(sizes, start):
    found = exponent(sizes, start, "seconds")
    # The z writes no "-0.0".
    return "–" if found is None else f"{found:z.1f}"


def _at_ten_times(row):
    """The cost at ten times the size of `paper`: "measured", what forbids this size, or the cost by the last exponents."""
    last, target = row["sizes"][-1], 10 * row["paper"]
    # One key allows 2 001, not 2 010.
    if last["size"] >= 0.99 * target:
        return "measured"
    if row["limit"]:
        return row["limit"]
    cost = {}
    for key in ("seconds", "memory"):
        power = exponent(row["sizes"], row["start"], key)
        if power is None and key == "seconds":
            return "too short to extrapolate"
        # Memory that does not show its growth beside that of the program stays.
        grown = (last[key] - row["start"][key]) * (target / last["size"]) ** (power or 0.0)
        cost[key] = row["start"][key] + max(grown, 0.0)
    time = f"{cost['seconds'] / 3600:.2g} h" if cost["seconds"] > 3600 else f"{cost['seconds'] / 60:.2g} min"
    return f"extrapolated: {time}, {cost['memory'] / 1000:.2g} GB"


def _count(number):
    return f"{number:,}".replace(",", " ")


def _short(value):
    return "given" if isinstance(value, list | dict) else f"{value:g}" if isinstance(value, float) else f"{value}"


def _error(variable, error):
    if error is None or error["value"] is None:
        return "–"
    return f"{100 * error['value']:.0f} %" if error["flag"] else f"{error['value']:.1g}"
