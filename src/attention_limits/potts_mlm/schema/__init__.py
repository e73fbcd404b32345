"""What an experiment of this family may say, and what a cube holds. Each class holds the keys of one estimator or of data.

In reading order:

- keys: keys that several estimators share
- samples, training, proteins, many_body: one class per estimator or kind of data
- checks, checks_proteins: what must hold between keys; problems are found before anything is computed
- variables_training, variables_proteins, variables_many_body: variables of the cubes beside those of `variables.py`

May import it: specs and variables; no solver and no estimator.
"""
