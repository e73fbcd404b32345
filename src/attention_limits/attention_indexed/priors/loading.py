"""Laws of S by the keys of a model: those provided by this package, and laws of eigenvalues in Python files of the user.

Classes are imported by name, so that an edit of one law concerns no other one; `code_modules` lists what a model uses. Nothing in
this module compiles before a law is loaded.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from attention_limits.attention_indexed.model.sizes import aspect_problem
from attention_limits.attention_indexed.priors.prior import Prior


def load_prior(model: Mapping, project: Path) -> Prior:
    """The law of S of the keys `ratio`, `spectrum`, `untied` and `aspect` of a specification, with files below `project`.

    Raises ValueError as `spectra.law_of_file`, for a spectrum of an untied model, and as `model.sizes.aspect_problem`.
    """
    untied, aspect, spectrum = model.get("untied", False), model.get("aspect", 1.0), model.get("spectrum")
    problem = aspect_problem(aspect, untied, model["ratio"])
    if problem:
        raise ValueError(f"aspect: {problem}")
    if untied and spectrum is not None:
        raise ValueError(f"spectrum: {spectrum}: eigenvalues of a symmetric S; allowed: untied: false")
    module, _, name = _place(untied, aspect, spectrum).partition(":")
    law = getattr(import_module(f"{__package__}.{module}"), name)
    if name == "RectangularProduct":
        return law(model["ratio"], aspect)
    if name == "Invariant":
        spectra = import_module(f"{__package__}.spectra")
        return law(spectra.law_of_file(spectrum, model["ratio"], project))
    return law(model["ratio"])


def code_modules(model: Mapping) -> list[str]:
    """The modules that hold the law of a `model` (keys as in `load_prior`)."""
    spectrum = model.get("spectrum")
    own = _place(model.get("untied", False), model.get("aspect", 1.0), spectrum).partition(":")[0]
    return [f"{__package__}.{module}" for module in (own, *(["spectra"] if spectrum is not None else []))]


def _place(untied: bool, aspect: float, spectrum: str | None) -> str:
    """Module of this folder, and class in it; square S of untied attention has a law in closed form."""
    if untied:
        return "product:Product" if aspect == 1 else "rectangular:RectangularProduct"
    return "wishart:Wishart" if spectrum is None else "invariant:Invariant"
