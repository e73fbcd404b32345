"""Learning limits of attention models in high dimension: compute, describe, plot and tabulate in one line each.

Nothing is imported before it is asked for, so that `import attention_limits` is fast and no number depends on this module.
"""

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


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    try:
        return getattr(importlib.import_module(f"{__name__}.interface.{_PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        from attention_limits.interface.extras import missing

        raise missing(error) from None
