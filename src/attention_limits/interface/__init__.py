"""The library for users: `compute`, `thresholds`, `describe`, `plot`, `table` and `explore`, without an experiment file."""
