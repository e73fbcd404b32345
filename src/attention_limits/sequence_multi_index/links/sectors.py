"""Links of two fields whose discrete output depends on the direction of the fields alone: each output is a set of sectors.

The sectors are read off the output, so that links of a user have them too.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link

# Angles at which the output is read; most boundaries; halvings of an interval that holds one.
ANGLES, MOST_BOUNDARIES, HALVINGS = 4096, 64, 60
# Lengths of the fields whose outputs must agree.
LENGTHS = (1e-3, 0.3, 7.0, 1e3)
TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Sectors:
    """The plane of two fields (h_1, h_2), cut by rays from the origin.

    Attributes
    ----------
    begin, end : array (k,)
        Angles of the two rays of each sector, counterclockwise.
    label : integer array (k,)
        Its output.
    outputs : array (K, *output)
        The different outputs.
    """

    begin: np.ndarray
    end: np.ndarray
    label: np.ndarray
    outputs: np.ndarray


def sectors_of(link: Link) -> Sectors | None:
    """The sectors of a link, or None if it has not two fields, or if its output is not one of a few, without noise, that depend
    on the direction of the fields alone."""
    if (
        type(link).forward is Link.forward
        or link.rows * link.tokens != 2
        or link.noise_dimension
        or not hasattr(link, "log_likelihood")
    ):
        return None
    # No common boundary lies at a fraction of the turn that is not simple.
    angles = TURN * (np.arange(ANGLES) + 1.0 / np.pi) / ANGLES
    output = _outputs(link, angles)
    changes = np.flatnonzero(np.any(output != np.roll(output, -1, axis=0), axis=1))
    if not 2 <= len(changes) <= MOST_BOUNDARIES:
        return None
    low, high = angles[changes], angles[changes] + TURN / ANGLES
    first = output[changes]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        before = np.all(_outputs(link, middle) == first, axis=1)
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    begin = 0.5 * (low + high)
    end = np.append(begin[1:], begin[0] + TURN)
    _, index, label = np.unique(_outputs(link, 0.5 * (begin + end)), axis=0, return_index=True, return_inverse=True)
    shown = np.asarray(link.observe(_fields(link, (0.5 * (begin + end))[index])))
    found = Sectors(begin, end, label.reshape(-1), shown)
    return found if _holds(link, found) else None


def _fields(link, angles):
    """Fields (n, P, M) of unit length at `angles` (n,)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).reshape(-1, link.rows, link.tokens)


def _outputs(link, angles, length=1.0):
    return np.reshape(link.forward(length * _fields(link, angles)), (len(angles), -1))


def _holds(link, found) -> bool:
    """Whether the sectors give the output at other angles and lengths, and the likelihood says the same."""
    angles = TURN * np.random.default_rng(0).random(ANGLES)
    label = found.label[np.searchsorted(found.begin, angles, side="right") - 1]
    wanted = np.reshape(found.outputs, (len(found.outputs), -1))
    h = _fields(link, angles)
    if not all(np.array_equal(_outputs(link, angles, length), wanted[label]) for length in LENGTHS):
        return False
    explains = np.stack([
        link.log_likelihood(np.broadcast_to(output, (ANGLES, *np.shape(output))), h[:, None])[:, 0]
        for output in found.outputs
    ])  # fmt: skip
    return np.array_equal(explains, np.where(label == np.arange(len(wanted))[:, None], 0.0, -np.inf))
