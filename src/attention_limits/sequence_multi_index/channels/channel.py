"""Output channel: posterior moments of the local fields given an output, and the denoiser of GAMP.

    Z_out(y, omega, V) = int dh prod_a N(h_a; omega_a, V) p(y | h)
    g_out = V^-1 E[h - omega | y],   d g_aa = V^-1 Cov(h_a | y) V^-1 - V^-1

(the channel of generalised AMP, Rangan 2011, for sequence models: Troiani et al. 2025, arXiv:2502.00901). Nothing is
differentiated numerically. A link offers one or several methods (`Link.posterior_methods`), and the channel takes the best:

trapezoid            two softmax attention layers reading two tokens: a deterministic quadrature, exact to its stated error;
rotations            one attention layer of rank two reading two tokens: a quadrature over one angle, exact to rounding;
sphere               one attention layer of rank three or more reading two tokens, for V = v I alone: exact to rounding;
von Mises-Fisher     the sum of squares of several fields, for V = v I alone: exact;
cut normal law       the sign of one field; a few discrete outputs of two fields that depend on their direction alone, exact; and
                     any few discrete outputs of one or two fields, an adaptive quadrature, exact to its stated error;
one field            noisy outputs of one field: an adaptive quadrature, exact to its stated error;
own moments          links that give their posterior themselves;
finite sum           links whose output leaves finitely many fields (no free rows, no angles): exact;
importance sampling  everything else, on two independent scramblings of Sobol nodes. Each gives its own estimate, so that products
                     of two posterior means are free of the squared sampling error. Outputs that few nodes explain get
                     separate proposals (`importance.adaptive_moments`). More softmax layers of two tokens have a compiled
                     kernel, "importance sampling over two tokens".
"""

import copy
from dataclasses import replace

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.exact import EXACT, without_sampling
from attention_limits.sequence_multi_index.channels.posterior import (
    SMALLEST_SAMPLE,
    Posterior,
    as_two,
    without_invariant_part,
)
from attention_limits.sequence_multi_index.channels.rotations.moments import rotated_moments
from attention_limits.sequence_multi_index.channels.sampling.importance import (
    adaptive_moments,
    drawn_rows,
    fibre_moments,
    sign_changes,
)
from attention_limits.sequence_multi_index.channels.sampling.two_tokens import two_token_moments
from attention_limits.sequence_multi_index.channels.single_precision import sampling_precision, trapezoid_precision
from attention_limits.sequence_multi_index.channels.trapezoid.moments_kernels import two_layer_moments
from attention_limits.sequence_multi_index.links.invariances import invariant_rows
from attention_limits.sequence_multi_index.links.link import (
    LENGTH,
    OWN,
    POSTERIOR,
    ROTATION,
    SAMPLING,
    SPHERE,
    TRAPEZOID,
    TWO_TOKEN_SAMPLING,
    Link,
    inference,
    require,
    spike_moment,
)
from attention_limits.sequence_multi_index.priors.prior import Prior

# Nodes of each of the two scramblings at resolution 1.
SAMPLING_NODES = 2048


