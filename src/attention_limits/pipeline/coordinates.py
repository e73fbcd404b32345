"""Coordinates that mean the same in every family."""

from attention_limits.pipeline.registry import Coordinate

COORDINATES = (
    Coordinate("estimator", "way of computing", "", "name of the estimator in the experiment file"),
    Coordinate(
        "replica", "independent repetition", "r", "number of the repetition, from 0; selects the random streams"
    ),
    Coordinate("iteration", "iteration of the algorithm", "t", "number of updates done"),
    Coordinate(
        "layer", "layer of the student", "l", "from 1, in order of application; row of W where it has no layers"
    ),
    Coordinate("layer_star", "layer of the teacher", "k", "as for the student"),
    Coordinate("token", "token", "a", "position in the sequence, from 1"),
    Coordinate("init", "starting point", "", "where the iteration starts"),
)
