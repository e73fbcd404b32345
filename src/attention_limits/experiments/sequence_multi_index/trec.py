"""Training of the question classifier; one replica is one split of the questions, one start and one order of the samples."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import xarray as xr

from attention_limits.progress import progress
from attention_limits.sequence_multi_index.trec import classifier, corpus, tokens
from attention_limits.sequence_multi_index.trec.grammar import generate_questions


def run(spec, streams):
    """Similarities, accuracies and losses epoch by epoch, for every learning rate and replica (see `variables`).

    All learning rates of a replica share its split, start and order of the samples.
    """
    model, solver = spec["model"], spec["solver"]
    rates, replicas = spec["grid"]["learning_rate"], spec["replicas"]
    architecture = classifier.Architecture(
        **{key: model[key] for key in ("layers", "embedding", "hidden", "skip", "initial_std", "embedding_std")}
    )
    questions = _corpus(model, streams)
    tokenizer = tokens.words if model["vocabulary"] == tokens.WORDS else tokens.word_pieces(Path(model["vocabulary"]))
    shape, times = (len(rates), len(replicas)), solver["epochs"] + 1
    of_weights, of_products = np.empty((2, *shape, times, architecture.layers))
    train_accuracy, test_accuracy, train_loss = np.empty((3, *shape, times))
    half_weights, half_products = np.empty((2, *shape, architecture.layers))
    majority, sizes = np.empty(shape), np.empty(shape, int)
    # The rates of one replica come one after another, so that its data are made once.
    for j, i in progress(list(np.ndindex(shape[::-1])), len(rates) * len(replicas), spec["estimator"]):
        if i == 0:
            split = corpus.split(questions, model["test_fraction"], streams.generator("split", replicas[j]))
            encoded = tokens.encode(questions.questions, split.train, tokenizer, model["max_tokens"])
            train_set, test_set = (
                (jnp.asarray(encoded.tokens[part]), jnp.asarray(questions.labels[part]))
                for part in (split.train, split.test)
            )
            start = classifier.initial_parameters(
                architecture, encoded.size, len(corpus.CLASSES), streams.generator("start", replicas[j])
            )
            order = classifier.batches(
                len(split.train), solver["batch"], solver["epochs"], streams.generator("order", replicas[j])
            )
        path = classifier.train(start, train_set, test_set, order, rates[i], solver["weight_decay"], model["skip"])
        of_weights[i, j], of_products[i, j] = classifier.similarity_with_last(path.attention)
        half_weights[i, j] = classifier.half_time(of_weights[i, j])
        half_products[i, j] = classifier.half_time(of_products[i, j])
        train_accuracy[i, j], test_accuracy[i, j] = path.train_accuracy, path.test_accuracy
        train_loss[i, j] = path.train_loss
        majority[i, j] = corpus.majority_accuracy(questions, split)
        sizes[i, j] = encoded.size
    point = ("learning_rate", "replica")
    return xr.Dataset(
        {
            "weight_similarity": ((*point, "epoch", "layer"), of_weights),
            "product_similarity": ((*point, "epoch", "layer"), of_products),
            "weight_half_time": ((*point, "layer"), half_weights),
            "product_half_time": ((*point, "layer"), half_products),
            "train_accuracy": ((*point, "epoch"), train_accuracy),
            "test_accuracy": ((*point, "epoch"), test_accuracy),
            "train_loss": ((*point, "epoch"), train_loss),
            "majority_accuracy": (point, majority),
            "vocabulary_size": (point, sizes),
        },
        {
            "learning_rate": rates, "replica": replicas, "epoch": np.arange(times),
            "layer": np.arange(1, architecture.layers + 1),
        },
    )  # fmt: skip


def _corpus(model, streams):
    """The questions, the same for all replicas."""
    if model["corpus"] == "generated":
        lines = generate_questions(model["questions"], streams.generator("corpus", 0))
        return corpus.parse_questions(lines, "generated corpus")
    return corpus.read_corpus(Path(model["corpus"]))