class Channel:
    """The channel of one link at one accuracy.

    Parameters
    ----------
    link : Link
    resolution : float
        Accuracy. Trapezoid: quadrature nodes per narrowest width in units of the default; largest error met over 400
        prior-typical outputs, of log Z and of the moments in units of the prior standard deviations, for beta <= 1: for c >= 0.5
        below 4e-6 at 1, 3e-4 at 0.75; for c = 0, 4e-4 and 1e-3 as long as 1 - Q >= 1e-2 (rare outputs with u_1 ~ u_2 dominate;
        medians are below 1e-5 and 5e-5). It grows with beta: for beta = 10 and every c, 3e-3 at 1 and 1e-2 at 0.75 (medians
        4e-4 and 8e-4). Importance sampling: 2048 resolution^2 nodes in each of two scramblings, rounded to a power of
        two. Finite sums do not use it. `single_precision` determines which nodes are in single precision.
    generator : numpy.random.Generator
        Scrambles the nodes of importance sampling; the other methods draw nothing from it.
    isotropic : bool
        Whether V is always v I, so that `link.isotropic_method` may be used where there is one.

    Attributes
    ----------
    method : str
        The first of `link.posterior_methods`, or `link.isotropic_method`; in place of importance sampling SECTORS or INTERVALS
        where the link has such cells (`links.sectors`, `links.intervals`), and ONE_FIELD for a noisy output of one field.
    outputs : array (K, *output) or None
        All outputs of a link that has such cells.
    invariant : array (P, k)
        Directions of the rows that the output does not see (`links.invariances`): g_out has no component along them, exactly.
    spikes : array (P, P)
        `spike_moment` of the link.
    sampled : bool
        Whether the method is one of importance sampling.
    nodes : tuple of arrays (S, dimension)
        Standard normal nodes of the two scramblings; empty for the exact methods.

    Raises
    ------
    ValueError
        If the link has no channel at these parameters (`links.link.inference`).
    """

    def __init__(self, link: Link, resolution: float, generator: np.random.Generator, isotropic: bool = False):
        require(link, {POSTERIOR})
        self.link, self._single, self._cells = link, True, None
        self.isotropic = isotropic and bool(link.isotropic_method)
        self.method = link.isotropic_method if self.isotropic else link.posterior_methods[0]
        if self.method == SAMPLING:
            self.method, self._cells = without_sampling(link)
        self.outputs = None if self._cells is None else self._cells.outputs
        self.invariant = invariant_rows(link)
        self.spikes = spike_moment(link)
        self.sampled = self.method in _SAMPLERS
        self._draw(resolution, generator)

    def in_double_precision(self) -> "Channel":
        """This channel with all nodes in double precision; itself where they are."""
        if self.method not in (TRAPEZOID, TWO_TOKEN_SAMPLING):
            return self
        found = copy.copy(self)
        found._single = False
        found.nodes = tuple(nodes.astype(float) for nodes in self.nodes)
        return found

    def _draw(self, resolution, generator):
        """Set the resolution, and draw the nodes of a sampled method."""
        self.resolution = float(resolution)
        *halves, self._others = generator.spawn(3)
        self.nodes = tuple(self._sampling_nodes(child) for child in halves) if self.sampled else ()

    def _sampling_nodes(self, generator):
        """Nodes (S, dimension) of the fields that are drawn, closed under the symmetry of the link."""
        link = self.link
        fibre = inference(link) == "fibre"
        dimension = link.free_rows * link.tokens + link.angles if fibre else link.rows * link.tokens
        count = 2 ** round(np.log2(SAMPLING_NODES * self.resolution**2))
        signs = sign_changes(dimension, link)
        # Unit width: the nodes represent the prior, and their weights must not depend on the node.
        points = gaussian_nodes(dimension, max(count, 128) // len(signs), generator, 1.0).points
        found = (signs[:, None, :] * points).reshape(-1, dimension)
        return found.astype(sampling_precision(link)) if self._single and self.method == TWO_TOKEN_SAMPLING else found

    def symmetry(self, prior: Prior) -> str:
        """`Prior.symmetry` of the link and a prior; "rotations" where V must be v I.

        Then rounding and the finite number of nodes must not break the symmetry of the exact averages.
        """
        return "rotations" if self.isotropic else prior.symmetry(self.link)

    def independent(self, count, finer=1.0) -> "list[Channel]":
        """Channels of the same link on independent scramblings, the same ones at every call.

        Averages over them have no error that all outputs share.

        Parameters
        ----------
        count : int
        finer : float
            Their resolution over that of this channel, for sampled channels; the exact methods return this one, `count` times.
        """
        if not self.sampled:
            return [self] * count
        children = copy.deepcopy(self._others).spawn(count)
        # What the link says is read once.
        found = [copy.copy(self) for _ in children]
        for one, child in zip(found, children, strict=True):
            one._draw(finer * self.resolution, child)
        return found

    def posterior(self, observed, omega, V) -> Posterior:
        """Posterior moments of the local fields.

        Parameters
        ----------
        observed : array (n, ...)
            Outputs as `link.observe` gives them; for deep attention the score roots u (n, M); the global sign of each row does
            not matter.
        omega : array (n, P, M)
            Prior means (sample, row, token) of h.
        V : array (P, P)
            Prior covariance over rows, positive definite, the same for every token and sample.

        Raises
        ------
        ValueError
            For wrong shapes, non-finite input, V not positive definite, or V not v I where the method needs it.
        """
        rows, tokens = self.link.rows, self.link.tokens
        observed, omega, V = (np.ascontiguousarray(x, dtype=float) for x in (observed, omega, V))
        n = len(observed)
        if omega.shape != (n, rows, tokens) or V.shape != (rows, rows):
            wanted = f"omega {(n, rows, tokens)} and V {(rows, rows)} for {n} outputs"
            raise ValueError(f"need {wanted}; got {omega.shape}, {V.shape}")
        if not all(np.all(np.isfinite(x)) for x in (observed, omega, V)):
            raise ValueError("outputs, omega and V must be finite")
        if not np.array_equal(V, V.T) or np.linalg.eigvalsh(V)[0] <= 0:
            raise ValueError(f"V must be symmetric positive definite, got {V.tolist()}")
        if self.method in EXACT:
            found = self._posterior([EXACT[self.method](self.link, self._cells, observed, omega, V)])
        else:
            found = _METHODS[self.method](self, observed, omega, V)
        return without_invariant_part(found, self.invariant, V) if self.invariant.shape[1] else found

    def _trapezoid(self, u, omega, V) -> Posterior:
        n = len(u)
        log_z, resolved = np.empty(n), np.empty(n, bool)
        mean, covariance = np.empty((n, 2, 2)), np.empty((n, 2, 2, 2, 2))
        two_layer_moments(
            u, omega, V, float(self.link.skip), float(self.link.beta), self.resolution,
            np.empty(0, trapezoid_precision(self.link, V, self.resolution) if self._single else float),
            log_z, mean, covariance, resolved,
        )  # fmt: skip
        return Posterior(log_z, as_two(mean[None]), as_two(covariance[None]), np.full(n, np.inf), resolved)

    def _rotated(self, observed, omega, V) -> Posterior:
        *moments, resolved = rotated_moments(self.method, self.link, observed, omega, V, self.resolution)
        found = self._posterior([(*moments, np.full(len(observed), np.inf))])
        return replace(found, resolved=found.resolved & resolved)

    def _own(self, observed, omega, V) -> Posterior:
        log_z, mean, covariance = (np.asarray(values, dtype=float) for values in self.link.moments(observed, omega, V))
        effective, resolved = np.full(len(log_z), np.inf), np.isfinite(log_z)
        return Posterior(log_z, as_two(mean[None]), as_two(covariance[None]), effective, resolved)

    def _sampling(self, observed, omega, V) -> Posterior:
        moments = _SAMPLERS[self.method]

        def on(nodes):
            return lambda outputs, proposals: moments(self.link, observed[outputs], omega[outputs], V, nodes, proposals)

        samples = [on(nodes) for nodes in self.nodes]
        return self._posterior(adaptive_moments(samples, V, omega, drawn_rows(self.link), len(self.nodes[0])))

    def _posterior(self, estimates) -> Posterior:
        """The posterior from one or two estimates of (log Z, mean, second moments, effective sample size)."""
        rows, tokens = self.link.rows, self.link.tokens
        log_z, means, seconds, effective = (np.stack(values) for values in zip(*estimates, strict=True))
        # The two sets of nodes together; both have the same number.
        pooled = np.logaddexp.reduce(log_z, axis=0) - np.log(len(log_z))
        product = np.einsum("ni,nj->nij", means[0], means[-1])
        covariances = seconds - 0.5 * (product + product.transpose(0, 2, 1))
        n = means.shape[1]
        total = effective.sum(axis=0)
        return Posterior(
            pooled,
            as_two(means.reshape(-1, n, rows, tokens)),
            as_two(covariances.reshape(-1, n, rows, tokens, rows, tokens)),
            total,
            (total >= SMALLEST_SAMPLE) & np.isfinite(pooled),
        )


_SAMPLERS = {SAMPLING: fibre_moments, TWO_TOKEN_SAMPLING: two_token_moments}
_METHODS = {
    TRAPEZOID: Channel._trapezoid,
    **dict.fromkeys((ROTATION, SPHERE, LENGTH), Channel._rotated),
    OWN: Channel._own,
    **dict.fromkeys(_SAMPLERS, Channel._sampling),
}
