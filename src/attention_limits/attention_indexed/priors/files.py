"""Laws of the eigenvalues of S in Python files of the user; nothing in this module compiles."""

from pathlib import Path

from attention_limits.attention_indexed.priors.spectra import Law
from attention_limits.pipeline.base.user_files import execute


def law_of_file(name: str, ratio: float, project: Path) -> Law:
    """The law that the function `name`, path/to/file.py:function below the folder `project`, returns at the ratio rho, `ratio`.

    Raises
    ------
    ValueError
        If there is no such function, if it fails, or returns no `Law` of positive variance.
    """
    path, _, wanted = name.rpartition(":")
    file = Path(project) / path
    if not file.is_file():
        raise ValueError(f"the spectrum {name} needs the file {file}, which does not exist")
    function = getattr(execute(file), wanted, None)
    if not callable(function):
        raise ValueError(f"{file} defines no function {wanted!r}")
    try:
        law = function(ratio)
    except Exception as error:
        raise ValueError(f"the spectrum {name} fails at ratio {ratio:g}: {type(error).__name__}: {error}") from error
    if not isinstance(law, Law):
        raise ValueError(f"the spectrum {name} must return a Law of spectra, not {type(law).__name__}")
    if not law.variance > 0:
        raise ValueError(f"the spectrum {name} at ratio {ratio:g}: the eigenvalues must differ")
    return law
