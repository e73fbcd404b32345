"""SGD of any student and target of the fields of a sequence."""

import functools

import numpy as np

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_single_index.estimators.sgd.runs import records_of, sgd_dataset
from attention_limits.sequence_single_index.large_dimension.any_student_flow import flows, with_error
from attention_limits.sequence_single_index.links.geometry import alternating
from attention_limits.sequence_single_index.sgd import any_student

# Of the nodes of the flow, beyond two tokens.
SCRAMBLINGS = 4


def problem_of(model, project):
    """The problem that a `model` describes; paths of functions start from the folder `project`.

    Raises SpecError if numba cannot compile its functions, or if they do not fit together.
    """
    tokens = int(model["tokens"])
    words = {key: model[key] for key in ("degree", "weights", "constant")}
    gram = model["position"]
    if isinstance(gram, str):
        gram = alternating(tokens) if gram == "alternating" else None
    try:
        target, student = (
            any_student.sequence_function(model[key], tokens, project, **words) for key in ("target", "student")
        )
        gram = None if gram is None else tuple(map(tuple, gram))
        given = model["position_overlap"]
        shifts = tuple(np.broadcast_to(given, (tokens,))) if len(given) else None
        problem = any_student.LinkProblem(target, student, tokens, model["loss"], gram, model["untied"], shifts)
        any_student.compiled(problem)
    except ValueError as error:
        raise SpecError([f"target {model['target']}, student {model['student']}: {error}"]) from None
    return problem


def start_of(problem, model, dimension):
    """Overlaps (r + 1,) with the basis of the positions and with the teacher at the start, if it is not random."""
    size = dimension**-0.5 if model["start"] == "overlapped" else 0.0
    return np.full(problem.components.shape[1] + 1, size)


def rate_of(model, dimension):
    """Learning rate c d^(-learning_rate_exponent)."""
    return model["learning_rate"] * dimension ** -model["learning_rate_exponent"]


def run(spec, streams):
    """Escape steps, sizes of the overlaps over the tokens, and the flow from the same start (see `variables`)."""
    model, solver = spec["model"], spec["solver"]
    batch, random = int(model["batch"]), model["start"] == "random"

    @functools.cache
    def of_length(tokens):
        return problem_of({**model, "tokens": tokens}, spec["project"])

    def settings(point):
        dimension, problem = int(point["dimension"]), of_length(int(point["tokens"]))
        return problem, dimension, rate_of(point, dimension), start_of(problem, model, dimension)

    def simulate(point, schedule, generators):
        problem, dimension, rate, start = settings(point)
        starts = [
            any_student.random_overlaps(problem, dimension, generator) if random else start for generator in generators
        ]
        return any_student.simulate(problem, dimension, rate, starts, schedule, generators, batch)

    def size(which):
        def of_state(state, point):
            overlaps = any_student.overlaps(of_length(int(point["tokens"])), state)[which]
            return np.sqrt(np.mean(overlaps**2, axis=-1))

        return of_state

    observables = {"semantic_size": size(0), "positional_size": size(1)}

    def flow(point):
        problem, dimension, rate, start = settings(point)
        steps = records_of(solver)
        found = {"flow_step": np.nan, "flow_step_error": np.nan}
        found |= {f"{name}_flow": np.full(len(steps), np.nan) for name in observables if len(steps)}
        # The flow of a start at which all overlaps vanish does not move; that of a random start differs for each run.
        if random or not np.any(start):
            return found
        generators = [streams.generator("flow", replica) for replica in range(SCRAMBLINGS)]
        several = flows(problem, rate, generators, batch)
        # Nothing is compared with the flow after runs of fixed length, and at a large learning rate its equation is stiff.
        end = np.inf if solver.stop else solver.steps / dimension

        def escape(flow):
            return dimension * flow.escape_time(start, model["threshold"], end)

        found["flow_step"], found["flow_step_error"] = with_error(several, escape)
        if len(steps):
            path = several[0].path(start, steps / dimension)
            found |= {f"{name}_flow": function(path, point) for name, function in observables.items()}
        return found

    dims = {f"{name}_flow": ("step",) for name in observables}
    return sgd_dataset(spec, streams, simulate, lambda point: point["threshold"], observables, flow, dims)
