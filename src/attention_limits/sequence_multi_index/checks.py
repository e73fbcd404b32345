"""Checked before any job: the link exists, is sound, and can be inferred from; sizes fit into the memory; files are required."""

import math
from pathlib import Path

from attention_limits.sequence_multi_index.gaussian_sequences import sample_count
from attention_limits.sequence_multi_index.links.checking import problems_of
from attention_limits.sequence_multi_index.links.link import inference
from attention_limits.sequence_multi_index.links.loading import NOT_OF_THE_LINK, code_file, code_module, load_link

# Kinds that only run the link forward; all others with a link infer from its output.
FORWARD_ONLY = frozenset({"gaussian_sequences", "batch_reuse_sgd", "online_sgd"})
DESCENTS = frozenset({"batch_reuse_sgd", "online_sgd"})
# Sobol sequences have at most so many dimensions: the Gaussian variables of a node.
MOST_VARIABLES = 21201
# Linear attention of L layers is a polynomial of degree 2 * 3^(L - 1), whose moments no nodes reach for more.
LINEAR_LAYERS = 3
# Megabytes of a job without its arrays, and numbers that a posterior holds for each output, in units of (P M)^2.
BASE_MEGABYTES, POSTERIOR_COPIES = 300, 14
# Beyond this the quick check alone takes minutes, and no number of nodes samples the posterior.
MOST_ROWS = 128


def problems(estimator) -> list[tuple[tuple[str, ...], str]]:
    """What is wrong with the link of an estimator, at every value of each of its parameters that is scanned."""
    if estimator.name == "trec":
        return _unrequired_files(estimator) + _training_problems(estimator)
    if estimator.name in DESCENTS:
        found = _batch_problems(estimator)
        if found:
            return found
    if estimator.name == "depth_limit":
        return _depth_problems(estimator)
    if "link" not in estimator.model:
        return []
    scanned = {key: values for key, values in estimator.grid.items() if key not in NOT_OF_THE_LINK}
    first = {**estimator.model, **{key: values[0] for key, values in scanned.items()}}
    found = _link_problems(estimator, first, ("model",))
    if found:
        return found
    for key, values in scanned.items():
        for value in values[1:]:
            problems_there = _link_problems(estimator, {**first, key: value}, ("grid", key))
            found += [(keys, f"{value!r}: {problem}") for keys, problem in problems_there]
    return found


def code_files(estimator) -> list[Path]:
    """The file that defines the link, if it is a user's own and exists."""
    path = code_file(estimator.model["link"], estimator.project) if "link" in estimator.model else None
    return [path] if path is not None and path.is_file() else []


def code_modules(estimator) -> list[str]:
    """The module that defines the link, if it is a provided one."""
    module = code_module(estimator.model["link"]) if "link" in estimator.model else None
    return [] if module is None else [module]


def _link_problems(estimator, parameters, keys):
    infers = estimator.name not in FORWARD_ONLY
    try:
        link = load_link(parameters, estimator.project)
        if infers and link.rows > MOST_ROWS:
            return [
                (
                    keys,
                    f"{parameters['link']} has {link.rows} rows: allowed: at most {MOST_ROWS}, for more no posterior is sampled",
                )
            ]
        # A provided link runs forward at every parameter; how well its output can be inverted depends on them.
        own = code_file(parameters["link"], estimator.project) is not None
        found = problems_of(link) if own or infers else []
        if not found and infers:
            inference(link)
    except ValueError as error:
        return [(keys, str(error))]
    if found:
        return [(keys, problem) for problem in found]
    return _kind_problems(estimator, link, keys) + _size_problems(estimator, link)


def _kind_problems(estimator, link, keys):
    """What a link cannot do in a kind."""
    if estimator.name == "held_overlap" and link.sign_symmetry != "rows":
        return [(keys, "held_overlap: allowed: links in which the sign of every row is free, so that Q is diagonal")]
    if getattr(link, "activation", "softmax") == "linear" and link.depth > LINEAR_LAYERS:
        reason = "the output is a polynomial of degree 2 * 3^(depth - 1), whose moments no nodes reach"
        return [((*keys[:1], "depth"), f"{link.depth}: allowed with linear attention: up to {LINEAR_LAYERS}; {reason}")]
    return []


