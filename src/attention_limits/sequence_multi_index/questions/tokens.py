"""Questions as rows of token numbers: words of the corpus, or word pieces of a BERT vocabulary."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import BertWordPieceTokenizer

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.texts import lines_of, read_text

PADDING, UNKNOWN = 0, 1


@dataclass(frozen=True)
class Encoded:
    """Token numbers and how many there are.

    Attributes
    ----------
    tokens : array (n, length) of int32
        Rows end in PADDING. `length` is that of the longest question, at most `max_tokens`.
    size : int
        Number of distinct tokens of all questions, plus padding and unknown; the same for every split.
    """

    tokens: np.ndarray
    size: int


def word_pieces(vocabulary, special_tokens=False):
    """The tokeniser of uncased BERT with the pieces of `vocabulary` (path to `vocab.txt`, one piece a line): text -> pieces.

    With `special_tokens`, [CLS] and [SEP] frame each text. Raises SpecError when the file cannot be read or lacks the pieces
    BERT needs.
    """
    path = Path(vocabulary)
    try:
        pieces = lines_of(read_text(path))
    except (OSError, ValueError) as error:
        raise SpecError([f"{path}: this vocabulary cannot be read: {error}"]) from None
    missing = [piece for piece in ("[UNK]", "[CLS]", "[SEP]") if piece not in pieces]
    if missing:
        raise SpecError([f"{path}: not a vocabulary of BERT, one piece a line: lacks {', '.join(missing)}"])
    numbered = {piece: number for number, piece in enumerate(pieces) if piece}
    tokenizer = BertWordPieceTokenizer(numbered, lowercase=True)
    return lambda text: tokenizer.encode(text, add_special_tokens=special_tokens).tokens


def words(text):
    """Lower-case words of a `text`, a list; the corpus has its punctuation set off by blanks."""
    return text.lower().split()


def encode(questions, train, tokenizer, max_tokens):
    """Number the tokens of all questions.

    Numbers belong to the tokens of the training questions, from 2 in order of appearance; tokens of other questions alone are
    UNKNOWN.

    Parameters
    ----------
    questions : sequence of str
    train : array of int
        Indices of the training questions.
    tokenizer : callable
        Text to list of tokens.
    max_tokens : int
        Further tokens of a question are cut off.
    """
    rows = [tokenizer(question)[:max_tokens] for question in questions]
    numbers = {}
    for index in train:
        for token in rows[index]:
            numbers.setdefault(token, len(numbers) + 2)
    tokens = np.full((len(rows), max(map(len, rows))), PADDING, dtype=np.int32)
    for row, found in zip(tokens, rows, strict=True):
        row[: len(found)] = [numbers.get(token, UNKNOWN) for token in found]
    return Encoded(tokens, len({token for row in rows for token in row}) + 2)
