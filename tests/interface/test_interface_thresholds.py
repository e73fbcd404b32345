"""`thresholds` gives exact values with errors, and links may be objects of the caller."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.interface import thresholds as questions
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.links.one_token import Monomial

FEW = {"nodes": 64}


@dataclass(frozen=True)
class Scaled(Monomial):
    """y = (h / scale)^2, in other units than phase retrieval and with the same information."""

    exponents: tuple = (2,)
    scale: float = 2.0

    def forward(self, h):
        return super().forward(h / self.scale)

    def fibre(self, observed, free, angles):
        candidates, log_weight = super().fibre(observed, free, angles)
        return self.scale * candidates, log_weight + np.log(self.scale)


def test_channels_in_closed_form():
    """2 nu / K with nu = rho - rho^2 / 2 at rho <= 1, and 1 / K (Boncoraglio et al. 2025, arXiv:2506.01582)."""
    found = al.thresholds({"channel": "softmax", "tokens": 3, "ratio": 0.5})
    K = 3 * 3 + 3 - 2
    assert found.value["exact recovery"] == pytest.approx(2 * (0.5 - 0.125) / K)
    assert found.value["weak recovery at rho = 0"] == pytest.approx(1 / K)
    assert (found.error == 0).all()
    assert found.index.tolist() == ["weak recovery at rho = 0", "half of the error", "exact recovery"]
    assert len(al.thresholds({"channel": "linear", "tokens": 2})) == 1
    assert al.thresholds({"channel": "hardmax", "tokens": 2, "ratio": 0.5}).value["exact recovery"] == np.inf


@pytest.mark.slow
def test_a_link_by_name_and_as_an_object():
    """Phase retrieval has 1/2; a scrambling gives it within a standard deviation of 2e-3 at 64 nodes."""
    named = al.thresholds("phase_retrieval", solver=FEW, replicas=2)
    for link in (Scaled(), Scaled, lambda: Scaled()):
        own = al.thresholds(link, solver=FEW, replicas=2)
        assert own.value.iloc[0] == pytest.approx(named.value.iloc[0], rel=1e-6)
    assert named.index.tolist() == ["weak recovery 1", "exact recovery, optimal", "exact recovery, AMP"]
    row = named.iloc[0]
    assert abs(row["value"] - 0.5) < 0.02
    assert (row["learnt"], row["found"], row["resolved"]) == ("row 1", 2, 1.0)
    assert "finite sum" in named.attrs["method"]


def test_compute_takes_an_object_and_keeps_nothing(tmp_path):
    call = {"grid": {"alpha": [0.8]}, "solver": {"nodes": 64}}
    name = "sequence_multi_index.state_evolution"
    cube = al.compute(name, {"link": Scaled, "parameters": {"scale": 3.0}}, **call)
    plain = al.compute(name, {"link": "phase_retrieval"}, **call)
    np.testing.assert_allclose(cube.overlap, plain.overlap, rtol=1e-6)
    assert "given.py:Scaled" in cube.attrs["spec"]
    with pytest.raises(SpecError, match=r"folder: not with an object as model.link; write it into a file"):
        al.compute(name, {"link": Scaled}, **call, folder=tmp_path)
    with pytest.raises(SpecError, match=r"workers: not with an object"):
        al.compute(name, {"link": Scaled}, **call, workers=2)


def test_a_function_as_a_target():
    found = al.compute(
        "sequence_single_index.information_exponent",
        {"target": lambda z: z[:, 0] * z[:, 1], "student": "trace_attention", "degree": 0},
        {"tokens": [2]},
        solver={"order": 3},
    )
    assert found.exponent_target.item() == 2


@pytest.mark.parametrize(
    ("model", "keys", "message"),
    [
        ({"tokens": 2}, {}, r"model: needs one of the keys link \(sequence_multi_index\) or channel"),
        ({"channel": "linear", "tokens": 0}, {}, "model.tokens: 0: allowed: a whole number ≥ 1"),
        ({"channel": "softmax", "tokens": 1}, {}, "model: softmax has at least 2 tokens, got 1"),
        ({"channel": "hardmax", "tokens": 9}, {}, "model: hardmax has up to 8 tokens, got 9"),
        ({"channel": "softmax", "tokens": 2}, {"replicas": 2}, "replicas: 2: allowed"),
        ({"link": "product", "skip": -1.0, "x": 1}, {"solver": {"nodes": 3}}, "model.skip: -1.0: allowed"),
        ("nothing", {}, "no link 'nothing'; allowed: deep_attention"),
        (lambda: 1, {}, "must be a Link or return one, not int"),
    ],
)
def test_mistakes_are_named(model, keys, message):
    with pytest.raises(SpecError, match=message):
        al.thresholds(model, **keys)


def test_all_problems_are_reported_at_once():
    with pytest.raises(SpecError) as caught:
        al.thresholds({"link": "product", "skip": -1.0, "x": 1}, solver={"nodes": 3, "y": 1}, replicas=1)
    found = [problem.partition(":")[0] for problem in caught.value.problems]
    assert found == ["model.skip", "model.x", "replicas", "solver.nodes", "solver.y"]


def test_the_command(capsys):
    assert main(["thresholds", "--channel", "softmax", "--tokens", "2", "--ratio", "0.5"]) == 0
    printed = capsys.readouterr().out
    assert printed == (
        "softmax: tokens 2, ratio 0.5\n"
        "Bayes-optimal: one fixed point at every alpha, because V / D falls with D and V information(V) rises with V\n"
        "weak recovery at rho = 0: n / (d r) = 0.25\n"
        "half of the error: n / d^2 = 0.0832442\nexact recovery: n / d^2 = 0.1875\n"
    )
    assert main(["thresholds", "--family", "attention_indexed", "--channel", "softmax", "--tokens", "2"]) == 0
    first, _, weak = printed.splitlines()[:3]
    assert capsys.readouterr().out == f"{first.replace(', ratio 0.5', '')}\n{weak}\n"
    assert main(["thresholds", "--family", "attention_indexed", "--tokens", "2"]) == 2
    assert capsys.readouterr().err.startswith("attention-limits: model.channel: missing; allowed: ")
    assert main(["thresholds", "--family", "potts_mlm"]) == 2
    assert "family: 'potts_mlm': allowed: sequence_multi_index, attention_indexed; " in capsys.readouterr().err
    assert main(["thresholds", "--channel", "softmax", "--tokens", "2", "--skp", "1"]) == 2
    assert capsys.readouterr().err.startswith(
        "attention-limits: model.skp: unknown key; allowed: aspect, beta, channel, "
    )


@pytest.mark.slow
def test_the_command_imports_no_table():
    """With pandas, xarray or matplotlib the second call would take half as long again."""
    code = (
        "import sys; from attention_limits.__main__ import main; main(['thresholds', '--channel', 'linear', '--tokens', '2'])\n"
        "main(['thresholds', '--link', 'phase_retrieval', '--nodes', '16', '--replicas', '2'])\n"
        "print(sorted({'pandas', 'xarray', 'matplotlib', 'jax', 'tqdm', 'netCDF4'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_same_question_is_answered_from_a_file(kept, monkeypatch, capsys, tmp_path):
    """As long as question, code and versions are the same, and never for a file or an object of the user."""
    model = {"channel": "softmax", "tokens": 2, "ratio": 0.5}
    first = al.thresholds(model)
    (file,) = kept.iterdir()

    def computed(*arguments):
        raise ArithmeticError

    for family in ("attention_indexed", "sequence_multi_index"):
        monkeypatch.setattr(f"attention_limits.{family}.reports.thresholds.thresholds", computed)
    again = al.thresholds(model)
    pd.testing.assert_frame_equal(first, again)
    assert again.attrs == {**first.attrs, "kept": str(file)}
    # On a busy machine the compiler reports its seconds.
    capsys.readouterr()
    assert main(["thresholds", "--channel", "softmax", "--tokens", "2", "--ratio", "0.5"]) == 0
    assert capsys.readouterr().err == f"computed before; to compute again, remove {file}\n"
    for other in ({**model, "ratio": 0.4}, {"link": lambda h: h[..., 0, 0], "noise": 0.1}, {"link": "mine.py:square"}):
        with pytest.raises(ArithmeticError):
            al.thresholds(other, project=tmp_path)
    monkeypatch.setattr(questions, "versions", lambda: {"numpy": "another"})
    with pytest.raises(ArithmeticError):
        al.thresholds(model)
    assert list(kept.iterdir()) == [file]
