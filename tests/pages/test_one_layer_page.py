"""The calls of docs/attention_indexed_one_layer.md, with the numbers that the page shows, and the refusals of the denoiser."""

import re
import shlex

import pytest

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.pipeline.base.errors import SpecError
from toy import REPOSITORY

TEXT = (REPOSITORY / "docs" / "attention_indexed_one_layer.md").read_text(encoding="utf-8")
NUMBER = r"\d+\.?\d*"
COMMANDS = re.findall(r"^\$ attention-limits (.*)\n((?:[^$`].*\n)+)", TEXT, flags=re.MULTILINE)


def test_the_denoiser_in_python():
    (call,) = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
    begin, shown = call.split("# ")
    found = eval(begin.removeprefix("import attention_limits as al").strip(), {"al": al})
    assert found == pytest.approx([float(x) for x in shown.split(", ")], abs=1e-4)


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command.split()[0] for command, _ in COMMANDS])
def test_a_command_prints_what_the_page_shows(command, shown, capsys):
    assert main(shlex.split(command)) in (None, 0)
    printed = capsys.readouterr().out.removesuffix("\n")
    first = printed.find(shown.split("\n")[0])
    assert re.sub(NUMBER, "", printed[first:]) == re.sub(NUMBER, "", shown.removesuffix("\n"))
    # The page shows rounded numbers.
    numbers = [[float(x) for x in re.findall(NUMBER, text)] for text in (printed[first:], shown)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-4)


UNTIED = {"ratio": 0.5, "untied": True}


@pytest.mark.parametrize(
    "model",
    [UNTIED | {"aspect": 1.01}, UNTIED | {"aspect": 2000.0}, UNTIED | {"ratio": 20.0, "aspect": 2.0},
     {"ratio": 0.5, "aspect": 2.0}, {"ratio": 0.0}, {"ratio": 0.5, "spectrum": "absent.py:law"}, {"ratio": 0.5, "noise": 1.0}],
    ids=str,
)  # fmt: skip
def test_the_denoiser_refuses_what_the_state_evolution_refuses(model, capsys):
    """The same law of S in both, and in Python and the shell."""
    texts = []
    for estimator, more, grid in (
        ("denoising", {}, {"denoising_noise": [0.1]}),
        ("state_evolution", {"channel": "linear", "tokens": 1}, {"alpha": [0.1]}),
    ):
        with pytest.raises(SpecError) as error:
            al.compute(f"attention_indexed.{estimator}", {**more, **model}, grid)
        texts.append(str(error.value).partition("; allowed: ")[0])
    assert texts[0] == texts[1]
    given = [word for key, value in model.items() for word in (f"--{key}", str(value).lower())]
    assert main(["compute", "attention_indexed.denoising", *given, "--denoising_noise", "0.1"]) == 2
    assert texts[0] in capsys.readouterr().err


@pytest.mark.parametrize("noise", ["-1", "0", "2000", "nan"])
def test_the_denoiser_refuses_noise_outside_of_its_range(noise, capsys):
    assert main(["compute", "attention_indexed.denoising", "--ratio", "0.5", f"--denoising_noise={noise}"]) == 2
    assert "grid.denoising_noise: " in capsys.readouterr().err
    with pytest.raises(SpecError, match=r"grid\.denoising_noise(\[0\])?: "):
        al.compute("attention_indexed.denoising", {"ratio": 0.5}, {"denoising_noise": [float(noise)]})
