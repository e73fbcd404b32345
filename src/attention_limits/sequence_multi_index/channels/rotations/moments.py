"""Exact posterior moments of links whose rows may be rotated: the arrays of `angle_kernels` and `sphere_kernels`."""

import numpy as np

from attention_limits.sequence_multi_index.channels.rotations.angle_kernels import rotation_moments
from attention_limits.sequence_multi_index.channels.rotations.sphere_kernels import length_moments, sphere_moments
from attention_limits.sequence_multi_index.links.link import LENGTH, ROTATION, SPHERE, Link

# V counts as v I up to this share of v, and up to the rounding of I - Q.
ISOTROPIC, ROUNDING = 1e-8, 1e-13


def rotated_moments(method: str, link: Link, observed, omega, V, resolution: float):
    """Exact moments of n outputs.

    Parameters
    ----------
    method : str
        ROTATION, SPHERE or LENGTH, as the link declares.
    link : Link
    observed : array (n, ...)
        As `link.observe` returns it.
    omega : array (n, P, M)
        Prior means of the fields.
    V : array (P, P)
        Their prior covariance over rows, v I except for ROTATION.
    resolution : float
        Of the quadrature, see the kernels. SPHERE is exact to rounding from 0.5 on, LENGTH always.

    Returns
    -------
    log_z (n,), mean (n, P M), second (n, P M, P M), resolved (n,)
        log Z_out; first and second moments of h - omega; whether the quadrature reached its width.

    Raises
    ------
    ValueError
        If V is not v I where it must be.
    """
    v, n, size = float(V[0, 0]), len(observed), link.rows * link.tokens
    if method != ROTATION and np.max(np.abs(V - v * np.eye(link.rows))) > ISOTROPIC * v + ROUNDING:
        raise ValueError(f"the method {method!r} needs V = v I, got {V.tolist()}")
    found = np.empty(n), np.empty((n, size)), np.empty((n, size, size))
    return (*found, _METHODS[method](link, observed, omega, V, resolution, found))


def _rotation(link, observed, omega, V, resolution, found):
    # In the fields sqrt(w) h, whose output is that of equal weights.
    root, resolved = np.sqrt(link.weights), np.empty(len(observed), bool)
    x, V = np.ascontiguousarray(observed[:, 0]), V * np.outer(root, root)
    rotation_moments(x, omega * root[:, None], V, resolution, *found, resolved)
    _, mean, second = found
    scale = np.repeat(root, 2)
    mean /= scale
    second /= np.outer(scale, scale)
    return resolved


def _sphere(link, observed, omega, V, resolution, found):
    # In the fields sqrt(w) h, whose output is that of weights one.
    weight, resolved = link.weights[0], np.empty(len(observed), bool)
    x = np.ascontiguousarray(observed[:, 0])
    sphere_moments(x, omega * np.sqrt(weight), V[0, 0] * weight, resolution, *found, resolved)
    _, mean, second = found
    mean /= np.sqrt(weight)
    second /= weight
    return resolved


def _length(link, observed, omega, V, resolution, found):
    length_moments(observed, np.ascontiguousarray(omega[..., 0]), V[0, 0], *found)
    return np.ones(len(observed), bool)


_METHODS = {ROTATION: _rotation, SPHERE: _sphere, LENGTH: _length}
