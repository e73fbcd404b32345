"""How much of each order of interaction the logits of a model contain.

At random colours, independent and uniform, the fields of the terms of two orders are orthogonal functions of the sequence,
because the tensors have zero sums. The regression of the logits on the field of one order then measures this order alone.
"""

import numpy as np

from attention_limits.potts_mlm.many_body.model import ManyBody


def learned_fraction(logits, model: ManyBody, probes, order: int) -> tuple[float, float]:
    """<f, g> / <g, g> of the logits f (N, L, C) and the true fields g of one `order` at random `probes` (N, L), and its error.

    1 where the logits contain the terms of this order as they are, 0 where they contain nothing of them. Both are taken without
    their mean over the colours, which no softmax sees. The standard error is that of the ratio of means over independent probes.
    """
    fields = model.fields(probes, order)
    f, g = (item - item.mean(axis=2, keepdims=True) for item in (logits, fields))
    product, square = (f * g).sum(axis=(1, 2)), (g * g).sum(axis=(1, 2))
    fraction = product.sum() / square.sum()
    residual = product - fraction * square
    return float(fraction), float(residual.std(ddof=1) / np.sqrt(len(residual)) / square.mean())
