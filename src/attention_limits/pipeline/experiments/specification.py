"""Base classes of the specifications that the `specs.py` of every family lists; `messages` words their errors.

One class describes one estimator, or one kind of data. Its sections `model`, `grid` and `solver` are classes too.
A field has a range, perhaps a default, and a description with the normalisation:

    Alpha = Annotated[float, Field(ge=0, le=100, description="Samples per dimension, n / D.")]

    class Grid(Section):
        alpha: Axis[Alpha]

Numbers are strict: text and truth values are no numbers. `Whole` accepts 1.0e+3 for 1000.
"""

import functools
import math
from collections.abc import Iterable, KeysView
from pathlib import Path
from typing import Annotated, ClassVar, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from attention_limits.pipeline.base.errors import shown

# The path of keys to a value, and a message about the value.
Problem = tuple[tuple[str, ...], str]


def _whole(value):
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _of_file(values):
    def wrong(value):
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        kinds = str | bool | int | float | list | dict | None
        return (
            not isinstance(value, kinds)
            or (isinstance(value, float) and not math.isfinite(value))
            or any(map(wrong, inner))
        )

    for key, value in values.items():
        if not isinstance(key, str) or wrong(value):
            raise ValueError(
                f"{key}: {shown(value)}: allowed: finite numbers, texts, true or false, null, and lists of them"
            )
    return values


Whole = Annotated[int, BeforeValidator(_whole)]
# Keyword arguments of a function or class in a file of the user, which a file of results can hold.
Arguments = Annotated[dict, AfterValidator(_of_file)]
ONE_VALUE = "One value of the axis"
# A name in targets and in the lines of the shell.
NAME = "^[a-z][a-z0-9_]*$"
Name = Annotated[str, Field(pattern=NAME)]


class Section(BaseModel):
    """A mapping with known keys."""

    # A class is built when it validates for the first time: a job needs one of many.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    def plain(self) -> dict:
        """The values as plain data, without the keys that have no value."""
        return self.model_dump(exclude_none=True)


class Range(Section):
    """Evenly spaced values, both ends included, and further ones."""

    start: float = Field(description="First value.")
    stop: float = Field(description="Last value, included.")
    num: Whole = Field(ge=1, le=100_000, description="Number of values.")
    spacing: Literal["linear", "log"] = Field(
        "linear", description="Even spacing of the values or of their logarithms."
    )
    also: list[float] = Field(
        [],
        max_length=100_000,
        description="Further values of the axis, such as those that `attention-limits refine` adds.",
    )


class Values(Section):
    """A list of values."""

    values: list[Annotated[float, Field(description=f"{ONE_VALUE}.")]] = Field(
        min_length=1, max_length=100_000, description="The values, strictly increasing."
    )


# The axis of a grid key. A file writes a Range, or Values, or the word model for the value of the key in the model.
# `pipeline.experiments.experiment` expands the axis to a list before it calls a class.
Axis = list


class Nothing(Section):
    """No keys."""


class Resources(Section):
    """Threads, memory and time of one job. They never change a number."""

    threads: Whole = Field(1, ge=1, le=1024, description="Cores of one job.")
    memory: Whole = Field(1000, ge=100, description="Memory of one job in megabytes.")
    minutes: Whole = Field(
        60, ge=1, description="Longest run time of one job in minutes. Jobs of more minutes start first."
    )


_ValuesOfJob = Annotated[Whole, Field(ge=1, description="Number of values of this key in one job.")]


class DataSpecification(Section):
    """One kind of data that estimators read: one file holds some replicas of one grid value."""

    # Keys of the model of a file that this class must not leave to its other estimators: with them its numbers would be those of
    # another problem.
    refuses: ClassVar[frozenset[str]] = frozenset()

    model: Section = Nothing()
    grid: Section = Nothing()
    solver: Section = Nothing()
    replicas: Whole = Field(1, ge=1, le=1_000_000, description="Number of independent repetitions at each grid value.")
    chunk: dict[str, _ValuesOfJob] = Field({}, description="Number of replicas in one file; without this key, one.")
    resources: Resources = Resources()

    @classmethod
    def cross_checks(cls, estimator) -> Iterable[Problem]:
        """Problems of several keys together, of an expanded `estimator.Estimator` whose single keys are valid.

        Paths that begin with `model` are paths of the file; all others are below the estimator.
        """
        return ()

    @classmethod
    def code_files(cls, estimator) -> Iterable[Path]:
        """Files outside of the package whose bytes decide the numbers."""
        return ()

    @classmethod
    def code_modules(cls, estimator) -> Iterable[str]:
        """Modules of the package that decide the numbers although no import names them."""
        return ()

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """Powers of keys of grid, solver, model and data. Their product estimates how the CPU time of a point grows.

        A key that the estimator does not have counts as constant. `attention-limits estimate` prints these powers.
        """
        return {}


class Specification(DataSpecification):
    """One estimator. An estimator that reads data adds the key `reads` with the names of the data that it can read."""

    chunk: dict[str, _ValuesOfJob] = Field(
        {}, description="Numbers of values in one job, by grid key and for replicas; without a key, all values."
    )


@functools.cache
def fields(cls: type[Section], section: str) -> KeysView[str]:
    """The keys of a section of a specification, in the order of its class."""
    return cast(type[Section], cls.model_fields[section].annotation).model_fields.keys()
