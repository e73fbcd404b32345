"""What an experiment of this family may say. Each class holds the keys of one estimator.

In reading order:

- keys: keys that several estimators share
- links: keys of targets and students
- theory, sgd: one class per estimator
- checks: what must hold between keys; problems are found before anything is computed

May import it: specs, variables and reports; no solver and no estimator.
"""
