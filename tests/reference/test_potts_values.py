"""Literal values computed independently of this package, with the accuracy their sources state."""

import numpy as np
import pytest

from attention_limits.potts_mlm.factored_attention import fit, losses, site_error
from attention_limits.potts_mlm.gibbs import Ladder, compare
from attention_limits.potts_mlm.potts import Potts, color_couplings, site_couplings
from attention_limits.potts_mlm.replica import closed_form


@pytest.mark.parametrize(
    ("ridge", "alpha", "error"),
    [
        (0.0, 0.5, 0.876894374382), (0.0, 0.95, 8.06504495005), (0.0, 1.1, 4.4), (0.01, 0.5, 0.81085425), (0.01, 1.0, 1.51071819),
        (0.01, 2.0, 0.76425739), (0.1, 1.1, 0.676344545764), (1.0, 0.5, 0.48650593), (1.0, 1.0, 0.47811702),
        (1.0, 2.0, 0.46654645), (2.5, 0.55, 0.483551816189),
    ],
)  # fmt: skip
def test_generalisation_error_at_gamma_2_5(ridge, alpha, error):
    """Saddle-point iteration by a separate program, printed to 8 digits or more."""
    assert float(closed_form(2.5, ridge, alpha).generalization) == pytest.approx(error, abs=6e-9)


@pytest.mark.parametrize(
    ("ridge", "samples", "error", "standard_error"),
    [
        (0.01, 160, 0.722180480393, 0.006382485213), (1.0, 160, 0.488690105187, 0.002205854790),
        (0.0, 319, 2.044424208824, 0.038600421151), (0.1, 439, 0.678469360349, 0.004286911805),
        (0.0, 798, 0.802809934741, 0.006754288514), (1.0, 1995, 0.446234818541, 0.001737669658),
    ],
)  # fmt: skip
def test_theory_agrees_with_an_independent_simulation(ridge, samples, error, standard_error):
    """60 matrices of 400 sites at gamma = 2.5; 4.5 standard errors (t, 59 degrees, 6 values: false-alarm rate below 3e-4)."""
    assert float(closed_form(2.5, ridge, samples / 399).generalization) == pytest.approx(
        error, abs=4.5 * standard_error
    )


def test_excess_loss_and_error_at_the_size_of_the_paper():
    """C = L = 20, Gaussian J and U, M = 3000 at d_H of about 0.7. An independent program found, for another instance at
    d_H = 0.683, an excess loss of 0.0065 against P / (2 M L) = 0.0063 with P = 759, and err_J = 0.114 (0.063 at M = 10 000). The
    excess of one data set has a relative standard error of sqrt(2 / P) = 5 %: 25 % is allowed; err_J varies with instance and
    temperature: a factor 2."""
    rng = np.random.default_rng(1)
    model = Potts(site_couplings("gaussian", 20, rng), color_couplings("gaussian", 20, rng))
    runs = []
    for child in rng.spawn(2):
        ladder = Ladder(model, [0.0, 0.12, 0.22, 0.29, 0.34, 0.38, 0.42], child)
        ladder.sample(50, 20)
        runs.append(ladder.sample(3000, 20))
    agreement = compare(*runs, 20)
    assert agreement.converged(1.05).all()
    assert agreement.distance[-1].mean() == pytest.approx(0.7, abs=0.05)
    training, test = (run.states[:, -1] for run in runs)
    fitted = fit(training, 20, rng, ridge=1e-6)
    excess = losses(fitted.attention, fitted.values, test).mean() - losses(0.42 * model.J, model.U, test).mean()
    assert excess == pytest.approx(759 / (2 * 3000 * 20), rel=0.25)
    assert 0.057 < site_error(fitted.attention, model.J) < 0.228
