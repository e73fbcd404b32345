"""What no schema can say about experiments of the sequence multi-index family."""


def problems(estimator):
    """Files of a text corpus that are not required, so that an edit to them would go unseen; sizes of data and batches."""
    checks = {"trec": _unrequired_files, "gamp": _dimension, "batch_reuse_sgd": _batch}
    return checks[estimator.name](estimator) if estimator.name in checks else []


def code_files(estimator):
    """None: what the text experiment reads is listed under `requires`, whose bytes belong to the code."""
    return []


def _dimension(estimator):
    """GAMP takes the dimension from the data it reads, or else from its solver."""
    told, read = "dimension" in estimator.solver, estimator.reads is not None
    if told != read:
        return []
    return [
        (("solver", "dimension"), "is that of the data already" if read else "missing; allowed: a whole number ≥ 10")
    ]


def _batch(estimator):
    dimension, batch = estimator.reads.solver["dimension"], estimator.solver["batch"]
    samples = min(max(1, round(alpha * dimension)) for alpha in estimator.grid["alpha"])
    return [(("solver", "batch"), f"{batch}: allowed: ≤ {samples}, the size of the data")] if batch > samples else []


def _unrequired_files(estimator):
    found = []
    for key, built_in in (("corpus", "generated"), ("vocabulary", "words")):
        name = estimator.model[key]
        if name != built_in and name not in estimator.requires:
            found.append((("model", key), f"{name!r}: allowed: {built_in}, or a file that is listed under `requires`"))
    return found
