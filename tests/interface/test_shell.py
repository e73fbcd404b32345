"""compute, export, estimators and describe on the command line."""

import io
import os
import subprocess
import sys
from importlib import metadata

import pandas as pd
import pytest

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.interface import workers
from attention_limits.pipeline.base.errors import SpecError

POINTS = {"gamma": 3.0, "ridge": 0.1, "alpha": [0.5, 2.0]}
RIDGE = ["compute", "potts_mlm.ridge_simulation", "--gamma", "3", "--ridge", "0.1", "--alpha", "0.5,2", "--sites", "20"]
CALL = ["compute", "attention_indexed.state_evolution", "--tokens", "2", "--channel", "linear", "--ratio", "0.5"]


def test_a_question_in_one_line(tmp_path, capsys):
    cube, table, picture = (tmp_path / name for name in ("cube.nc", "table.csv", "curve.pdf"))
    files = ["-o", str(cube), "--csv", str(table), "--plot", str(picture)]
    assert main([*CALL, "--alpha", "0:0.2:3", *files]) == 0
    written = pd.read_csv(table, comment="#")
    assert written.alpha.tolist() == [0.0, 0.1, 0.2]
    assert written.mmse.tolist() == al.open(cube).mmse.values.ravel().tolist()
    assert picture.read_bytes().startswith(b"%PDF")
    capsys.readouterr()
    assert main(["export", str(cube)]) == 0
    assert capsys.readouterr().out == table.read_text()
    assert main(["export", str(cube), "--csv", "--parquet"]) == 0
    assert cube.with_suffix(".csv").read_text() == table.read_text()
    assert pd.read_parquet(cube.with_suffix(".parquet")).mmse.tolist() == written.mmse.tolist()
    assert al.open(cube).mmse.attrs["ancillary_variables"] == "mmse_error unique"
    capsys.readouterr()
    assert main(["export", str(cube), "--aggregate"]) == 0
    assert "mmse_error" in capsys.readouterr().out


def test_the_rows_of_a_replica_appear_before_the_next_one(capsys, monkeypatch):
    """Each time the program waits for a chunk, the rows of the earlier chunks are out."""
    out, run_chunk = [], workers.run_chunk

    def watched(*arguments):
        out.append(capsys.readouterr().out)
        return run_chunk(*arguments)

    monkeypatch.setattr(workers, "run_chunk", watched)
    assert main([*RIDGE, "--replicas", "3"]) == 0
    printed = capsys.readouterr()
    assert out[0] == ""
    first, second, third = (
        pd.read_csv(io.StringIO(text), comment="#", header=None) for text in (*out[1:], printed.out)
    )
    assert first.iloc[0, 0] == "gamma"
    assert [first.iloc[1:, 3].astype(int).tolist(), second[3].tolist(), third[3].tolist()] == [[0, 0], [1, 1], [2, 2]]
    assert printed.err.splitlines()[-1].startswith("6 of 6 points (")
    cube = al.compute("potts_mlm.ridge_simulation", {}, POINTS, replicas=3, solver={"sites": 20})
    rows = pd.read_csv(io.StringIO("".join([*out, printed.out])), comment="#")
    whole = pd.DataFrame(al.table(cube))[list(rows)]
    pd.testing.assert_frame_equal(rows.sort_values(["alpha", "replica"], ignore_index=True), whole, check_dtype=False)


def test_a_table_of_means_appears_at_the_end(capsys):
    assert main([*RIDGE, "--replicas", "3", "--aggregate"]) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out), comment="#")
    assert table.simulated_generalization_error_replicas.tolist() == [3, 3]


def test_settings_of_the_data(capsys):
    gamp = ["compute", "sequence_multi_index.gamp", "--link", "phase_retrieval", "--alpha", "0.5"]
    assert main([*gamp, "--data", '{"gaussian_sequences": {"dimension": 1}}']) == 2
    assert capsys.readouterr().err.startswith("attention-limits: data.gaussian_sequences.dimension: 1: allowed: ")


