"""From the files of `config/` to estimators with all defaults: validated, expanded, cut into chunks.

In reading order:

- specification, messages: base classes of all keys, and messages about wrong values
- yaml_reader: strict YAML 1.2
- grid: axes and chunks
- experiment: an experiment file with its model and its scale
- estimator, figures: each knows its files and its digest
- project: all of `config/` and the options of a run
- estimate, refine: CPU hours that are left; further values where a curve bends

May import it: `cubes`, `audit`, the schemas of the families, `interface` and `cli`.
"""
