"""What an experiment of this family may say, and what a cube holds. Each class holds the keys of one estimator or of data.

In reading order:

- keys: keys that several estimators share
- bayes, published, thresholds, training, erm: one class per estimator
- checks: what must hold between keys; problems are found before anything is computed
- variables_erm, variables_thresholds, variables_training: variables of the cubes beside those of `variables.py`

May import it: specs, variables and reports; no solver and no estimator.
"""
