"""Tokens of questions."""

import numpy as np
import pytest

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.questions.tokens import encode, word_pieces, words

QUESTIONS = ["Who built it ?", "What is it ?", "Who is Tarve ?"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "built", "tar", "##ve", "##s", "is", "?", ",", "cafe"]


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n")
    return path


def test_numbers_belong_to_the_training_words():
    encoded = encode(QUESTIONS, np.array([0, 1]), words, 32)
    np.testing.assert_array_equal(encoded.tokens, [[2, 3, 4, 5], [6, 7, 4, 5], [2, 7, 1, 5]])
    assert encoded.size == 9  # who built it ? what is tarve, padding, unknown
    assert encode(QUESTIONS, np.array([2]), words, 32).size == 9


def test_rows_are_cut_and_padded():
    encoded = encode(["a b c d", "a"], np.array([0, 1]), words, 3)
    np.testing.assert_array_equal(encoded.tokens, [[2, 3, 4], [2, 0, 0]])


def test_word_pieces_are_those_of_uncased_bert(vocabulary):
    tokenizer = word_pieces(vocabulary)
    assert tokenizer("Who built Tarves, Caf\xe9 Xyz?") == [
        "who", "built", "tar", "##ve", "##s", ",", "cafe", "[UNK]", "?",
    ]  # fmt: skip
    assert word_pieces(vocabulary, special_tokens=True)("Who?") == ["[CLS]", "who", "?", "[SEP]"]


def test_bad_vocabularies_are_named(tmp_path, vocabulary):
    with pytest.raises(SpecError, match=r"none\.txt: this vocabulary cannot be read"):
        word_pieces(tmp_path / "none.txt")
    vocabulary.write_text("who\nbuilt\n")
    with pytest.raises(SpecError, match=r"lacks \[UNK\], \[CLS\], \[SEP\]"):
        word_pieces(vocabulary)
    vocabulary.write_bytes(b"\xff\xfe[UNK]")
    with pytest.raises(SpecError, match="cannot be read"):
        word_pieces(vocabulary)
