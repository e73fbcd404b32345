"""Numerical tools that know of no model: nodes, series, fixed points, estimators."""
