"""Tables of the pages README.md and docs/speed.md that show rows of docs/benchmarks.md."""

import re

# The three rows of the benchmarks that the README shows, by the beginning of their names.
TELLING = ("denoiser", "step of training a transformer", "learning curve of extensive width")


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
