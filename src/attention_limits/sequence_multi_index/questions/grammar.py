"""Generated questions of the six TREC classes, in the file format of the public corpus.

The repository cannot contain the public corpus. This one has its format, its classes and their frequencies, and its overlap of
question words and nouns between the classes; some names may occur only in held-out questions. It has no label noise.
"""

import json
import re
from pathlib import Path

import numpy as np

# One of the alternatives of its name replaces a slot in braces. A frame of a class is `fine label: sentence`. The nouns
# that decide a class as the head of a question ("which river ...") also occur in the side clauses of all classes, so that no
# single word determines the class.
_FILE = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
WORDS, PHRASES, FRAMES = _FILE["words"], _FILE["phrases"], _FILE["frames"]

# Frequencies of the classes in the public training file (5452 questions).
CLASS_FREQUENCIES = {"ABBR": 0.016, "DESC": 0.213, "ENTY": 0.229, "HUM": 0.224, "LOC": 0.153, "NUM": 0.165}
NAMES = {"place": 2000, "person": 1500, "company": 100, "acronym": 120}

_ONSETS = (
    "b",
    "br",
    "c",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "k",
    "kl",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "l", "n", "r", "s", "m", "th", "nd")
_SLOT = re.compile(r"\{(\w+)\}")


def generate_questions(count, rng):
    """Lines `CLASS:fine Question ?`, all questions distinct, in random order.

    Parameters
    ----------
    count : int
        Number of questions, at least 60; the classes have the frequencies of the public training file.
    rng : numpy Generator

    Raises
    ------
    ValueError
        If `count` is below 60, or the grammar does not hold that many distinct questions of a class.
    """
    if count < 60:
        raise ValueError(f"need at least 60 questions for all six classes to occur, got {count}")
    alternatives = {name: WORDS.get(name, "").split() + PHRASES.get(name, []) for name in (*WORDS, *PHRASES)}
    alternatives |= _invented_names(rng)
    quotas = np.maximum(1, np.floor(count * np.array(list(CLASS_FREQUENCIES.values())))).astype(int)
    quotas[quotas.argmax()] += count - quotas.sum()
    lines, seen = [], set()
    for coarse, quota in zip(CLASS_FREQUENCIES, quotas, strict=True):
        made = 0
        for _ in range(50 * quota):
            if made == quota:
                break
            label, _, question = _expand(_pick(FRAMES[coarse], rng), alternatives, rng).partition(": ")
            if question in seen:
                continue
            seen.add(question)
            lines.append(f"{coarse}:{label} {question[0].upper()}{question[1:]} ?")
            made += 1
        if made < quota:
            raise ValueError(f"the grammar has too few distinct questions of class {coarse}: found {made} of {quota}")
    return [lines[i] for i in rng.permutation(count)]


def _pick(options, rng):
    return options[rng.integers(len(options))]


def _expand(sentence, alternatives, rng):
    """Replace slots, outermost first, until none is left; the fine label takes the first noun of the sentence it names."""
    while slot := _SLOT.search(sentence):
        chosen = _number(rng) if slot[1] == "number" else _choose(slot[1], alternatives, rng)
        if slot.start() == 0:
            # The fine label names the noun that the question asks for.
            sentence = sentence.replace(slot[0], chosen, 2)
        else:
            sentence = sentence[: slot.start()] + chosen + sentence[slot.end() :]
    return re.sub(r"\ba (?=[aeiou])", "an ", " ".join(sentence.split()))


def _choose(name, alternatives, rng):
    """One alternative; names are drawn with a heavy tail, so that many occur once and a few often."""
    options = alternatives[name]
    if name not in NAMES:
        return _pick(options, rng)
    return options[int(len(options) * rng.random() ** 2)]


def _number(rng):
    return str(rng.integers(1500, 2000))


def _invented_names(rng):
    """Names of places, people, companies and acronyms; each occurs in questions of several classes."""
    taken, names = set(), {}
    for kind, number in NAMES.items():
        names[kind] = []
        while len(names[kind]) < number:
            if kind == "acronym":
                name = "".join(rng.choice(list("ABCDEFGHIKLMNOPRSTUVW"), rng.integers(3, 5)))
            else:
                name = _invented_word(rng)
                if kind == "person" and rng.random() < 0.5:
                    name = f"{name} {_invented_word(rng)}"
            if name not in taken:
                taken.add(name)
                names[kind].append(name)
    return names


def _invented_word(rng):
    parts = [_pick(_ONSETS, rng) + _pick(_VOWELS, rng) + _pick(_CODAS, rng) for _ in range(rng.integers(2, 4))]
    return "".join(parts).capitalize()
