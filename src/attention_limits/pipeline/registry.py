"""Names, symbols, normalisations and sources of all variables and coordinates of the cubes."""

import importlib
from dataclasses import dataclass

# The module of the coordinates that mean the same in every family.
SHARED_REGISTRY = "attention_limits.pipeline.coordinates"


@dataclass(frozen=True)
class Coordinate:
    """A dimension of the cubes and the meaning of its values."""

    name: str
    long_name: str
    symbol: str
    definition: str
    units: str = "1"


@dataclass(frozen=True)
class Variable:
    """A computed quantity.

    `dims` are the dimensions beyond estimator, grid keys and replica, in order. `normalisation` states the divisor or the
    reference of the number, `source` the paper and equation.
    """

    name: str
    dims: tuple[str, ...]
    long_name: str
    symbol: str
    normalisation: str
    source: str
    units: str = "1"


@dataclass(frozen=True)
class Registry:
    """All variables and coordinates of one family, and the paper they come from."""

    source: str
    variables: dict[str, Variable]
    coordinates: dict[str, Coordinate]


def registry(family: str) -> Registry:
    """The registry of a family: its module `attention_limits.<family>.variables` and the shared coordinates.

    Raises ModuleNotFoundError when the family has no such module.
    """
    shared = importlib.import_module(SHARED_REGISTRY)
    own = importlib.import_module(registry_module(family))
    coordinates = (*shared.COORDINATES, *own.COORDINATES)
    return Registry(own.SOURCE, {item.name: item for item in own.VARIABLES}, {item.name: item for item in coordinates})


def registry_module(family: str) -> str:
    """The name of the module that registers the variables of a family."""
    return f"attention_limits.{family}.variables"
