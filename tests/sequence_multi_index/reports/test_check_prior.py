"""Every provided prior and priors of a user pass all checks of `check_prior`; each check finds a prior that breaks it.

A correct prior fails each of its five statistical checks with the probability 1e-4; the seeds are fixed.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows
from attention_limits.sequence_multi_index.priors.loading import load_prior
from attention_limits.sequence_multi_index.priors.mixture import MixtureRows
from attention_limits.sequence_multi_index.reports.check_prior import check_prior

COUPLED = [[1.0, 0.6], [0.6, 1.0]]
PRIORS = {
    "gaussian": load_prior({}, 2, Path()),
    "gaussian, three rows": load_prior({"prior": {"name": "gaussian"}}, 3, Path()),
    "correlated": load_prior({"prior": {"name": "correlated", "covariance": COUPLED}}, 2, Path()),
    "binary": load_prior({"prior": {"name": "binary", "mean": 0.0}}, 2, Path()),
    "binary, three rows": load_prior({"prior": {"name": "binary", "mean": 0.0}}, 3, Path()),
    "binary with a mean": load_prior({"prior": {"name": "binary", "mean": 0.4}}, 2, Path()),
    "sparse": load_prior({"prior": {"name": "bernoulli_gauss", "density": 0.2}}, 2, Path()),
    "one row": load_prior({"prior": {"name": "bernoulli_gauss", "density": 0.5}}, 1, Path()),
    "ternary": load_prior(
        {
            "prior": {
                "name": "mixture",
                "shares": [0.25, 0.5, 0.25],
                "means": [2**0.5, 0.0, -(2**0.5)],
                "deviations": [0.0, 0.0, 0.0],
            }
        },
        3,
        Path(),
    ),
    # Eight and 20 000 dimensions have whole numbers of each eigenvalue.
    "correlated dimensions": load_prior(
        {"covariance": {"name": "power_law", "count": 8}, "participation_ratio": 0.4}, 2, Path()
    ),
    "correlated rows and dimensions": load_prior(
        {
            "prior": {"name": "correlated", "covariance": COUPLED},
            "covariance": {"name": "eigenvalues", "values": [0.0, 0.5, 3.0], "shares": [0.25, 0.5, 0.25]},
        },
        2,
        Path(),
    ),
    "one block": load_prior({"prior": {"name": "blocks", "blocks": [1, 1]}}, 2, Path()),
    "two blocks": load_prior({"prior": {"name": "blocks", "blocks": [1, 2, 1]}}, 3, Path()),
    # A law of a user: three points, not symmetric.
    "three points": MixtureRows(2, [0.25, 0.5, 0.25], [1.5, -0.5, 1.0], [0.0, 0.0, 0.5]),
}


def failed(prior):
    return [str(check) for check in check_prior(prior) if not check.passed]


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_priors_pass_all_checks(prior):
    assert failed(prior) == []


class Scaled(GaussianRows):
    """One part of the posterior is too large."""

    def __init__(self, part):
        super().__init__(COUPLED)
        self.part = part

    def posterior(self, b, precision):
        found = super().posterior(b, precision)
        return replace(found, **{self.part: 1.1 * getattr(found, self.part)})


class Changed(GaussianRows):
    """One attribute, or the result of one function, is another."""

    def __init__(self, covariance=COUPLED, **changes):
        super().__init__(covariance)
        for name, value in changes.items():
            setattr(self, name, value)


def times(name, factor):
    """The function of this name of a Gaussian prior, its result times a factor."""
    right = getattr(GaussianRows(COUPLED), name)

    def changed(*given, **more):
        found = right(*given, **more)
        return tuple(factor * one for one in found) if isinstance(found, tuple) else factor * found

    return {name: changed}


def shifted(rows):
    """Weights with a mean that the law does not have."""
    right = GaussianRows(COUPLED)
    return {"draw": lambda dimension, generator: right.draw(dimension, generator) + np.array([[0.1], [0.0]]) * rows}


BROKEN = {
    "mean of drawn weights": Changed(**shifted(1.0)),
    "second moment of drawn weights": Changed(**times("draw", 1.1)),
    "second moment of each row": Changed(
        second_moment=1.1 * np.array(COUPLED), subset=lambda rows: GaussianRows([[1.0]])
    ),
    "second moment of the first row alone": Changed(subset=lambda rows: Changed(second_moment=np.array([[1.1]]))),
    "wrong shapes of the posterior": Changed(
        posterior=lambda b, precision: replace(
            found := GaussianRows(COUPLED).posterior(b, precision), covariance=found.covariance[:1]
        )
    ),
    "posterior mean, derivative of log Z": Scaled("mean"),
    "posterior covariance, second derivative of log Z": Scaled("covariance"),
    "denoiser, posterior mean with side information": Changed(**times("denoise", 1.1)),
    "denoiser, its mean derivative": Changed(
        denoise=lambda b, *given: (GaussianRows(COUPLED).denoise(b, *given)[0], 1.1 * np.eye(2))
    ),
    "log Z, change under the sign of the first row": Changed(sign_symmetry="rows"),
    "posterior mean, change under the sign of the first row": Changed(sign_symmetry="rows"),
    "log Z, change under a rotation of the rows": Changed(rotations=True),
    "log Z, change under the sign of all rows": MixtureRows(1, [0.7, 0.3], [1.0, -1.0], [0.0, 0.0]),
    "dPsi_w / dLambda minus Q / 2": Changed(**times("free_entropy", 1.1)),
    "overlap at a small precision": Changed(mean=np.array([0.1, 0.0])),
    "Nishimori identity, E m m^T": Changed(**times("overlap", 1.1)),
    "Nishimori identity, E m w^T": Changed(**times("overlap", 1.1)),
    "Nishimori identity, E Cov + Q": Scaled("covariance"),
}
BROKEN["log Z, change under the sign of all rows"].sign_symmetry = "all"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_prior_fails(name):
    assert any(text.startswith(f"{name}: ") for text in failed(BROKEN[name]))
