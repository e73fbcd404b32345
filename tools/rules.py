"""Draw the rules of every family into docs/rules.md, from `snakemake --rulegraph`: `python tools/rules.py`, or `make schemas`."""

import functools
import re
import subprocess
import sys
from pathlib import Path

from attention_limits.pipeline.base.files import write_text
from attention_limits.pipeline.experiments.experiment import load_family
from data_cost import estimators

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "rules.md"
HEAD = """\
# Rules

Every kind of data, every estimator and every figure has one rule. Every family has one rule that joins chunks into cubes. The
names of rules work in commands such as `snakemake potts_fig2`, `-R smi_gamp`, `--until potts_samples`,
`--set-threads aim_matrix_amp=2` and `--set-resources aim_gradient_descent:slurm_partition=long`. The names of families, `all`,
`audit` and `landing` (the page of all figures of a run, `results/index.html`) are targets too.

A node with round ends is an estimator that draws its data inside of its jobs. Each of these data sets has one reader;
`python tools/data_cost.py` measures what files of them would cost ([why no rule makes them](../CONTRIBUTING.md#decisions)).

`make schemas` writes this page from the output of `snakemake --rulegraph`. An experiment that requires a file from outside of the
repository is in the graph only if the file exists.
"""


def rule_graph():
    """Pairs of rules; the second rule of a pair reads files of the first."""
    options = ["--rulegraph", "mermaid-js", "--config", "scale=smoke", "families=all"]
    command = [sys.executable, "-m", "snakemake", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = dict(re.findall(r"^\s*(id\d+)\[(\w+)\]$", done.stdout, re.MULTILINE))
    return [(names[a], names[b]) for a, b in re.findall(r"^\s*(id\d+) --> (id\d+)$", done.stdout, re.MULTILINE)]


def _node(rule):
    """A rule in the language of the graph: a stadium if it draws its data itself."""
    return f"{rule}([{rule}])" if rule in drawing_rules() else rule


@functools.cache
def drawing_rules() -> frozenset[str]:
    """The rules of the estimators that draw their data inside of a job, at any scale that the repository ships."""
    found = {f"{estimator.family}.{estimator.name}" for estimator in estimators("laptop")}
    pairs = (name.split(".") for name in found)
    return frozenset(f"{load_family(family).prefix}_{name}" for family, name in pairs)


def page(graph, prefixes):
    """The text of the page: one graph per family, whose rules begin with its prefix."""
    parts = [HEAD]
    for family, prefix in prefixes.items():
        edges = [edge for edge in sorted(graph) if all(name.startswith(f"{prefix}_") for name in edge)]
        lines = [f"    {_node(first)} --> {second}" for first, second in edges]
        parts.append("\n".join([f"## {family}", "", "```mermaid", "flowchart LR", *lines, "```", ""]))
    return "\n".join(parts)


def main():
    """Write the page."""
    prefixes = {
        path.parent.name: load_family(path.parent.name).prefix for path in sorted(ROOT.glob("config/*/experiments"))
    }
    write_text(PAGE, page(rule_graph(), prefixes))
    print(f"{PAGE.relative_to(ROOT)}: written")


if __name__ == "__main__":
    main()
