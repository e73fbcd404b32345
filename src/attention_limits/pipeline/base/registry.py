"""Names, symbols, normalisations and sources of all variables and coordinates of the cubes."""

import importlib
from dataclasses import dataclass

# Smallest fraction of outputs that a quadrature resolves at a sound point: the limit of the flags `resolved`.
RESOLVED = 0.95


@dataclass(frozen=True)
class Coordinate:
    """A dimension of the cubes and the meaning of its values."""

    name: str
    long_name: str
    symbol: str
    definition: str
    units: str = "1"


# Coordinates that mean the same in every family.
COORDINATES = (
    Coordinate("estimator", "way of computing", "", "name of the estimator in the experiment file"),
    Coordinate(
        "replica", "independent repetition", "r", "number of the repetition, from 0; selects the random streams"
    ),
    Coordinate("iteration", "iteration of the algorithm", "t", "number of updates done"),
    Coordinate(
        "layer", "layer of the student", "l", "from 1, in order of application; row of W where it has no layers"
    ),
    Coordinate("layer_star", "layer of the teacher", "k", "as for the student"),
    Coordinate("token", "token", "a", "position in the sequence, from 1"),
    Coordinate("init", "starting point", "", "where the iteration starts"),
)


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
    """All variables and coordinates of one family or one of its estimators, and the paper they come from."""

    source: str
    variables: dict[str, Variable]
    coordinates: dict[str, Coordinate]


def registry(family: str, estimator: str | None = None) -> Registry:
    """The registry of a family: its module `attention_limits.<family>.variables` and the shared coordinates.

    The module may have `SOURCES` and `OWN`: by estimator another source, and variables with other texts than `VARIABLES`. They
    count where the `estimator` is given. Raises ModuleNotFoundError when the family has no such module.
    """
    module = importlib.import_module(registry_module(family))
    source = getattr(module, "SOURCES", {}).get(estimator, module.SOURCE)
    variables = (*module.VARIABLES, *getattr(module, "OWN", {}).get(estimator, ()))
    coordinates = (*COORDINATES, *module.COORDINATES)
    return Registry(source, {item.name: item for item in variables}, {item.name: item for item in coordinates})


def registry_module(family: str) -> str:
    """The name of the module that registers the variables of a family."""
    return f"attention_limits.{family}.variables"
