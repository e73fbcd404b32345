"""Small alignments with something to find, and the datasets of their readers, for the promises on proteins."""

import numpy as np
from specifications import compute, project

FAMILY = "potts_mlm"
ALPHABET = "-ABC"


def written(estimator, part, rows, *, solver=None, replicas=1, **model):
    """An experiment on the alignment `rows`, which it writes."""
    text = "".join(f">s{k}\n{row}\n" for k, row in enumerate(rows))
    (project() / "family.fasta").write_text(text, encoding="utf-8")
    document = {
        "title": "Promise", "description": "Drawn.",
        "model": {"alignment": "family.fasta", "alphabet": ALPHABET, **model},
        "data": {"alignment": {"replicas": replicas, "solver": solver or {}}},
        "estimators": {estimator: {"reads": "alignment", "replicas": replicas, **part}},
    }  # fmt: skip
    return text, compute(FAMILY, document)


def random_rows(count, sites, seed, letters=ALPHABET):
    """Sequences with a copied pair of sites, so that there is something to find."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(
        len(letters), (count, sites), p=np.array([1.0, *[3.0] * (len(letters) - 1)]) / (3 * len(letters) - 2)
    )
    copied = rng.random(count) < 0.7
    codes[copied, -1] = codes[copied, 0]
    return ["".join(letters[k] for k in row) for row in codes]
