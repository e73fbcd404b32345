"""Priors of the weights by the keys of a model (the laws: `gaussian` and `mixture`; Troiani et al. 2025, arXiv:2502.00901)."""

from collections.abc import Mapping

from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows, standard_normal
from attention_limits.sequence_multi_index.priors.prior import Prior


def load_prior(section: Mapping | None, rows: int) -> Prior:
    """The prior of P = `rows` rows that `section`, the key `prior` of a model, describes (`schema.keys`).

    Without a section the weights are standard normal.

    Raises
    ------
    ValueError
        If a covariance is not that of `rows` rows, or there are too many rows.
    """
    # The quadratures of a mixture are imported only where one is used.
    section = section or {"name": "gaussian"}
    if section["name"] == "gaussian":
        return standard_normal(rows)
    if section["name"] == "correlated":
        sizes = {len(section["covariance"]), *map(len, section["covariance"])}
        if sizes != {rows}:
            raise ValueError(f"covariance: allowed: {rows} rows of {rows} numbers, the number of rows of W")
        return GaussianRows(section["covariance"])
    from attention_limits.sequence_multi_index.priors.mixture import MixtureRows, bernoulli_gauss, binary

    if section["name"] == "mixture":
        return MixtureRows(rows, section["shares"], section["means"], section["deviations"])
    return binary(rows, section["mean"]) if section["name"] == "binary" else bernoulli_gauss(rows, section["density"])
