"""Promises of gradient descent, classifiers and the limit of many layers of the sequence multi-index family.

Statistical comparisons are seeded, with limits at five standard errors: a correct program fails one of them with a probability
of 6e-7, and there are some thousand.
"""

import numpy as np
import pytest
import slow_sequence_multi_index as slow
import slow_sequence_multi_index_training as slow_training
from drawn_sequence_multi_index import FAMILY, SIGMAS, computed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from specifications import Refused, compute, document, section

from attention_limits.pipeline.base.streams import Streams

pytestmark = pytest.mark.slow


def _descent_document(estimator, model, alpha, dimension, solver):
    data = {"gaussian_sequences": {"grid": {"alpha": {"values": [alpha]}}, "solver": {"dimension": dimension}}}
    return document(estimator, model, {"alpha": alpha}, solver, reads="gaussian_sequences") | {"data": data}


def _descent(estimator, model, alpha, dimension, solver):
    found = compute(FAMILY, _descent_document(estimator, model, alpha, dimension, solver))
    return found if isinstance(found, Refused) else found[estimator].isel(alpha=0, replica=0)


def _own_descent(estimator, model, alpha, dimension, solver):
    """The same from the streams of the run, in double precision and with finite differences."""
    streams, depth, tokens = Streams(0, FAMILY, "promise"), model["depth"], model["tokens"]
    count = max(1, round(alpha * dimension))
    rng = streams.generator("data", 0, alpha=alpha)
    teacher = rng.standard_normal((depth, dimension))
    x = rng.standard_normal((count, tokens, dimension), dtype=np.float32)
    weights = solver["initial_std"] * streams.generator("start", 0, alpha=alpha).standard_normal(teacher.shape)
    if estimator == "online_sgd":
        fresh = streams.generator("fresh sequences", 0, alpha=alpha)
        shape = (solver["batch"], tokens, dimension)
        batches = [fresh.standard_normal(shape, dtype=np.float32) for _ in range(solver["batches"])]
    else:
        rng = streams.generator("batches", 0, alpha=alpha)
        whole = count // solver["batch"]
        order = [rng.permutation(count)[: whole * solver["batch"]] for _ in range(solver["batches"])]
        parts = np.concatenate(order).reshape(-1, solver["batch"])[: solver["batches"]]
        batches = [x[part] for part in parts]

    def outputs(h):
        return slow.forward({"link": "deep_attention", **model}, h)

    batches = [(b.astype(float), outputs(np.einsum("pd,nad->npa", teacher, b) / np.sqrt(dimension))) for b in batches]
    decay = solver["weight_decay"] / dimension
    weights, losses = slow_training.descend(outputs, weights, batches, solver["learning_rate"], decay, solver["reuse"])
    norms = np.linalg.norm(weights, axis=1)
    cosine = (weights * teacher).sum(axis=1) / norms / np.linalg.norm(teacher, axis=1)
    return cosine, norms / np.sqrt(dimension), losses


DESCENT = {
    "batch": 4,
    "batches": 3,
    "reuse": 2,
    "learning_rate": 2.0,
    "weight_decay": 0.5,
    "initial_std": 0.9,
    "record_every": 1,
}


def _assert_descent(estimator, model, solver):
    found = _descent(estimator, model, 1.3, 10, solver)
    assert found.realised_alpha.item() == 1.3
    cosine, norm, losses = _own_descent(estimator, model, 1.3, 10, solver)
    np.testing.assert_allclose(found.cosine_by_batch.values[-1], cosine, atol=2e-3)
    np.testing.assert_allclose(found.norm_by_batch.values[-1], norm, rtol=2e-3)
    np.testing.assert_allclose(found.loss_by_batch.values[1:], losses, rtol=5e-3, atol=1e-6)
    assert found.finite.item()


@pytest.mark.parametrize(
    "model",
    [{"depth": 1, "tokens": 2, "skip": 100.0, "beta": 0.001}, {"depth": 2, "tokens": 2, "skip": 0.0, "beta": 1.0},
     {"depth": 3, "tokens": 5, "skip": 1.0, "beta": 0.3}],
)  # fmt: skip
def test_batch_reuse_sgd_is_plain_gradient_descent(model):
    _assert_descent("batch_reuse_sgd", model, DESCENT)


@pytest.mark.parametrize("model", [{"depth": 2, "tokens": 3, "skip": 0.5, "beta": 1.0}])
def test_online_sgd_is_plain_gradient_descent_on_fresh_batches(model):
    _assert_descent("online_sgd", model, DESCENT | {"reuse": 1})


