"""What a link says of its fields, compiled: one loop over nodes from its NumPy functions (`tracing.node_loop`).

A link is compiled once in a process, and its code is kept on disk. A link that cannot be recorded (loops of numba, branches on
numbers of an array, operations without code) stays in NumPy, with the same numbers up to rounding.
"""

import functools
import weakref
from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.tracing.elementary import LOOP, NODES
from attention_limits.numerics.tracing.loop_or_reason import loop_or_reason
from attention_limits.sequence_multi_index.channels.sampling.importance_kernels import make_moments
from attention_limits.sequence_multi_index.links.link import Link, candidates_of, inference

# Outputs of the comparison with NumPy; the largest difference, relative to the size of the numbers.
CHECKED, ACCURACY = 8, 1e-9


@dataclass(frozen=True)
class CompiledLink:
    """The loop of a link.

    Attributes
    ----------
    loop : compiled function
        loop(observed (k,), x (F M + angles, NODES), out (C R M + C, NODES)): candidates (C, R, M) before log-weights (C,).
    candidates : int
        C; one for a likelihood, which has no bound rows.
    """

    loop: object
    candidates: int


@functools.cache
def moments_kernel():
    """The one kernel of all links."""
    return make_moments()


@njit(signature_or_function=LOOP)
def no_loop(given, x, out):
    """In the place of a loop of `given`, x and out, for links in NumPy."""


@dataclass(frozen=True)
class _Known:
    """What is known of a link with these attributes: its loop, or why it has none."""

    link: "weakref.ref[Link]"
    attributes: dict
    loop: CompiledLink | None
    reason: str

    def fits(self, link):
        """Whether it is this link, and all attributes are the objects that they were."""
        mine, now = self.attributes, vars(link)
        return self.link() is link and mine.keys() == now.keys() and all(mine[name] is now[name] for name in now)


# By the identity of the link, which need not have a hash.
_known_links: dict[int, _Known] = {}


def compiled_link(link: Link) -> CompiledLink | None:
    """The loop of a link; None if it stays in NumPy."""
    return _known(link).loop


def reason_for_numpy(link: Link) -> str:
    """Why a link stays in NumPy, or an empty text."""
    return _known(link).reason


def _known(link):
    found = _known_links.get(id(link))
    if found is None or not found.fits(link):
        attributes = dict(vars(link))
        found = _known_links[id(link)] = _Known(weakref.ref(link), attributes, *_compile(link))
    return found


def said_of(link: Link, observed, fields, angles):
    """Candidates (n, N, C, R, M) and log_weight (n, N, C) of a link, in NumPy or recorded.

    Arguments: observed (n, *output), drawn fields (n, N, F, M), and angles (N, angles), or (1, 0) without any. All rows of a
    likelihood are drawn: it has one candidate without rows, and the output gives its weight.
    """
    if inference(link) == "fibre":
        return candidates_of(link, observed, fields, angles)
    return np.zeros((*fields.shape[:2], 1, 0, link.tokens)), link.log_likelihood(observed, fields)[:, :, None]


def _compile(link):
    rng = np.random.default_rng(0)
    h = rng.standard_normal((CHECKED, link.rows, link.tokens))
    observed = np.asarray(link.observe(h, rng.standard_normal((CHECKED, link.noise_dimension))), dtype=float)
    fibre = inference(link) == "fibre"
    drawn, angles = (link.free_rows, link.angles) if fibre else (link.rows, 0)
    made, reason = loop_or_reason(
        lambda *given: said_of(link, *given), (1, *observed.shape[1:]), (1, 1, drawn, link.tokens), (1, angles)
    )
    if made is None:
        return None, reason
    loop, (candidates, _) = made
    own = CompiledLink(loop, candidates[2])
    x = rng.standard_normal((drawn * link.tokens + angles, NODES))
    return (own, "") if _agrees(link, own, observed, x) else (None, "its loop gives other numbers than NumPy")


def _agrees(link, own, observed, x):
    """Whether the loop gives the numbers of NumPy for outputs (n, ...) and the fields and angles x (F M + angles, NODES)."""
    n, count = len(observed), own.candidates
    drawn = link.free_rows if inference(link) == "fibre" else link.rows
    d = drawn * link.tokens
    fields = np.tile(x[:d].T.reshape(1, NODES, drawn, link.tokens), (n, 1, 1, 1))
    candidates, weights = said_of(link, observed, fields, x[d:].T if len(x) > d else np.zeros((1, 0)))
    candidates = np.moveaxis(candidates.reshape(n, NODES, count, -1), 1, -1)
    weights = np.moveaxis(weights, 1, -1)
    length = candidates.shape[2]
    found = np.empty((n, count * (length + 1), NODES))
    for output, out in zip(observed, found, strict=True):
        own.loop(output.ravel(), x, out)
    places, logs = found[:, : count * length].reshape(candidates.shape), found[:, count * length :]
    there = weights > -np.inf
    if not np.array_equal(logs > -np.inf, there):
        return False
    several = np.broadcast_to(there[:, :, None], places.shape)
    return _close(logs[there], weights[there]) and _close(places[several], candidates[several])


def _close(found, expected):
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    return np.allclose(found, expected, rtol=ACCURACY, atol=ACCURACY * scale, equal_nan=True)
