"""Target and student of a specification."""

from attention_limits.sequence_single_index.links import hermite_sum, named_link


def links(point, project):
    """(target, student) of the keys target, student, tokens, degree, weights, constant; paths start from the folder `project`."""
    tokens = int(point["tokens"])
    if point["target"] == "hermite":
        target = hermite_sum(tokens, {int(point["degree"]): point["weights"]}, point["constant"])
    else:
        target = named_link(point["target"], tokens, project)
    return target, named_link(point["student"], tokens, project)
