"""Reading labelled questions, and the generated ones."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.questions.corpus import (
    CLASSES,
    Corpus,
    majority_accuracy,
    parse_questions,
    read_corpus,
    split,
)
from attention_limits.sequence_multi_index.questions.grammar import CLASS_FREQUENCIES, FRAMES, generate_questions

LINES = ["LOC:city What is the capital of Tarve ?", "HUM:ind Who built the tower ?", "", "NUM:date When was it built ?"]


@pytest.fixture(scope="module")
def generated():
    return parse_questions(generate_questions(5500, np.random.default_rng(3)), "generated")


def test_labels_and_questions():
    corpus = parse_questions(LINES, "file")
    assert corpus.questions == ("What is the capital of Tarve ?", "Who built the tower ?", "When was it built ?")
    assert [CLASSES[label] for label in corpus.labels] == ["LOC", "HUM", "NUM"]


@pytest.mark.parametrize("space", ["\t", "\u00a0", "  ", "\x0c"])
def test_any_space_ends_the_label(space):
    """A tab in the place of the blank must not take the first word of the question into the label."""
    assert parse_questions([f"NUM:date{space}When was it{space}built ?"], "file").questions == ("When was it built ?",)


def test_repeated_questions_count_once():
    corpus = parse_questions(
        [*LINES, "LOC:other  What is the capital  of Tarve ?", "HUM:ind When was it built ?"], "file"
    )
    assert len(corpus.questions) == 4  # the one with two classes stays with both


def test_the_file_is_latin_1(tmp_path):
    path = tmp_path / "train_5500.label"
    path.write_bytes(b"HUM:ind Who wrote Caf\xe9 \x85 Noir ?\r\nLOC:other Where is it ?\n")
    assert read_corpus(path).questions == ("Who wrote Caf\xe9 Noir ?", "Where is it ?")


@pytest.mark.parametrize(
    "line",
    [
        "What is it ?",
        "XYZ:city What is it ?",
        "LOC What is it ?",
        "LOC: What is it ?",
        "LOC:city",
        "loc:city What ?",
        "LOC:city What \0 ?",
    ],
)
def test_bad_lines_are_named(tmp_path, line):
    path = tmp_path / "questions.label"
    path.write_text("\n".join([*LINES, line, "bad"]))
    with pytest.raises(SpecError) as caught:
        read_corpus(path)
    assert [
        problem.startswith(f"{path}:{number}: ") for problem, number in zip(caught.value.problems, (5, 6), strict=True)
    ]
    assert repr(line) in caught.value.problems[0]


def test_a_file_of_another_kind_is_not_listed_whole(tmp_path):
    with pytest.raises(SpecError) as caught:
        parse_questions(["x"] * 1000, "file")
    assert len(caught.value.problems) == 11
    assert caught.value.problems[-1] == "file: 990 more lines like these"


def test_no_questions_and_no_file(tmp_path):
    with pytest.raises(SpecError, match="holds no questions"):
        parse_questions(["", " "], "file")
    with pytest.raises(SpecError, match=r"missing\.label: no such file; download train_5500\.label from https://"):
        read_corpus(tmp_path / "missing.label")
    with pytest.raises(SpecError, match="cannot be read"):
        read_corpus(tmp_path)


@given(st.integers(2, 200), st.floats(0.01, 0.99), st.integers(0, 99))
def test_split_is_a_partition(count, fraction, seed):
    corpus = Corpus(tuple(map(str, range(count))), np.zeros(count, np.int32))
    if not 0 < round(count * fraction) < count:
        with pytest.raises(ValueError, match="empty part"):
            split(corpus, fraction, np.random.default_rng(seed))
        return
    parts = split(corpus, fraction, np.random.default_rng(seed))
    assert len(parts.test) == round(count * fraction)
    assert sorted([*parts.train, *parts.test]) == list(range(count))


def test_majority_is_that_of_the_training_questions():
    labels = np.array([0, 0, 1, 1, 1, 2], np.int32)
    corpus = Corpus(tuple("abcdef"), labels)
    parts = split(corpus, 0.5, np.random.default_rng(0))
    favourite = Counter(labels[parts.train].tolist()).most_common(1)[0][0]
    assert majority_accuracy(corpus, parts) == np.mean(labels[parts.test] == favourite)


def test_generated_questions_are_distinct_and_have_the_public_frequencies(generated):
    assert len(set(generated.questions)) == len(generated.questions) == 5500
    share = np.bincount(generated.labels, minlength=6) / 5500
    np.testing.assert_allclose(share, [CLASS_FREQUENCIES[name] for name in CLASSES], atol=6 / 5500)
    assert not [question for question in generated.questions if "{" in question or not question.endswith(" ?")]
    assert max(len(question.split()) for question in generated.questions) <= 32


def test_the_generated_corpus_is_named_by_its_stream():
    one, two, other = (generate_questions(200, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert one == two
    assert len(set(one) & set(other)) < 20


def test_first_words_do_not_give_the_class_away(generated):
    """The best guess from the first word is right for about half of the questions, from the first two for less than 4 of 5."""
    for words, bound in ((1, 0.6), (2, 0.8)):
        seen = defaultdict(Counter)
        for question, label in zip(generated.questions, generated.labels, strict=True):
            seen[tuple(question.lower().split()[:words])][label] += 1
        assert sum(max(counts.values()) for counts in seen.values()) / 5500 < bound


def test_nouns_that_head_questions_are_shared_by_the_classes(generated):
    where = defaultdict(set)
    for question, label in zip(generated.questions, generated.labels, strict=True):
        for word in question.lower().split():
            where[word].add(CLASSES[label])
    for noun in ("river", "city", "king", "inventor", "company", "animal", "book", "tower"):
        assert len(where[noun] - {"ABBR"}) >= 4, noun


def test_too_few_or_too_many_questions_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="at least 60"):
        generate_questions(59, np.random.default_rng(0))
    assert len(generate_questions(60, np.random.default_rng(0))) == 60
    monkeypatch.setitem(FRAMES, "ABBR", ["exp: what is ABC"])
    with pytest.raises(ValueError, match="too few distinct questions of class ABBR: found 1 of 3"):
        generate_questions(200, np.random.default_rng(0))
