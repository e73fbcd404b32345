"""Every provided law of S and laws of a user pass all checks of `check_prior`; each check finds a law that breaks it.

A correct law fails each of its statistical checks, about ten, with the probability 1e-4; the seeds are fixed.
"""

from pathlib import Path

import numpy as np
import pytest

from attention_limits.attention_indexed.model.sizes import Sizes, width
from attention_limits.attention_indexed.priors.loading import load_prior
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.priors.wishart import Wishart
from attention_limits.attention_indexed.reports.check_prior import check_prior

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[1] / "spectra_of_files.py"
CONFIG = Path(__file__).parents[3] / "config/attention_indexed/spectra/low_rank_and_bulk.py"
LAWS = [
    *({"ratio": ratio, "untied": untied} for untied in (False, True) for ratio in (0.1, 0.5, 2.0)),
    *({"ratio": ratio, "untied": True, "aspect": aspect} for ratio, aspect in ((0.5, 4.0), (0.3, 0.5))),
    {"ratio": 0.2, "spectrum": f"{FILE}:semicircle"},
    {"ratio": 0.2, "spectrum": f"{FILE}:spiked"},
    {"ratio": 0.1, "spectrum": f"{CONFIG}:law"},
]


def failed(prior, dimension=60, ratio=0.5):
    found = check_prior(prior, Sizes(1, dimension, width(ratio, dimension)))
    return [str(check) for check in found if not check.passed]


@pytest.mark.parametrize("model", LAWS, ids=lambda model: " ".join(str(x).rpartition("/")[2] for x in model.values()))
def test_laws_pass_all_checks(model):
    assert failed(load_prior(model, Path()), 100, model["ratio"]) == []


def scaled(name, factor):
    """A Wishart law with one number, or the result of one function, times a factor."""

    def changed(self, *given):
        return factor * getattr(Wishart, name)(self, *given)

    number = isinstance(vars(Wishart).get(name), property)
    value = property(lambda self: factor * getattr(Wishart(self.ratio), name)) if number else changed
    return _realised(type("Scaled", (Wishart,), {name: value}))


def _realised(kind, base=Wishart):
    """A law of ratio one half that stays of its kind."""
    kind.realised = lambda self, size: kind(base(self.ratio).realised(size).ratio)
    return kind(0.5)


class Estimate(Wishart):
    """An estimate that is too large."""

    def denoise(self, matrix, noise):
        estimate, slope = super().denoise(matrix, noise)
        return 1.5 * estimate, slope


class Response(Wishart):
    """A mean derivative that is too large."""

    def denoise(self, matrix, noise):
        estimate, slope = super().denoise(matrix, noise)
        return estimate, 1.2 * slope


class Fixed(Wishart):
    """An estimate that knows the axes."""

    def denoise(self, matrix, noise):
        estimate, slope = super().denoise(matrix, noise)
        return estimate + 1e-3 * np.diag(np.arange(len(matrix)) % 2), slope


class Square(Product):
    """An estimate of the wrong shape."""

    def denoise(self, matrix, noise):
        estimate, slope = super().denoise(matrix, noise)
        return estimate[:-1], slope


class Drawn(Wishart):
    """Matrices that are too large."""

    def draw(self, size, generator):
        return 1.2 * super().draw(size, generator)


class Reversed(Wishart):
    """A spectrum in descending order."""

    def spectrum(self, matrix):
        return super().spectrum(matrix)[::-1]


class Wavy(Wishart):
    """An error that falls somewhere, and exceeds its bounds."""

    def mmse(self, noise):
        return super().mmse(noise) * (1.0 + 0.3 * np.sin(3.0 * np.log(noise)))


BROKEN = {
    "error of the denoiser, D = 0.2": _realised(Estimate),
    "Nishimori identity, tr E[S|Y] (S - E[S|Y])^T / d, D = 1": _realised(Estimate),
    "D times the mean derivative of the denoiser, D = 0.2": _realised(Response),
    "slope of the denoiser minus its mean derivative, D = 0.2": _realised(Response),
    "denoiser, change under rotations, D = 0.2": _realised(Fixed),
    "wrong shape of the estimate, D = 1": _realised(Square, Product),
    "tr S S^T / d of drawn matrices": _realised(Drawn),
    "tr S / d of drawn matrices": _realised(Drawn),
    "spectrum that is not ascending": _realised(Reversed),
    "mmse(D) / (2 nu D) at small D": scaled("effective_dimension", 1.2),
    "mmse(D) at large D": scaled("mmse", 1.2),
    "excess of mmse(D) over D and over 1": scaled("mmse", 1.2),
    "largest decrease of mmse(D) with D": _realised(Wavy),
    "Q": scaled("Q", 1.2),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_law_fails(name):
    assert any(text.startswith(f"{name}: ") or text.startswith(f"{name},") for text in failed(BROKEN[name]))
