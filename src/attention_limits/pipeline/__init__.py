"""The pipeline: from an experiment file to cubes, for any family.

- base/: errors, files, random streams, digests of code, variables
- experiments/: keys, grids, experiments, figures, the project
- cubes/: points, chunks, cubes, readings
- audit, checks: published numbers and ours; named checks of an object
- beside, notices: imports from the folder of a user's file; a line for each model of a user that is not compiled
"""
