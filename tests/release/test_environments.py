"""The environments that others install are those of the lock."""

import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from attention_limits.pipeline.experiments.yaml_reader import read_yaml
from toy import REPOSITORY

ENVIRONMENT = REPOSITORY / "envs" / "attention-limits.yaml"
UV = shutil.which("uv") or shutil.which("uv", path=REPOSITORY / ".venv" / "bin")


def test_the_conda_environment_has_the_versions_of_the_lock():
    lock = tomllib.loads((REPOSITORY / "uv.lock").read_text(encoding="utf-8"))
    locked = {(item["name"], item["version"]) for item in lock["package"]}
    (pins,) = [item["pip"] for item in read_yaml(ENVIRONMENT)["dependencies"] if isinstance(item, dict)]
    pinned = {tuple(pin.partition(" ;")[0].split("==")) for pin in pins}
    assert pinned <= locked
    wanted = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = (item for extra in wanted["optional-dependencies"].values() for item in extra)
    # An extra may consist of others.
    named = [*wanted["dependencies"], *(item for item in extras if not item.startswith("attention-limits["))]
    assert {re.split(r"[<>=\[ ]", item)[0].lower() for item in named} <= {name for name, _ in pinned}


@pytest.mark.skipif(UV is None, reason="uv is not installed")
def test_it_is_what_the_generator_writes():
    done = subprocess.run(
        [sys.executable, "envs/generate.py", "--check"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("recipe", ["Dockerfile", "apptainer.def"])
def test_the_recipes_copy_files_that_exist_and_build_from_the_lock(recipe):
    text = (REPOSITORY / "envs" / recipe).read_text()
    assert "make .venv/.synced" in text
    copied = re.findall(r"^(?:COPY|   ) ((?:[\w./]+ )+)(?:\./|/limits/|src/\S+)$", text, re.MULTILINE)
    assert copied
    for names in copied:
        for name in names.split():
            assert (REPOSITORY / name).exists(), name


def test_the_hooks_before_a_commit_call_the_tools_of_make_lint():
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (repository,) = read_yaml(REPOSITORY / ".pre-commit-config.yaml")["repos"]
    entries = [hook["entry"].split() for hook in repository["hooks"]]
    called = {" ".join(words[:2]) if words[0].endswith("ruff") else words[0] for words in entries} - {"make"}
    linted = makefile.partition("\nlint:")[2].partition("\n\n")[0]
    assert called == set(re.findall(r"\.venv/bin/(?:ruff \w+|snakefmt|lint-imports)", linted))
    assert [words for words in entries if words[0] == "make"] == [["make", "--silent", "types"]]
    assert "types: $(STAMP)" in makefile
