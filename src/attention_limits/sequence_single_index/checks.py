"""What the schemas of the sequence single-index family cannot say: links that exist, weights that fit the tokens, repetitions."""

import math

from attention_limits.sequence_single_index.link_names import link_file, name_problem

# These have no random numbers: repetitions would be copies.
DETERMINISTIC = ("attention_surface", "information_exponent", "landscape", "phase_diagram", "phase_lines")


# The most Hermite coefficients that information exponents are computed from.
COEFFICIENTS = 10_000


def problems(estimator):
    """Links that do not exist, weights that are neither one nor one per token, too many coefficients, needless repetitions."""
    model, found = estimator.model, []
    if estimator.name in DETERMINISTIC and estimator.replicas > 1:
        found.append((("replicas",), f"{estimator.replicas}: allowed: 1, {estimator.name} has no random numbers"))
    for key in ("target", "student"):
        if key in model and not (key == "target" and model[key] == "hermite"):
            message = name_problem(model[key], estimator.project)
            found += [(("model", key), message)] if message else []
    if "weights" in model:
        # The landscape is drawn for two tokens, and does not read their number.
        lengths = estimator.grid.get("tokens", [model.get("tokens", 2)])
        count = len(model["weights"])
        if count > 1 and any(count != length for length in lengths):
            allowed = ", ".join(f"{length:g}" for length in lengths)
            found.append((("model", "weights"), f"{count} weights; allowed: one, or one per token ({allowed})"))
    solver = estimator.solver
    if solver.get("records", 0) > solver.get("steps", 0) + 1:
        message = f"{solver['records']} of a run of {solver['steps']} steps; allowed: at most one more than the steps"
        found.append((("solver", "records"), message))
    if estimator.name == "information_exponent":
        order = estimator.solver["order"]
        for tokens in estimator.grid.get("tokens", [model.get("tokens", 1)]):
            count = math.comb(int(tokens) + order, order)
            if count > COEFFICIENTS:
                message = f"{order}: {count} Hermite coefficients of {tokens:g} tokens up to this order; allowed: {COEFFICIENTS}"
                found.append((("solver", "order"), message))
    return found


def code_files(estimator):
    """The files of targets and students of one's own."""
    files = (link_file(estimator.model.get(key, ""), estimator.project) for key in ("target", "student"))
    return [path for path in files if path is not None and path.is_file()]
