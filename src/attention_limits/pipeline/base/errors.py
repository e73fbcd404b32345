"""The two kinds of bad input: a specification, and a data file on disk."""

from collections.abc import Iterable


class SpecError(ValueError):
    """A configuration file is wrong. `problems` holds one line for each problem."""

    def __init__(self, problems: Iterable[str]):
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class CubeError(ValueError):
    """A data file is missing, damaged or not the requested one. `problems` holds one line for each problem."""

    def __init__(self, problems: Iterable[str]):
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))
