"""Word vectors of a text against the dense decomposition, and the command word-spectrum."""

import numpy as np
import pytest

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.priors.spectrum import of_file
from attention_limits.sequence_multi_index.questions.word_vectors import WINDOW, word_vectors
from attention_limits.sequence_multi_index.reports.word_spectrum import word_spectrum_command

RNG = np.random.default_rng(0)
SENTENCES = [[f"w{k}" for k in RNG.zipf(1.6, 12) if k < 30] for _ in range(200)]


def test_vectors_are_the_truncated_decomposition_of_the_positive_mutual_information():
    found = word_vectors(SENTENCES, 5)
    place = {word: k for k, word in enumerate(found.words)}
    joint = np.zeros((len(place),) * 2)
    for sentence in SENTENCES:
        kept = [place[word] for word in sentence if word in place]
        for i, first in enumerate(kept):
            for j, second in enumerate(kept):
                joint[first, second] += 0 < abs(i - j) <= WINDOW
    total = joint.sum(axis=0)
    with np.errstate(divide="ignore"):
        information = np.maximum(np.log(joint * joint.sum() / np.outer(total, total)), 0.0)
    left, singular, _ = np.linalg.svd(information)
    wanted = (left[:, :5] * singular[:5]) @ left[:, :5].T
    np.testing.assert_allclose(found.vectors @ found.vectors.T, wanted, atol=1e-10)
    drawn = np.repeat(found.vectors, found.counts, axis=0)
    covariance = np.cov(drawn.T, bias=True)
    values = np.linalg.eigvalsh(covariance)[::-1]
    np.testing.assert_allclose(found.eigenvalues(), values / values.mean(), rtol=1e-9)


def test_command_writes_a_spectrum_without_the_labels(tmp_path):
    """A label would be the most frequent word, and its vector another covariance."""
    lines = [" ".join(sentence) for sentence in SENTENCES if sentence]
    for name, text in (("plain", lines), ("labelled", [f"LOC:city {line}" for line in lines])):
        (tmp_path / f"{name}.label").write_text("\n".join(text))
        word_spectrum_command(str(tmp_path / f"{name}.label"), 5, str(tmp_path / f"{name}.txt"))
    plain, labelled = (of_file(tmp_path / f"{name}.txt") for name in ("plain", "labelled"))
    np.testing.assert_array_equal(plain.values, labelled.values)
    np.testing.assert_allclose(plain.values[::-1], word_vectors(SENTENCES, 5).eigenvalues(), rtol=1e-6)


def test_a_short_text_is_refused(tmp_path):
    (tmp_path / "short.txt").write_text("a b a b\n")
    with pytest.raises(
        SpecError, match=r"short\.txt: the text has 2 words that occur 2 times or more; allowed: more than 5"
    ):
        word_spectrum_command(str(tmp_path / "short.txt"), 5, str(tmp_path / "out.txt"))