@settings(max_examples=1)
@given(
    model=section(
        FAMILY, "batch_reuse_sgd", "model", "skip", "beta", depth=st.integers(1, 8), tokens=st.integers(2, 32)
    ),
    solver=section(
        FAMILY,
        "batch_reuse_sgd",
        "solver",
        "learning_rate",
        "weight_decay",
        "initial_std",
        batch=3,
        batches=3,
        record_every=1,
    ),
)
@example(model={"skip": 100.0, "beta": 10.0, "depth": 8, "tokens": 2}, solver=DESCENT | {"learning_rate": 1000.0})
def test_batch_reuse_sgd_is_finite_or_flagged(model, solver):
    for estimator in ("batch_reuse_sgd", "online_sgd"):
        found = _descent(estimator, model, 1.0, 10, solver)
        if isinstance(found, Refused):
            # Saturated attention, or attention that is uniform up to rounding.
            assert "its gradient is zero" in found.problems[0]
            continue
        cosine = found.cosine_by_batch.values
        assert found.finite.item() == np.isfinite(cosine[-1]).all()
        assert np.all(np.abs(cosine[np.isfinite(cosine)]) <= 1.0 + 1e-5)


def test_batch_reuse_sgd_refuses_batches_larger_than_the_data():
    model = {"depth": 1, "tokens": 2, "skip": 1.0, "beta": 1.0}
    refused = _descent("batch_reuse_sgd", model, 1.0, 10, DESCENT | {"batch": 11})
    assert isinstance(refused, Refused)
    assert "allowed: ≤ 10" in refused.problems[0]


def test_online_sgd_refuses_batches_beyond_the_memory():
    model = {"depth": 1, "tokens": 2, "skip": 1.0, "beta": 1.0}
    refused = _descent(
        "online_sgd", model, 1.0, 10, DESCENT | {"batch": 100000, "record_every": 100000, "batches": 10**7}
    )
    assert isinstance(refused, Refused)
    assert "fresh sequences" in refused.problems[0]


# Relative error of lambda that `average_transfer` states.
LAMBDA_ERROR = 4e-3


@settings(max_examples=2)
@given(
    model=section(FAMILY, "depth_scaling", "model", "beta", "tokens"),
    grid=section(FAMILY, "depth_scaling", "grid", "ratio", depth=st.integers(2, 60)),
)
@example(model={"beta": 10.0, "tokens": 3}, grid={"ratio": 20.0, "depth": 2})
@example(model={"beta": 1.0, "tokens": 2}, grid={"ratio": 1.0, "depth": 2000})
@example(model={"beta": 1.0, "tokens": 16}, grid={"ratio": 1.0, "depth": 40})
@example(model={"beta": 1.0, "tokens": 64}, grid={"ratio": 1.0, "depth": 3})
def test_depth_scaling_is_that_of_explicit_layers(model, grid):
    """The root mean square of a difference of outputs moves by no more than the outputs do with the error of lambda."""
    # Grid values have 12 significant digits, by which the streams are named.
    grid = grid | {"ratio": float(f"{grid['ratio']:.12g}")}
    samples, ratio, beta = 4, grid["ratio"], model["beta"]
    found = computed("depth_scaling", model, grid, {"samples": samples})
    h = (
        Streams(0, FAMILY, "promise")
        .generator("fields", 0, **grid)
        .standard_normal((samples, grid["depth"], model["tokens"]))
    )
    model = model | {"ratio": ratio}
    deep = slow.forward(model | {"link": "rescaled_attention"}, h)
    committee = slow.forward(model | {"link": "committee_depth"}, h)
    assert found.committee_error.item() == pytest.approx(((committee - deep) ** 2).mean(), rel=1e-6, abs=1e-15)
    logarithm, error = slow.mean_map(ratio, beta, model["tokens"])
    limit = slow.output_of_mean_map(h[:, -1], ratio, logarithm, beta)
    uncertain = LAMBDA_ERROR + SIGMAS * error
    assert uncertain < 0.1
    moved = [slow.output_of_mean_map(h[:, -1], ratio, logarithm + sign * uncertain, beta) for sign in (1, -1)]
    slack = max(np.sqrt(((one - limit) ** 2).mean()) for one in moved)
    wanted = np.sqrt(((limit - deep) ** 2).mean())
    assert abs(np.sqrt(found.large_depth_error.item()) - wanted) <= slack + 1e-9


def test_depth_scaling_refuses_fields_beyond_the_memory():
    model, grid = {"beta": 1.0, "tokens": 64}, {"ratio": 1.0, "depth": 10000}
    assert computed("depth_scaling", model, grid, {"samples": 1000000}) is None


