"""Questions with their coarse class: the public TREC file, or lines in its format."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.user_files import lines_of, read_text

CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
PAGE = "https://cogcomp.seas.upenn.edu/Data/QA/QC/"
_SHOWN = 10  # a file of another kind has thousands of bad lines; the first ones are enough


@dataclass(frozen=True)
class Corpus:
    """Questions and their classes.

    Attributes
    ----------
    questions : tuple of str
        As written, without label.
    labels : int32 array (n,)
        Index of the class in CLASSES.
    """

    questions: tuple[str, ...]
    labels: np.ndarray


@dataclass(frozen=True)
class Split:
    """Indices of the `train` and of the `test` questions, integer arrays, disjoint, each sorted."""

    train: np.ndarray
    test: np.ndarray


def read_corpus(path):
    """Read the file `path` in the format of `train_5500.label`: one `CLASS:fine question` a line, latin-1.

    Raises SpecError when the file is missing, saying where to get it, or has lines of another form, naming them.
    """
    path = Path(path)
    try:
        text = read_text(path, otherwise="latin-1")
    except FileNotFoundError:
        raise SpecError([f"{path}: no such file; {how_to_get(path)}"]) from None
    except OSError as error:
        raise SpecError([f"{path}: cannot be read: {error.strerror}"]) from None
    except ValueError as error:
        raise SpecError([str(error)]) from None
    return parse_questions(lines_of(text), str(path))


def how_to_get(path):
    """One sentence on how to get the corpus, which is expected at `path`."""
    return f"download train_5500.label from {PAGE} and save it as {path}"


def parse_questions(lines, source):
    """The distinct questions of `lines`; blank lines do not count.

    A question that occurs again with the same class is left out, so that none is in both the training and the test part.

    Parameters
    ----------
    lines : iterable of str
        `CLASS:fine question`, CLASS one of CLASSES.
    source : str
        Name of the lines in the messages.

    Raises
    ------
    SpecError
        One line, beginning with `source:number`, for each of the first bad lines; or when there is no question.
    """
    found, problems = {}, []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        # Tabs and other spaces end the label too.
        label, *words = line.split()
        coarse, colon, fine = label.partition(":")
        question = " ".join(words)
        if "\0" in line or coarse not in CLASSES or not colon or not fine or not question:
            problems.append(
                f"{source}:{number}: {line.strip()[:60]!r}: allowed: CLASS:fine question, CLASS of {', '.join(CLASSES)}"
            )
            continue
        found.setdefault((question, CLASSES.index(coarse)), None)
    if len(problems) > _SHOWN:
        problems[_SHOWN:] = [f"{source}: {len(problems) - _SHOWN} more lines like these"]
    if not found and not problems:
        problems = [f"{source}: holds no questions"]
    if problems:
        raise SpecError(problems)
    return Corpus(tuple(question for question, _ in found), np.array([label for _, label in found], dtype=np.int32))


def split(corpus, test_fraction, rng):
    """Hold out a random part of the questions.

    Parameters
    ----------
    corpus : Corpus
    test_fraction : float
        Part of the questions held out, rounded to whole questions, in (0, 1).
    rng : numpy Generator

    Raises
    ------
    ValueError
        If one of the parts would be empty.
    """
    count = len(corpus.questions)
    held_out = round(test_fraction * count)
    if not 0 < held_out < count:
        raise ValueError(f"test_fraction {test_fraction!r} of {count} questions leaves an empty part")
    order = rng.permutation(count)
    return Split(np.sort(order[held_out:]), np.sort(order[:held_out]))


def majority_accuracy(corpus, split):
    """Share of the test questions of a Corpus, cut by a Split, that have the most frequent class of the training questions.

    Parameters
    ----------
    corpus : Corpus
    split : Split
    """
    favourite = np.bincount(corpus.labels[split.train], minlength=len(CLASSES)).argmax()
    return float(np.mean(corpus.labels[split.test] == favourite))
