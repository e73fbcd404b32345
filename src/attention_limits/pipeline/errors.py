"""The two kinds of bad input: a specification a person wrote, and a data file on disk."""


class SpecError(ValueError):
    """A configuration file is wrong. `problems` holds one line for each thing that is wrong."""

    def __init__(self, problems: list[str]):
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class CubeError(ValueError):
    """A data file is missing, damaged or not the one asked for. `problems` holds one line each."""

    def __init__(self, problems: list[str]):
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))
