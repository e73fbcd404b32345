"""The pipeline: from an experiment file to cubes, for any family.

- base/: errors, files, random streams, digests of code, variables
- experiments/: keys, grids, experiments, figures, the project
- cubes/: points, chunks, cubes, readings
- audit, checks: published numbers and ours; named checks of an object
- beside, notices: a file of a user imports modules beside it; a line where a model of a user is not compiled
"""
