"""Training of the question classifier; one replica is one split of the questions, one start and one order of the samples."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress
from attention_limits.sequence_multi_index.trec import classifier, corpus, tokens
from attention_limits.sequence_multi_index.trec.grammar import generate_questions

_FIXED = ("depth", "embedding", "hidden", "skip", "initial_std")
# The dimensions of each variable after the grid and the replica.
_DIMS = {
    "weight_similarity": ("epoch", "layer"),
    "product_similarity": ("epoch", "layer"),
    "weight_half_time": ("layer",),
    "product_half_time": ("layer",),
    "training_accuracy": ("epoch",),
    "test_accuracy": ("epoch",),
    "training_loss": ("epoch",),
    "majority_accuracy": (),
    "vocabulary_size": (),
}


def run(spec, streams):
    """Similarities, accuracies and losses along the training (see `variables`).

    All grid values of a replica share its split, the order of its samples and, up to the scale of the embedding, its start.
    """
    model, solver = spec["model"], spec["solver"]
    questions, tokenizer = _corpus(spec, streams), _tokenizer(spec)
    axes = {**spec["grid"], "replica": spec["replicas"]}
    shape = tuple(map(len, axes.values()))
    epochs = np.arange(solver["epochs"] * solver["records"] + 1) / solver["records"]
    layers = np.arange(1, model["depth"] + 1)
    sizes = {"epoch": len(epochs), "layer": len(layers)}
    found = {name: np.empty((*shape, *(sizes[dim] for dim in dims))) for name, dims in _DIMS.items()}
    for r in progress(range(shape[-1]), shape[-1], spec["estimator"]):
        replica = spec["replicas"][r]
        split = corpus.split(questions, model["test_fraction"], streams.generator("split", replica))
        encoded = tokens.encode(questions.questions, split.train, tokenizer, model["max_tokens"])
        train_set, test_set = (
            (jnp.asarray(encoded.tokens[part]), jnp.asarray(questions.labels[part]))
            for part in (split.train, split.test)
        )
        order = classifier.batches(
            len(split.train), solver["batch"], solver["epochs"], solver["records"], streams.generator("order", replica)
        )
        found["majority_accuracy"][..., r] = corpus.majority_accuracy(questions, split)
        found["vocabulary_size"][..., r] = encoded.size
        for i, j in np.ndindex(shape[:-1]):
            architecture = classifier.Architecture(
                **{key: model[key] for key in _FIXED}, embedding_std=axes["embedding_std"][i]
            )
            rng = streams.generator("start", replica)
            start = classifier.initial_parameters(architecture, encoded.size, len(corpus.CLASSES), rng)
            learning_rate = axes["learning_rate"][j]
            path = classifier.train(
                start, train_set, test_set, order, learning_rate, solver["weight_decay"], model["skip"]
            )
            for name in ("training_accuracy", "test_accuracy", "training_loss"):
                found[name][i, j, r] = getattr(path, name)
            similarities = classifier.similarity_with_last(path.attention)
            for name, similarity in zip(("weight", "product"), similarities, strict=True):
                found[f"{name}_similarity"][i, j, r] = similarity
                found[f"{name}_half_time"][i, j, r] = classifier.half_time(epochs, similarity)
    found["vocabulary_size"] = found["vocabulary_size"].astype(int)
    return xr.Dataset(
        {name: ((*axes, *_DIMS[name]), array) for name, array in found.items()},
        {**axes, "epoch": epochs, "layer": layers},
    )


def _corpus(spec, streams):
    """The questions, the same for all replicas."""
    model = spec["model"]
    if model["corpus"] == "generated":
        lines = generate_questions(model["questions"], streams.generator("corpus", 0))
        return corpus.parse_questions(lines, "generated corpus")
    return corpus.read_corpus(Path(spec["project"], model["corpus"]))


def _tokenizer(spec):
    vocabulary = spec["model"]["vocabulary"]
    return tokens.words if vocabulary == "words" else tokens.word_pieces(Path(spec["project"], vocabulary))
