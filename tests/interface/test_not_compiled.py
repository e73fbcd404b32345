"""A run says in one line where a model of the user runs in NumPy; see also test_check_link.py for the words."""

import subprocess
import sys

import numpy as np
import pytest

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.pipeline import notices
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.reports.compilation import in_numpy

WORDS = "it branches on numbers of an array (if, while, and, or); write np.where"
LINE = f" runs in NumPy, several times slower than compiled: {WORDS}"
LINKS = """\
import numba
import numpy as np

from attention_limits.sequence_multi_index.links.link import Link


def gate(h):
    return np.tanh(h[..., 0, 0]) * h[..., 1, 0]


def branch(h):
    return gate(h) if h.sum() < 1e300 else h[..., 0, 0]


class Loops(Link):
    rows, tokens, sign_symmetry, noise_dimension = 2, 1, "all", 1

    def forward(self, h):
        return h[..., 0, 0] * h[..., 1, 0]

    def observe(self, h, noise):
        return self.forward(h) + noise[:, 0]

    def log_likelihood(self, observed, h):
        return likelihood(observed, h)


@numba.njit
def likelihood(observed, h):
    found = np.empty(h.shape[:2])
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            found[i, j] = -0.5 * (observed[i] - h[i, j, 0, 0] * h[i, j, 1, 0]) ** 2 - 0.5 * np.log(2 * np.pi)
    return found
"""
CHANNEL = """\
from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channels.output import OutputChannel


@dataclass(frozen=True)
class Bent(OutputChannel):
    def output(self, h):
        return np.tanh(h) if h.sum() < 1e300 else h
"""
EXPERIMENT = """\
title: Own links
description: A link with a branch, and one that is compiled.
model: {{link: "mine.py:{name}", rows: 2, noise: 0.1}}
estimators:
  state_evolution: {{grid: {{alpha: {{values: [2.0]}}}}, replicas: 1, solver: {{nodes: 32, max_iterations: 2}}}}
"""
SOLVER = {"nodes": 32, "max_iterations": 2}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the files; this process has said nothing yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(notices, "_said", set())
    (tmp_path / "mine.py").write_text(LINKS)
    (tmp_path / "bent.py").write_text(CHANNEL)
    return tmp_path


def computed(link, **keys):
    model = {"link": link, **keys}
    return al.compute("sequence_multi_index.state_evolution", model, {"alpha": [1.5]}, solver=SOLVER)


def test_compute_prints_one_line_for_a_link_with_a_branch(project, capsys):
    for _ in range(2):
        computed("mine.py:branch", rows=2, noise=0.1)
    line = f"mine.py:branch{LINE} (attention-limits check-link mine.py:branch reports it)\n"
    assert capsys.readouterr().err.count(line) == 1


def test_compute_is_silent_about_the_others(project, capsys):
    computed("mine.py:gate", rows=2, noise=0.1)
    computed("mine.py:Loops")
    # Loops of numba cannot be recorded, and need not.
    assert in_numpy(load_link({"link": "mine.py:Loops"}, project)) == notices.COMPILED_BY_ITS_AUTHOR
    computed("product", rows=2, noise=0.1)
    assert "runs in NumPy" not in capsys.readouterr().err


def test_an_object_has_its_name_and_no_command(project, capsys):
    def bent(h):
        return np.tanh(h[..., 0, 0]) if h.sum() < 1e300 else h[..., 0, 0]

    al.thresholds({"link": bent, "rows": 2, "noise": 0.1}, solver={"nodes": 32}, replicas=2)
    assert f"bent{LINE}\n" in capsys.readouterr().err


def test_a_channel(project, capsys):
    assert main(["thresholds", "--channel", "bent.py:Bent", "--tokens", "1", "--output-noise", "0.5"]) == 0
    line = f"bent.py:Bent{LINE} (attention-limits check-channel bent.py:Bent reports it)\n"
    assert capsys.readouterr().err.count(line) == 1


@pytest.mark.slow
def test_the_log_of_a_job(project):
    """A job writes both streams into its log. The line is there before the points."""
    spec = project / "config" / "sequence_multi_index" / "experiments" / "own.yaml"
    spec.parent.mkdir(parents=True)
    for name, expected in (("branch", 1), ("gate", 0)):
        spec.write_text(EXPERIMENT.format(name=name))
        command = [sys.executable, "-P", "-m", "attention_limits", "run", str(spec), "--estimator", "state_evolution"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
        assert done.stdout.count(LINE) == expected
        assert done.stdout.index("1 points computed") > done.stdout.find(LINE)