def _size_problems(estimator, link):
    """Nodes of more variables than there are, and arrays that do not fit into the memory of a job."""
    fields = link.rows * link.tokens
    variables = 2 * fields + link.noise_dimension
    if estimator.name not in FORWARD_ONLY and variables > MOST_VARIABLES:
        return [
            (
                ("model",),
                f"{link.rows} rows, {link.tokens} tokens: {variables} Gaussian variables a node; allowed: {MOST_VARIABLES}",
            )
        ]
    solver, alpha = estimator.solver, max(estimator.grid.get("alpha", [0.0]))
    copies = 1
    if "nodes" in solver:
        outputs = max(solver["nodes"], solver.get("nodes_at_zero", 0))
        # The generalisation errors take sixteen times the nodes, three times over.
        numbers = outputs * POSTERIOR_COPIES * fields**2 + 3 * 16 * solver["nodes"] * variables
        what = f"{outputs} nodes of {link.rows} rows and {link.tokens} tokens"
    else:
        data = estimator if estimator.reads is None else estimator.reads
        if "dimension" not in data.solver:
            return []
        outputs, dimension = sample_count(alpha, data.solver["dimension"]), data.solver["dimension"]
        if estimator.name in DESCENTS:
            copies = estimator.blocks.get("replicas", estimator.replicas)
        numbers = 3 * outputs * link.tokens * dimension
        what = f"n M D = {outputs} x {link.tokens} x {dimension} numbers at alpha = {alpha:g}"
        if estimator.name == "gamp":
            numbers += outputs * POSTERIOR_COPIES * fields**2
        if estimator.name == "online_sgd":
            numbers += 3 * solver["record_every"] * solver["batch"] * link.tokens * dimension
            what += f" and record_every * batch = {solver['record_every']} x {solver['batch']} fresh sequences"
        if estimator.name == "batch_reuse_sgd":
            numbers += solver["batches"] * solver["batch"]
            what += f" and the order of {solver['batches']} batches of {solver['batch']}"
        # Sequences are in single precision, but for those that GAMP draws or reads.
        numbers *= 1.0 if estimator.name == "gamp" else 0.5
    return _memory(estimator, copies * numbers, what)


def _memory(estimator, numbers, what):
    needed, allowed = BASE_MEGABYTES + int(8e-6 * numbers), estimator.resources["memory"]
    return [] if needed <= allowed else [(("resources", "memory"), f"{allowed} MB: {what} need {needed} MB")]


def _batch_problems(estimator):
    """Batches larger than the smallest data set."""
    if estimator.name == "online_sgd" or estimator.reads is None or "dimension" not in estimator.reads.solver:
        return []
    dimension, alpha = estimator.reads.solver["dimension"], min(estimator.grid["alpha"])
    count, batch = sample_count(alpha, dimension), estimator.solver["batch"]
    if batch <= count:
        return []
    return [(("solver", "batch"), f"{batch}: allowed: up to {count}, the number of sequences at alpha = {alpha:g}")]


def _depth_problems(estimator):
    """Fields of all layers and attention matrices beyond the memory."""
    samples, tokens, depth = estimator.solver["samples"], estimator.model["tokens"], max(estimator.grid["depth"])
    # Two copies of the fields, and some ten matrices for each sample.
    numbers = 2 * samples * depth * tokens + 10 * samples * tokens**2
    return _memory(estimator, numbers, f"{samples} samples of {depth} layers and {tokens} tokens")


def _training_problems(estimator):
    """Empty parts of the generated questions, fewer of them than an epoch takes, and trajectories beyond the memory."""
    model, solver, found = estimator.model, estimator.solver, []
    if model["corpus"] == "generated":
        count = model["questions"]
        held_out = round(model["test_fraction"] * count)
        needed = solver["records"] * solver["batch"]
        if not 0 < held_out < count:
            empty = "test" if held_out == 0 else "training"
            message = f"{model['test_fraction']:g} of {count} questions: the {empty} part is empty"
            found.append((("model", "test_fraction"), message))
        elif needed > count - held_out:
            found.append(
                (
                    ("solver", "batch"),
                    f"records * batch = {needed}: allowed: up to {count - held_out}, the training questions",
                )
            )
    sizes = [model[key] for key in ("depth", "embedding", "hidden")]
    records = solver["epochs"] * solver["records"] + 1
    what = f"{records} records of {' x '.join(map(str, sizes))} weights"
    # A trajectory in single precision, and twice in double precision.
    return found + _memory(estimator, 2.5 * records * math.prod(sizes), what)


def _unrequired_files(estimator):
    """Files of a text corpus that the experiment does not require, so that an edit to them would go unseen."""
    found = []
    for key, built_in in (("corpus", "generated"), ("vocabulary", "words")):
        name = estimator.model[key]
        if name != built_in and name not in estimator.requires:
            found.append((("model", key), f"{name!r}: allowed: {built_in}, or a file that is listed under `requires`"))
    return found
