"""Training of the question classifier; one replica is one split of the questions, one start and one order of the samples."""

import functools
from dataclasses import dataclass

import numpy as np

from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.questions import classifier, corpus, tokens
from attention_limits.sequence_multi_index.questions.grammar import generate_questions

# Keys of the model that the architecture takes as they are.
_FIXED = ("depth", "embedding", "hidden", "skip", "initial_std", "key_bias")
_DIMS = {
    "weight_similarity": ("epoch", "layer"),
    "product_similarity": ("epoch", "layer"),
    "gram_similarity": ("epoch", "layer"),
    "weight_half_time": ("layer",),
    "product_half_time": ("layer",),
    "gram_half_time": ("layer",),
    "training_accuracy": ("epoch",),
    "test_accuracy": ("epoch",),
    "training_loss": ("epoch",),
}


@dataclass(frozen=True)
class _Questions:
    """The questions of one replica: training and test set, the samples of each step, and two numbers of the corpus alone."""

    train_set: tuple[np.ndarray, np.ndarray]
    test_set: tuple[np.ndarray, np.ndarray]
    order: np.ndarray
    majority_accuracy: float
    vocabulary_size: int


def run(spec, streams):
    """Similarities, accuracies and losses along the training (see `variables`).

    All grid values of a replica share its split, the order of its samples and, up to the scale of the embedding, its start.
    """
    model, solver = spec["model"], spec["solver"]
    everything, tokenizer = _corpus(spec, streams), _tokenizer(spec)
    forward = classifier.Forward(model["skip"], model["padding"] == "attended")
    epochs = np.arange(solver.epochs * solver.records + 1) / solver.records

    @functools.cache
    def questions_of(replica):
        return _questions(spec, streams, everything, tokenizer, replica)

    def compute(at, replica):
        questions = questions_of(replica)
        architecture = classifier.Architecture(**{key: model[key] for key in _FIXED}, embedding_std=at["embedding_std"])
        generator = streams.generator("start", replica)
        start = classifier.initial_parameters(architecture, questions.vocabulary_size, len(corpus.CLASSES), generator)
        path = classifier.train(
            start, questions.train_set, questions.test_set, questions.order, at["learning_rate"], solver.weight_decay,
            forward,
        )  # fmt: skip
        weights, products, grams = classifier.similarity_with_last(path.attention)
        return {
            "weight_similarity": weights,
            "product_similarity": products,
            "gram_similarity": grams,
            "weight_half_time": classifier.half_time(epochs, weights),
            "product_half_time": classifier.half_time(epochs, products),
            "gram_half_time": classifier.half_time(epochs, grams),
            "training_accuracy": path.training_accuracy,
            "test_accuracy": path.test_accuracy,
            "training_loss": path.training_loss,
            "majority_accuracy": float(questions.majority_accuracy),
            "vocabulary_size": questions.vocabulary_size,
        }

    return collect(spec, compute, _DIMS, {"epoch": epochs, "layer": np.arange(1, model["depth"] + 1)})


def _questions(spec, streams, everything, tokenizer, replica) -> _Questions:
    """The questions of a replica: split, encoded, and in the order of its steps."""
    model, solver = spec["model"], spec["solver"]
    split = corpus.split(everything, model["test_fraction"], streams.generator("split", replica))
    encoded = tokens.encode(everything.questions, split.train, tokenizer, model["max_tokens"])
    train_set, test_set = ((encoded.tokens[part], everything.labels[part]) for part in (split.train, split.test))
    order = classifier.batches(
        len(split.train), solver.batch, solver.epochs, solver.records, streams.generator("order", replica)
    )
    return _Questions(train_set, test_set, order, corpus.majority_accuracy(everything, split), encoded.size)


def _corpus(spec, streams):
    """The questions, the same for all replicas."""
    model = spec["model"]
    if model["corpus"] == "generated":
        lines = generate_questions(model["questions"], streams.generator("corpus", 0))
        return corpus.parse_questions(lines, "generated corpus")
    return corpus.read_corpus(user_file(spec["project"], model["corpus"]))


def _tokenizer(spec):
    model = spec["model"]
    if model["vocabulary"] == "words":
        return tokens.words
    return tokens.word_pieces(user_file(spec["project"], model["vocabulary"]), model["special_tokens"])