def test_version(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert (stopped.value.code, capsys.readouterr().out) == (
        0,
        f"attention-limits {metadata.version('attention-limits')}\n",
    )


def test_values_of_an_axis(capsys):
    assert main([*CALL, "--alpha", "0,0.05"]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out), comment="#").alpha.tolist() == [0.0, 0.05]
    assert main([*CALL, "--alpha", "0.05"]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out), comment="#").alpha.tolist() == [0.05]


def test_a_decimal_comma_is_no_list_of_values(capsys):
    """0,05 would be the values 0 and 5, in silence."""
    assert main([*CALL, "--alpha", "0,05"]) == 2
    assert "'0,05': 05 after a comma: allowed: a decimal point, as in 0.05, or 5" in capsys.readouterr().err
    assert main([*CALL, "--alpha", "0, 0.5"]) == 0


def test_one_value_of_a_key_of_grid_and_solver_belongs_to_the_solver(monkeypatch):
    """`dimension` of gradient descent is a solver key that may also be scanned."""
    given = []

    def refuse(name, **found):
        given.append(found)
        raise SpecError(["no computation"])

    monkeypatch.setattr("attention_limits.interface.compute.compute", refuse)
    call = ["compute", "attention_indexed.gradient_descent", "--tokens", "2", "--alpha", "0.1"]
    assert [main([*call, "--dimension", dimension]) for dimension in ("20", "20,30")] == [2, 2]
    assert [found["solver"] for found in given] == [{"dimension": 20}, {}]
    assert [found["grid"] for found in given] == [{"alpha": 0.1}, {"alpha": 0.1, "dimension": [20, 30]}]


def test_a_single_point_needs_no_axis(capsys):
    """Every key of the grid of this estimator may stay in model and solver, but one of them must be an axis."""
    call = ["compute", "sequence_single_index.linear_theory", "--a", "1", "--omega", "0.5", "--loss=frobenius"]
    settings = {"dimension": 100, "learning_rate": 0.05, "nodes": 256}
    assert main([*call, *(f"--{key}={value}" for key, value in settings.items())]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out), comment="#").omega.tolist() == [0.5]


def test_a_key_is_no_abbreviation_of_an_option(capsys):
    """Not of --aggregate."""
    assert main(["compute", "sequence_single_index.phase_diagram", "--a", "-1", "--omega", "0.5"]) == 2
    assert "grid.a: -1.0: allowed: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--alpha", "0:1:3", "--depth", "2"],
            "attention-limits: model.depth: unknown key; allowed: aspect, beta, channel, output_noise, parameters, ratio, "
            "spectrum, tokens, untied\n",
        ),
        (["--alpha", "-1"], "attention-limits: grid.alpha: -1.0: allowed: a number ≥ 0 and ≤ 1000"),
        (["--alpha", "1,x"], "attention-limits: grid.alpha: "),
        (["--alpha", "1", "--plot", "x.pdf", "--y", "mms"], "attention-limits: y: 'mms': allowed: error_bayes, "),
    ],
)
def test_mistakes_are_named(more, message, capsys):
    assert main([*CALL, *more]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_a_key_given_twice_is_refused(capsys):
    with pytest.raises(SystemExit):
        main([*CALL, "--alpha", "1", "--alpha", "2"])
    assert "given twice: --alpha" in capsys.readouterr().err


def test_lists(capsys):
    assert main(["estimators"]) == 0
    assert "potts_mlm.factored_attention: " in capsys.readouterr().out
    assert main(["describe", "attention_indexed.state_evolution"]) == 0
    printed = capsys.readouterr().out
    assert "model.tokens: a whole number ≥ 1 and ≤ 64, required. Number of tokens M" in printed
    assert "variable recovery_threshold: samples at which the error becomes zero; α_rec; n / d^2" in printed
    assert main(["describe", "attention_indexed"]) == 2
    assert main(["describe", "gamp"]) == 2
    assert "gamp: no such family; allowed: attention_indexed.…, " in capsys.readouterr().err


@pytest.mark.slow
def test_a_closed_pipe_ends_a_command_without_a_message():
    """The reader has gone before Python writes its buffer, as in `attention-limits show CUBE | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "attention_limits", "estimators"],
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
