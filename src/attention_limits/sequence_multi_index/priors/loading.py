"""Priors of the weights by the keys of a model (the laws: `gaussian`, `blocks`, `correlated_dimensions` and `mixture`; Troiani et
al. 2025, arXiv:2502.00901).
"""

import inspect
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.pipeline.base.user_files import object_of_file, require_parameters, user_file
from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows, standard_normal
from attention_limits.sequence_multi_index.priors.prior import Prior


def load_prior(model: Mapping, rows: int, project: Path) -> Prior:
    """The prior of P = `rows` rows by the keys `prior`, `covariance` and `participation_ratio` of a `model`.

    Files are below `project`.

    Without the keys the weights are standard normal, and the dimensions of a token independent.

    Raises
    ------
    ValueError
        If a covariance is not that of `rows` rows, there are too many rows, the dimensions of a token are correlated for weights
        that are not Gaussian, or as `spectrum.load_spectrum` and `mixture_of_file`.
    """
    rows_alone = _prior_of_rows(model.get("prior") or {"name": "gaussian"}, rows, project)
    ratio, covariance = model.get("participation_ratio"), model.get("covariance")
    if covariance is None and ratio is None:
        return rows_alone
    if covariance is None:
        raise ValueError("participation_ratio: leave it out; it belongs to a covariance of the dimensions of a token")
    if not (rows_alone.gaussian and rows_alone.isotropic):
        raise ValueError(
            f"covariance: the weights are {model['prior']['name']}; allowed: gaussian, correlated; the eigenbasis of the "
            "covariance mixes the dimensions, and only Gaussian weights of the same law in all of them stay independent"
        )
    from attention_limits.sequence_multi_index.priors.correlated_dimensions import CorrelatedDimensions
    from attention_limits.sequence_multi_index.priors.spectrum import load_spectrum

    return CorrelatedDimensions(rows_alone.second_moment, load_spectrum(covariance, ratio, project))


def spectrum_file(model: Mapping, project: Path) -> Path | None:
    """The file below `project` that the key `covariance` of a `model` names, if any."""
    path = (model.get("covariance") or {}).get("path")
    return None if path is None else user_file(project, path)


def prior_file(model: Mapping, project: Path) -> Path | None:
    """The Python file below `project` that the key `prior` of a `model` names, if any."""
    path = (model.get("prior") or {}).get("path")
    return None if path is None else user_file(project, path.rpartition(":")[0])


def mixture_of_file(section: Mapping, project: Path) -> np.ndarray:
    """Shares, means and deviations (3, J) of the J parts that the function of a prior `section` lists, below `project`.

    Raises ValueError if there is no such function, if it fails, or if it lists no (share, mean, deviation).
    """
    name, parameters = section["path"], section.get("parameters") or {}
    made = object_of_file("prior", name, project, "function {}", callable)
    allowed = list(inspect.signature(made).parameters)
    if unknown := sorted(set(parameters) - set(allowed)):
        raise ValueError(
            f"{', '.join(unknown)}: no parameter of the prior {name}; {allowed_names(unknown[0], allowed)}"
        )
    require_parameters(name, made, parameters)
    try:
        found = list(made(**parameters))
        parts, again = (np.array([tuple(part) for part in law], dtype=float) for law in (found, made(**parameters)))
    except (Exception, SystemExit) as error:
        raise ValueError(f"the prior {name}: {type(error).__name__}: {error}") from None
    if parts.ndim != 2 or parts.shape[1] != 3 or not np.all(np.isfinite(parts)):
        raise ValueError(f"the prior {name} must return a list of numbers (share, mean, deviation), returns {found!r}")
    if not np.array_equal(parts, again):
        raise ValueError(f"the prior {name} is random: two calls differ")
    return parts.T


def _prior_of_rows(section: Mapping, rows: int, project: Path) -> Prior:
    # A law is imported only where it is used: an edit of it runs no other job.
    if section["name"] == "gaussian":
        return standard_normal(rows)
    if section["name"] == "correlated":
        sizes = {len(section["covariance"]), *map(len, section["covariance"])}
        if sizes != {rows}:
            raise ValueError(f"prior.covariance: allowed: {rows} rows of {rows} numbers, the number of rows of W")
        return GaussianRows(section["covariance"])
    if section["name"] == "blocks":
        if len(section["blocks"]) != rows:
            raise ValueError(
                f"prior.blocks: allowed: {rows} numbers, one for each row of W, got {len(section['blocks'])}"
            )
        from attention_limits.sequence_multi_index.priors.blocks import BlockRows

        return BlockRows(section["blocks"])
    from attention_limits.sequence_multi_index.priors.mixture import MixtureRows, bernoulli_gauss, binary

    if section["name"] == "file":
        return MixtureRows(rows, *mixture_of_file(section, project).tolist())
    if section["name"] == "mixture":
        return MixtureRows(rows, section["shares"], section["means"], section["deviations"])
    return binary(rows, section["mean"]) if section["name"] == "binary" else bernoulli_gauss(rows, section["density"])
