"""What an experiment of this family may say, and what a cube holds. Each class holds the keys of one estimator.

In reading order:

- keys: keys that several estimators share
- one_layer, two_layers, untied, erm: one class per estimator
- thresholds: a question for thresholds
- checks: what must hold between keys; problems are found before anything is computed
- variables_erm: variables of the cubes beside those of `variables.py`

May import it: specs, variables and reports; no solver and no estimator.
"""
