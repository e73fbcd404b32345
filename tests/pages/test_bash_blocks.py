"""The `bash` blocks of all pages: Snakemake plans what they ask for, and the program runs what they compute.

Blocks of README have tests of their own. Those of docs/cluster.md need a cluster, another user or another folder; their
parts are in the tests of Slurm and of copied results.
"""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

import snakemake_server
from attention_limits.__main__ import main
from toy import REPOSITORY

pytestmark = pytest.mark.slow

ELSEWHERE = {"cluster.md"}
# Of the shipped family, for the tutorial that reads a small one.
SEQUENCES = 400


def lines():
    """The page and each command of its blocks, continued lines joined."""
    for page in sorted((REPOSITORY / "docs").rglob("*.md")):
        if page.name in ELSEWHERE or "figures" in page.parts:
            continue
        for block in re.findall(r"^```bash\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            words = shlex.split(block.replace("\\\n", " "), comments=True)
            yield from ((page.relative_to(REPOSITORY).as_posix(), command) for command in _split(words))


def _split(words):
    """Words of a block as commands: each begins with one of our programs."""
    starts = [
        place for place, word in enumerate(words) if Path(word).name in ("snakemake", "attention-limits", "python")
    ]
    assert starts[:1] == [0]
    return [words[begin:end] for begin, end in zip(starts, [*starts[1:], len(words)], strict=True)]


COMMANDS = list(lines())


@pytest.fixture(scope="module")
def small_family(tmp_path_factory):
    """A Stockholm file of the first sequences of the shipped alignment."""
    text = (REPOSITORY / "config/potts_mlm/data/PF00014.a3m").read_text(encoding="utf-8")
    rows = [record.partition("\n") for record in text.split(">")[1 : SEQUENCES + 1]]
    aligned = [re.sub("[a-z.\n]", "", row) for _, _, row in rows]
    file = tmp_path_factory.mktemp("family") / "mine.sto"
    body = "\n".join(f"s{number} {row}" for number, row in enumerate(aligned))
    file.write_text(f"# STOCKHOLM 1.0\n{body}\n//\n", encoding="utf-8")
    return file


def test_there_are_blocks():
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=lambda part: part if isinstance(part, str) else part[0])
def test_a_command_of_a_page(page, command, small_family, tmp_path, capsys, monkeypatch):
    program, *arguments = command
    if Path(program).name == "snakemake":
        arguments = [word.replace("mine.sto", str(small_family)) for word in arguments]
        whole = "protein_contacts" in page and "protein:" not in " ".join(arguments)
        done = snakemake_server.call(
            ["-n", "-s", str(REPOSITORY / "Snakefile"), *arguments], tmp_path, dict(os.environ), sys.executable
        )
        # The family is too small for the figure as it is: refused with the number that it allows.
        assert (done.returncode != 0) == whole, done.stderr
        if whole:
            assert "grid.samples: 1500: allowed: ≤ 320, the training sequences of data.alignment" in done.stderr
        return
    if Path(program).name == "python":
        assert (REPOSITORY / arguments[0]).is_file()
        return
    # Cubes of a finished run are in the test of this command.
    if arguments[0] != "threshold-table":
        monkeypatch.chdir(tmp_path)
        assert main(arguments) in (None, 0)
        assert capsys.readouterr().out
