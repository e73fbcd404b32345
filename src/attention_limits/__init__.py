"""Learning limits of attention models in high dimension, in one line each.

`compute` runs an estimator and returns its cube, `thresholds` computes the thresholds of a link or a channel, `estimators` and
`describe` list estimators and their keys. `open` reads a cube, `plot` draws it, `table` tabulates it, and `explore` writes cubes
as a page for a browser. `__version__` is the version of the installed package.

Each name is imported at its first use, so that `import attention_limits` is fast and no number depends on this module. Files of
models may import modules beside them (`pipeline.beside`).
"""

from attention_limits.pipeline import beside as _beside

_beside.install()

_PLACES = {
    "compute": "compute",
    "describe": "describe",
    "estimators": "describe",
    "explore": "explorer",
    "open": "compute",
    "plot": "plot",
    "table": "table",
    "thresholds": "thresholds",
}
__all__ = list(_PLACES)
# True for type checkers and editors.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from attention_limits.interface.compute import compute as compute
    from attention_limits.interface.compute import open as open
    from attention_limits.interface.describe import describe as describe
    from attention_limits.interface.describe import estimators as estimators
    from attention_limits.interface.explorer import explore as explore
    from attention_limits.interface.plot import plot as plot
    from attention_limits.interface.table import table as table
    from attention_limits.interface.thresholds import thresholds as thresholds


def __dir__():
    return __all__


def __getattr__(name):
    if name not in (*_PLACES, "__version__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from attention_limits.interface.extras import extras

    with extras():
        import importlib.metadata

        if name == "__version__":
            return importlib.metadata.version("attention-limits")
        return getattr(importlib.import_module(f"{__name__}.interface.{_PLACES[name]}"), name)
