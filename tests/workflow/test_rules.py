"""The rules: their names are the physics, their graph is the way of the data, and options of Snakemake take those names."""

import os
import re
import sys
from itertools import pairwise

import pytest

import snakemake_server
from toy import REPOSITORY, linked_python, repository
from toy_data import share

pytestmark = pytest.mark.slow

CHAINS = [
    ("potts_samples", "potts_factored_attention", "potts_cube", "potts_fig2"),
    ("smi_gaussian_sequences", "smi_gamp", "smi_cube", "smi_fig2"),
    ("smi_state_evolution", "smi_cube", "smi_fig1_left"),
    ("aim_matrix_amp", "aim_cube", "aim_fig2_left"),
    ("ssi_tied_sgd", "ssi_cube", "ssi_fig3_left"),
    ("smi_cube", "audit", "all"),
    ("potts_cube", "all"),
]


def page_edges():
    """The pairs of rules that docs/rules.md shows. A node with round ends, `rule([rule])`, is a rule too."""
    page = (REPOSITORY / "docs" / "rules.md").read_text(encoding="utf-8")
    return {(first, second) for first, _, second in re.findall(r"^ +(\w+)(\(\[\1\]\))? --> (\w+)$", page, re.MULTILINE)}


def test_the_way_of_the_data():
    """Pairs of rules of the whole project, the second of which reads files of the first, hold the chains."""
    arguments = ["--rulegraph", "--config", "scale=smoke"]
    done = snakemake_server.call(arguments, REPOSITORY, dict(os.environ), sys.executable)
    assert done.returncode == 0, done.stderr
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', done.stdout))
    edges = {(names[a], names[b]) for a, b in re.findall(r"(\d+) -> (\d+)", done.stdout)}
    assert {pair for chain in CHAINS for pair in pairwise(chain)} <= edges
    # Every rule belongs to a family or to all.
    assert len(names) > 50
    assert {name.split("_")[0] for name in names.values()} == {"smi", "aim", "ssi", "potts", "audit", "all"}
    # `make schemas` draws the same graph. Figures that need files from outside of the repository are there only with these files.
    optional = {
        name for name, figure in repository().figures.items() if any(cube.requires for cube in figure.cubes.values())
    }
    inside = {edge for edge in edges if not {"all", "audit"} & {*edge}}
    assert {edge for edge in page_edges() ^ inside if not optional & {*edge}} == set()


def test_every_rule_that_computes_shows_its_command():
    """The command of the program with its output, in quotes; a log, a benchmark, an environment."""
    files = {path.name: path.read_text(encoding="utf-8") for path in (REPOSITORY / "workflow" / "rules").glob("*.smk")}
    rules = "".join(files.values())
    shells = re.findall(r'^ +shell:\n((?: +#.*\n)?)((?: +".*\n?)+)', rules, re.MULTILINE)
    commands = {}
    for _, line in shells:
        text = "".join(re.findall(r'"([^"]*)"', line))
        commands[re.match(r"python -P -m attention_limits (\w+) ", text)[1]] = set(
            re.findall(r"(?<!{){([^{}]+)}", text)
        )
        assert text.endswith(" > {log:q} 2>&1 || {{ tail -n 20 {log:q} >&2; false; }}")
        # Text of a user is quoted; a function of common.smk quotes the options of a run.
        names = r"(?:input|output(?:\.table|\.pdf)?|params\.(?:experiment|project)):q|log:q|threads|wildcards\.chunk"
        plain = r"params\.(?:run|estimator|figure|cubes|digest|families)"
        assert all(re.fullmatch(f"{names}|{plain}", name) for name in commands[text.split()[4]])
    assert {
        name: any(word.startswith("output") for word in words) for name, words in commands.items()
    } == dict.fromkeys(("run", "merge", "draw", "audit", "landing"), True)
    assert len(shells) == rules.count("shell:\n") == 5
    assert len(re.findall(r"^\s+conda:\n\s+ENVIRONMENT\n", rules, re.MULTILINE)) == 5
    for section in ("log", "benchmark", "threads", "message"):
        assert len(re.findall(rf"^\s+{section}:", rules, re.MULTILINE)) == 5


DRAWN = "toy/shared: drawn"
CUBES = ("results/cubes/toy/growth_curve.nc", "results/cubes/toy/shared.nc")


def test_options_take_the_names_of_rules(finished):
    share(finished)
    # Until the data, and no further.
    assert finished.planned("--until", "toy_drawn", "--", CUBES[1]) == [DRAWN] * 4
    # One estimator and all that depends on it once more.
    once_more = ["toy/growth_curve: growth"] * 2 + ["toy/growth_curve: merge"]
    assert finished.planned("-R", "toy_growth", "--", CUBES[0]) == once_more
    planned = finished.snakemake("-n", "--cores", "4", *CUBES, "--forceall", "--set-threads", "toy_growth=2")
    assert planned.returncode == 0, planned.stderr
    threads = dict(re.findall(r"--estimator (\w+) .*--threads (\d+)", planned.stdout + planned.stderr))
    assert threads == {"growth": "2", "counting": "1", "drawn": "1", "means": "1", "spreads": "1"}


def test_the_profile_for_slurm_shows_a_partition_for_a_whole_family(tmp_path):
    """The lines of its comment, as a user activates them. A queue records the partition of each job and refuses the job."""
    profile = (REPOSITORY / "workflow/profiles/slurm/config.yaml").read_text(encoding="utf-8")
    block = re.search(r"^# (set-resources:\n(?:#   - .*\n)+)", profile, re.MULTILINE)[1].replace("\n# ", "\n")
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile/config.yaml").write_text(block)
    submitted = tmp_path / "submitted"
    record = f"echo {{rule}} {{resources.slurm_partition}} >> {submitted}; exit 1 #"
    arguments = ["--workflow-profile", str(tmp_path / "profile"), "--directory", str(tmp_path), "--keep-going"]
    arguments += ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", record, "--jobs", "1000"]
    arguments += ["--default-resources", "slurm_partition='normal'"]
    arguments += ["--config", "scale=smoke", "families=[attention_indexed]"]
    # One job of each rule.
    experiments = repository("smoke").experiments["attention_indexed"].values()
    jobs = {
        name: each.path("results/smoke", each.chunks[0])
        for item in experiments
        for name, each in item.estimators.items()
    }
    arguments += ["--", *jobs.values()]
    snakemake_server.call(arguments, REPOSITORY, dict(os.environ), linked_python(tmp_path / "environment"))
    partitions = dict(line.split() for line in submitted.read_text().splitlines())
    computing = {first for first, second in page_edges() if second == "aim_cube"}
    assert partitions == dict.fromkeys(computing, "long")
