"""compute, export, estimators and describe on the command line."""

import io

import pandas as pd
import pytest

import attention_limits as al
from attention_limits.__main__ import main

CALL = ["compute", "attention_indexed.state_evolution", "--tokens", "2", "--channel", "linear", "--ratio", "0.5"]


def test_a_question_in_one_line(tmp_path, capsys):
    cube, table, picture = (tmp_path / name for name in ("cube.nc", "table.csv", "curve.pdf"))
    files = ["-o", str(cube), "--csv", str(table), "--plot", str(picture), "--y", "mmse"]
    assert main([*CALL, "--alpha", "0:0.2:3", *files]) == 0
    written = pd.read_csv(table, comment="#")
    assert written.alpha.tolist() == [0.0, 0.1, 0.2]
    assert written.mmse.tolist() == al.open(cube).mmse.values.ravel().tolist()
    assert picture.read_bytes().startswith(b"%PDF")
    capsys.readouterr()
    assert main(["export", str(cube)]) == 0
    assert capsys.readouterr().out == table.read_text()
    assert main(["export", str(cube), "--parquet", str(tmp_path / "table.parquet")]) == 0
    assert pd.read_parquet(tmp_path / "table.parquet").mmse.tolist() == written.mmse.tolist()
    assert al.open(cube).mmse.attrs["ancillary_variables"] == "mmse_error"
    capsys.readouterr()
    assert main(["export", str(cube), "--aggregate"]) == 0
    assert "mmse_error" in capsys.readouterr().out


def test_values_of_an_axis(capsys):
    assert main([*CALL, "--alpha", "0,0.05"]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out), comment="#").alpha.tolist() == [0.0, 0.05]
    assert main([*CALL, "--alpha", "0.05"]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out), comment="#").alpha.tolist() == [0.05]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--alpha", "0:1:3", "--depth", "2"],
            "attention-limits: model.depth: unknown key; allowed: beta, channel, ratio, tokens\n",
        ),
        (["--alpha", "-1"], "attention-limits: grid.alpha: -1.0: allowed: a number ≥ 0 and ≤ 1000"),
        (["--alpha", "1,x"], "attention-limits: grid.alpha: "),
        (["--alpha", "1", "--plot", "x.pdf"], "attention-limits: --plot: needs --y, the variable to draw\n"),
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
    assert "model.tokens: a whole number ≥ 2 and ≤ 64, required. Number of tokens T" in capsys.readouterr().out
    assert main(["describe", "attention_indexed"]) == 2