TREC = {"corpus": "generated", "questions": 60, "depth": 2, "embedding": 3, "hidden": 2, "skip": 1.0}


def _training(model, solver, rate=0.01):
    return computed("trec", model, {"embedding_std": 1.0, "learning_rate": rate}, solver)


@pytest.mark.parametrize(
    "model",
    [
        TREC | {"max_tokens": 4},
        TREC | {"depth": 1, "hidden": 1, "skip": 0.0, "max_tokens": 1},
        TREC | {"max_tokens": 4, "padding": "attended", "key_bias": True},
    ],
)
def test_trec_is_adamw_with_complex_derivatives(model):
    from attention_limits.sequence_multi_index.questions.corpus import CLASSES
    from attention_limits.sequence_multi_index.questions.grammar import generate_questions

    solver, streams = {"epochs": 1, "batch": 16, "records": 1, "weight_decay": 0.1}, Streams(0, FAMILY, "promise")
    found = _training(model, solver).isel(replica=0)
    lines = [line.split(" ", 1) for line in generate_questions(60, streams.generator("corpus", 0))]
    labels = np.array([CLASSES.index(label.split(":")[0]) for label, _ in lines])
    order = streams.generator("split", 0).permutation(60)
    train, test = np.sort(order[6:]), np.sort(order[:6])
    words = [question.lower().split()[: model["max_tokens"]] for _, question in lines]
    numbers = {}
    for index in train:
        for word in words[index]:
            numbers.setdefault(word, len(numbers) + 2)
    tokens = np.zeros((60, max(map(len, words))), int)
    for row, question in zip(tokens, words, strict=True):
        row[: len(question)] = [numbers.get(word, 1) for word in question]
    size = len({word for question in words for word in question}) + 2
    assert found.vocabulary_size.item() == size
    rng, width = streams.generator("start", 0), model["embedding"]
    parameters = [
        rng.standard_normal((size, width)),
        0.1 * rng.standard_normal((model["depth"], width, model["hidden"])),
    ]
    parameters += [rng.uniform(-(width**-0.5), width**-0.5, (width, 6)), np.zeros(6)]
    parameters += [np.zeros((model["depth"], model["hidden"] * model.get("key_bias", False)))]
    padded = model.get("padding") == "attended"

    def loss(values, part):
        scores = slow_training.classify(values, tokens[part], model["skip"], padded)
        return slow_training.cross_entropy(scores, labels[part])

    assert found.training_loss.values[0] == pytest.approx(loss(parameters, train), rel=1e-5)
    moments = [[np.zeros_like(p) for p in parameters] for _ in range(2)]
    steps = streams.generator("order", 0).permutation(len(train))[:48].reshape(3, 16)
    for count, part in enumerate(steps, 1):
        gradient = slow_training.complex_gradient(lambda values, part=part: loss(values, train[part]), parameters)
        slow_training.adam_step(parameters, gradient, moments, count, 0.01, 0.1)
    assert found.training_loss.values[1] == pytest.approx(loss(parameters, train), rel=1e-3)
    for part, name in ((train, "training_accuracy"), (test, "test_accuracy")):
        right = (
            slow_training.classify(parameters, tokens[part], model["skip"], padded).argmax(axis=1) == labels[part]
        ).mean()
        assert found[name].values[1] == pytest.approx(right, abs=1.0 / len(part) + 1e-6)


def test_trec_accuracy_of_diverged_weights_is_missing():
    from attention_limits.sequence_multi_index.questions import classifier

    shape = classifier.Architecture(1, 2, 2, 1.0, 0.1, 1.0)
    start = classifier.initial_parameters(shape, 4, 6, np.random.default_rng(0))
    samples = np.array([[2, 3], [3, 0]]), np.array([0, 1])
    broken = start._replace(readout=start.readout * np.nan)
    order = np.zeros((0, 1, 2), dtype=int)
    for parameters, check in ((broken, np.isnan), (start, np.isfinite)):
        found = classifier.train(parameters, samples, samples, order, 0.1, 0.0, classifier.Forward(1.0))
        assert check([found.training_accuracy, found.test_accuracy, found.training_loss]).all()


def test_trec_sizes_that_cannot_be_are_refused():
    assert _training(TREC, {"epochs": 1, "records": 4, "batch": 14}) is None
    assert _training(TREC | {"test_fraction": 1e-3}, {"epochs": 1}) is None
    assert _training(TREC | {"depth": 12, "embedding": 4096, "hidden": 4096}, {"epochs": 10, "records": 1}) is None
