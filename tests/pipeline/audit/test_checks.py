"""A named check of a number passes, fails, or decides nothing; more samples decide."""

import numpy as np
import pytest

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.checks import COARSEST, FINER, Check, mean_check, refined, require_passed


def test_a_limit_below_the_error_decides_nothing(capsys):
    check = Check("normalisation", 0.9870, 1.0, 0.0176, 0.0200)
    assert check.passed
    too_narrow = Check("normalisation", 0.9995, 1.0, 0.0176, 0.0010)
    assert too_narrow.undecided
    assert not too_narrow.passed
    require_passed("link", [check, too_narrow])
    shown = capsys.readouterr().out
    assert "undecided: the error is too large" in shown
    assert "1 undecided: their errors are too large" in shown
    with pytest.raises(SpecError, match=r"link: violated: normalisation: 1\.2 ± 0\.018"):
        require_passed("link", [Check("normalisation", 1.2, 1.0, 0.0176, 0.0010)])


def test_a_mean_without_accuracy_decides_nothing():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((32, 2))
    assert mean_check("mean", noise).undecided
    # In units of the number itself the same error is small.
    assert mean_check("mean", noise, unit=4.0 / COARSEST).passed
    # A difference beyond the limit fails, however large the error is.
    wrong = mean_check("mean", noise + np.array([0.0, 5.0]))
    assert wrong.failed
    assert not wrong.undecided


def test_more_samples_decide():
    rng, tried = np.random.default_rng(0), []

    def compute(count):
        tried.append(count)
        return [mean_check("mean", rng.standard_normal(count))]

    assert refined(compute, 32)[0].passed
    assert tried == [32, FINER[1] * 32]
    tried.clear()
    assert refined(compute, 4096)[0].passed
    assert tried == [4096]
