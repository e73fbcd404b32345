"""Word vectors of a text, and the spectrum of their covariance: tokens whose dimensions are correlated.

The vectors are those of Levy, Goldberg and Dagan 2015 (Trans. Assoc. Comput. Linguist. 3, 211): with n_wc the number of times
that the words w and c stand at most WINDOW places apart, the matrix of positive pointwise mutual information

    M_wc = max(0, log(n_wc n / (n_w n_c)))

has the truncated singular value decomposition U S V^T, and the vectors are the rows of U S^(1/2).
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import svds

# Largest distance of two words that count as neighbours.
WINDOW = 5


@dataclass(frozen=True)
class WordVectors:
    """Vectors of the words of a text.

    Attributes
    ----------
    words : tuple of str
        In the order of their first appearance.
    vectors : array (n, K)
    counts : integer array (n,)
        How often each word occurs in the text.
    """

    words: tuple[str, ...]
    vectors: np.ndarray
    counts: np.ndarray

    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues (K,) of the covariance of the vector of a random word of the text, descending, of mean one."""
        shares = self.counts / self.counts.sum()
        apart = self.vectors - shares @ self.vectors
        values = np.linalg.eigvalsh((apart.T * shares) @ apart)[::-1]
        return values / values.mean()


def word_vectors(sentences, dimension: int, least: int = 2) -> WordVectors:
    """The vectors of the words that occur at least `least` times; rarer words are left out before neighbours are counted.

    Parameters
    ----------
    sentences : iterable of lists of words
        Words of different sentences are no neighbours.
    dimension : int
        K, the length of a vector.
    least : int

    Raises
    ------
    ValueError
        If the text has not more than K such words with neighbours.
    """
    sentences = [list(sentence) for sentence in sentences]
    counts = Counter(word for sentence in sentences for word in sentence)
    number = {word: k for k, word in enumerate(word for word in counts if counts[word] >= least)}
    pairs = Counter()
    for sentence in sentences:
        kept = [number[word] for word in sentence if word in number]
        for place, word in enumerate(kept):
            for other in kept[place + 1 : place + 1 + WINDOW]:
                pairs[word, other] += 1
                pairs[other, word] += 1
    if len(number) <= dimension or not pairs:
        raise ValueError(
            f"the text has {len(number)} words that occur {least} times or more; allowed: more than {dimension}, the dimension"
        )
    rows, columns = np.array(list(pairs)).T
    joint = np.array(list(pairs.values()), dtype=float)
    total = np.bincount(rows, joint, len(number))
    information = np.maximum(np.log(joint * joint.sum() / (total[rows] * total[columns])), 0.0)
    matrix = coo_matrix((information, (rows, columns)), shape=(len(number),) * 2).tocsr()
    left, singular, _ = svds(matrix, k=dimension, v0=np.ones(len(number)))
    return WordVectors(tuple(number), left * np.sqrt(singular), np.array([counts[word] for word in number]))
