"""What no schema can say about experiments of the sequence multi-index family."""


def problems(estimator):
    """Files of a text corpus that the experiment does not require, so that an edit to them would go unseen."""
    return _unrequired_files(estimator) if estimator.name == "trec" else []


def code_files(estimator):
    """None: what the text experiment reads is listed under `requires`, whose bytes belong to the code."""
    return []


def _unrequired_files(estimator):
    found = []
    for key, built_in in (("corpus", "generated"), ("vocabulary", "words")):
        name = estimator.model[key]
        if name != built_in and name not in estimator.requires:
            found.append((("model", key), f"{name!r}: allowed: {built_in}, or a file that is listed under `requires`"))
    return found
