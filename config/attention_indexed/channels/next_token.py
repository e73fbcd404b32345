"""The next token of a sequence, drawn from the attention of its last token."""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channels.output import OutputChannel


@dataclass(frozen=True)
class NextToken(OutputChannel):
    """A token drawn from the softmax of `sharpness` times the last row of scores: logistic regression for two tokens."""

    sharpness: float = 1.0

    def output(self, h):
        """The probability of each token given scores h (..., M, M)."""
        row = self.sharpness * h[..., -1, :]
        weights = np.exp(row - row.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def draw(self, h, generator):
        """Tokens (n,) of scores h (n, M, M), random from the numpy `generator`."""
        passed = generator.random((len(h), 1)) > np.cumsum(self.output(h), axis=-1)
        return np.minimum(passed.sum(axis=-1), self.tokens - 1)

    def log_likelihood(self, observed, h):
        """log P (n, S) of tokens `observed` (n,) given scores h (n, S, M, M)."""
        return np.log(np.take_along_axis(self.output(h), observed[:, None, None], axis=-1)[..., 0])
