"""Links: the output y = g(h) of a sequence multi-index model, and how y constrains h.

The data are sequences x of M tokens in D dimensions; the local fields h = W x / sqrt(D), with P rows and M columns, are Gaussian
in the limit, and the output depends on x through them alone (Troiani et al. 2025, arXiv:2502.00901). Inference needs the measure
p(y | h), in one of two forms:

fibre
    Noiseless links. Given y and the first `free_rows` rows of h (and `angles` further standard normal variables), finitely many
    candidates of the remaining rows are left:  delta(y - g(h)) = sum_k exp(log_weight_k) delta(h_rest - candidate_k).
log_likelihood
    Links whose output keeps h in an open set: output noise, or discrete outputs (0 where h explains y, -inf elsewhere).
"""

from collections.abc import Callable, Set

import numpy as np

# A solver may need of a link (see `require`): the posterior of the fields given the output; an overlap that is diagonal, because
# the sign of every row is free; an output that changes with the fields by more than rounding: gradient descent moves; rows that
# may change their places.
POSTERIOR, DIAGONAL_OVERLAP, GRADIENT = "posterior", "diagonal overlap", "gradient"
EXCHANGEABLE = "exchangeable rows"
# Standard normal tokens: those of a link with `spikes` depend on the weights.
NORMAL_TOKENS = "standard normal tokens"
# Random fields, and the relative change of them, that show whether an output has a gradient.
PROBED, PROBE = 32, 1e-6
# Smallest eigenvalue of a covariance of rows or tokens: below it the fields of a combination of them hardly vary.
SMALLEST_EIGENVALUE = 1e-3
# Ways to compute the posterior, see `channel`.
TRAPEZOID, FINITE_SUM, SAMPLING = "trapezoid", "finite sum", "importance sampling"
TWO_TOKEN_SAMPLING, ROTATION = "importance sampling over two tokens", "quadrature over rotations"
HALF_LINE, SECTORS = "cut normal law", "cut normal law of two fields"
INTERVALS, ONE_FIELD, OWN = "cut normal law along one field", "quadrature over one field", "moments of the link itself"
# For V = v I alone, see `Link.isotropic_method`: the integral over the sphere of directions, or its closed form for one token.
SPHERE, LENGTH = "quadrature over a sphere", "von Mises-Fisher law"


class Link:
    """Base class of links; subclasses set the attributes and write `forward` and one of `fibre` and `log_likelihood`.

    Noiseless links write

        fibre(observed, free, angles) -> candidates, log_weight

    from observed (n, *output) as `observe` gives it, free (n, S, free_rows, M) and angles (S, angles), or (1, 0) without any, to
    candidates (n, S, K, P - free_rows, M) and log_weight (n, S, K), where -inf marks a missing candidate, or to arrays that
    broadcast to these shapes (`candidates_of`): without free rows S may be 1. Unless the sign
    symmetry is "none", -free and -angles give the same candidates with all signs changed, and the same weights. Noisy and
    discrete links write

        log_likelihood(observed, h) -> array (n, S)

    of h (n, S, P, M). A link that knows its exact posterior writes, beside one of the two,

        moments(observed, omega, V) -> log_z, mean, covariance

    for h_a ~ N(omega_a, V), omega (n, P, M) and V (P, P), independent over the tokens a: log Z (n,), E[h - omega | y] (n, P, M)
    and the covariance of h given y (n, P, M, P, M). `forward` of the links provided by this package raises ValueError when h does
    not end in (P, M).

    Tokens are standard normal, unless a link writes

        spikes(noise) -> array (n, P, M)

    of the noise that `observe` gets. Then x_a = z_a + sum_p s_pa w_p / sqrt(D), z_a standard normal: the means of the tokens lie
    along the weights, as in Gaussian mixtures, and x alone says something about W. `observe` gets the fields of x, and
    `log_likelihood` is log p(y, x | W) / N(x; 0, I) = log E_s exp(sum_a s_a . h_a - |s_a|^2 / 2) p(y | h, s), a function of h for
    W W^T = D I (derived for this project: a change of measure).

    Attributes
    ----------
    name : str
        Name of the link in messages; by default that of the class.
    rows, tokens : int
        P and M: h has shape (..., P, M).
    sign_symmetry : str
        Which changes of sign leave the output unchanged: "rows": of any single row of h; "all": only of all rows together;
        "none": not even that. With "rows" overlaps are diagonal; with either of the first two nothing is known about
        the sign of h and zero overlap is a fixed point.
    rotations : int
        Number p of successive rows: a common rotation in O(p) of these rows leaves the output unchanged. There are P / p blocks.
    exchangeable : bool
        Whether every permutation of all rows but the last leaves the output unchanged; these are then the free rows of a fibre.
    reads_fields : bool
        Whether the output depends on the fields. Random labels do not: they are a target of empirical risk minimisation alone.
    noise_dimension : int
        Number of standard normal variables that `observe` takes beside h; 0 for a deterministic output.
    isotropic_method : str
        A way to compute the posterior for V = v I alone that is better than `posterior_methods`, or an empty text. Only links in
        which all rows may be rotated have one: V keeps this form in the state evolution from an uninformed start.
    free_rows, angles : int
        Of a fibre: number of leading rows left free, and number of standard normal variables that parametrise the candidates.
    no_density : str
        Why inference is impossible at these parameters, or an empty text.
    no_moments : str
        Why no number of nodes reaches the moments of the output at these parameters, or an empty text.
    student : tuple or None
        Kind of compiled forward pass with derivatives (`erm.losses.KINDS`) and its parameters; None without one.
    derivatives : compiled function or None
        Of a student of the user in empirical risk, in place of those that JAX finds from `forward`: derivatives(z, value,
        gradient, hessian), compiled by numba, fills the output (K,) at fields z (P M,), rows after each other, its gradient
        (K, P M) and Hessian (K, P M, P M).
    """

    name: str = "Link"
    rows: int
    tokens: int
    sign_symmetry = "all"
    rotations = 1
    isotropic_method = ""
    exchangeable = False
    reads_fields = True
    noise_dimension = 0
    free_rows = 0
    angles = 0
    no_density = ""
    no_moments = ""
    student: tuple[str, tuple[float, ...]] | None = None
    derivatives: Callable | None = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.name = cls.__dict__.get("name", cls.__name__)

    @property
    def posterior_methods(self) -> tuple[str, ...]:
        """Ways in which `channel.Channel` can compute its posterior, best first. Raises ValueError as `inference`."""
        finite = inference(self) == "fibre" and self.free_rows * self.tokens + self.angles == 0
        own = (OWN,) if hasattr(self, "moments") else ()
        return (*own, FINITE_SUM if finite else SAMPLING)

    def forward(self, h):
        """Output y = g(h) of fields h (..., P, M), without noise: array (..., *output)."""
        raise NotImplementedError

    def observe(self, h, noise=None):
        """The observation that inference conditions on: y itself, or an equivalent of y that is known more exactly.

        Parameters
        ----------
        h : array (n, P, M)
        noise : array (n, noise_dimension) or None
            Standard normal variables, for links with noise.

        Returns
        -------
        array (n, *output)
        """
        return self.forward(h)

    def log_volume(self, h):
        """log |dy / du| at fields h (n, P, M), u the observation and y the output in independent entries: array (n,).

        Zero where `observe` returns the output.
        """
        return np.zeros(len(h))

    @property
    def output_entropy(self) -> float:
        """Entropy of the output given the fields, in nats: -inf for a fibre, 0 for a discrete output, NaN if unknown.

        NaN for a link with spikes: its likelihood is that of the tokens too.
        """
        if hasattr(self, "spikes"):
            return np.nan
        if inference(self) == "fibre":
            return -np.inf
        return np.nan if self.noise_dimension else 0.0


def log_noise(link: Link, observed, h) -> tuple[np.ndarray, float]:
    """log p(y | h) of outputs `observed` (n, ...) with continuous noise, at the fields h (n, P, M) that gave them, and its mean.

    The mean is -`output_entropy` of the `link`. Both are zero for other outputs. For K noisy outputs of one sequence log Z has
    the variance K / 2, which is that of log p(y | h). Their difference, the information, has a variance of order one.
    """
    if link.output_entropy == 0.0 or not np.isfinite(link.output_entropy):
        return np.zeros(len(h)), 0.0
    return link.log_likelihood(observed, h[:, None])[:, 0], -link.output_entropy


def candidates_of(link: Link, observed, free, angles):
    """`fibre` of a link, broadcast to the candidates (n, S, K, P - free_rows, M) and log_weight (n, S, K).

    Arrays of another library keep their kind, as in `as_array`.

    observed (n, *output), free (n, S, free_rows, M) and angles (S, angles), or (1, 0) without any. Raises ValueError if the
    arrays do not broadcast to these shapes.
    """
    candidates, log_weight = map(as_array, link.fibre(observed, free, angles))
    count = candidates.shape[-3] if candidates.ndim >= 3 else 1
    shape = (len(observed), max(free.shape[1], len(angles)), count)
    shapes = (*shape, link.rows - link.free_rows, link.tokens), shape
    # An array of the right shape stays, and may be written.
    return tuple(
        values if values.shape == wanted else np.broadcast_to(values, wanted)
        for values, wanted in zip((candidates, log_weight), shapes, strict=True)
    )


def inference(link: Link) -> str:
    """How the output constrains the fields: "fibre" or "likelihood".

    Raises
    ------
    ValueError
        If the link defines neither or both, or gives a reason why it has none; then only its forward pass can be used.
    """
    forms = [name for name in ("fibre", "log_likelihood") if hasattr(link, name)]
    if len(forms) == 1 and not link.no_density:
        return forms[0].removeprefix("log_")
    reason = link.no_density or f"it defines {' and '.join(forms) or 'neither fibre nor log_likelihood'}"
    raise ValueError(
        f"{link.name} has no channel to infer from: {reason}; give it output noise (noise: a variance > 0), or "
        "write one of `fibre` and `log_likelihood`"
    )


# Sobol nodes of the noise that draws the spikes.
SPIKE_NODES = 65536


def spike_moment(link: Link) -> np.ndarray:
    """E sum_a s_a s_a^T of the spikes s of a link, array (P, P): zero without spikes.

    The likelihood of the tokens has the factor exp(-w^T s s^T w / 2) for each dimension, so this is a part of the precision.
    """
    if not hasattr(link, "spikes"):
        return np.zeros((link.rows, link.rows))
    from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

    noise = np.zeros((1, 0))
    if link.noise_dimension:
        noise = gaussian_nodes(link.noise_dimension, SPIKE_NODES, np.random.default_rng(0), 1.0).points
    spikes = link.spikes(noise)
    return np.einsum("npa,nqa->pq", spikes, spikes) / len(spikes)


def as_array(values):
    """`values` as an array; one of another library, such as `tracing.traced.Traced`, and of a subclass keeps its kind."""
    return values if hasattr(values, "__array_function__") else np.asanyarray(values)


def as_floats(h):
    """h as an array of floats; an array of another library, such as `tracing.traced.Traced`, keeps its kind."""
    return h.astype(float, copy=False) if hasattr(h, "__array_function__") else np.asarray(h, dtype=float)


def require_shape(h, rows, tokens):
    """h as floats; raises ValueError unless its shape ends in (rows, tokens)."""
    h = as_floats(h)
    if h.shape[-2:] != (rows, tokens):
        raise ValueError(f"h must end in (rows, tokens) = {(rows, tokens)}, got shape {h.shape}")
    return h


def require(link: Link, needs: Set[str]) -> None:
    """Check that a link meets the needs of a solver: POSTERIOR, DIAGONAL_OVERLAP, EXCHANGEABLE, GRADIENT, NORMAL_TOKENS.

    Raises
    ------
    ValueError
        If it does not, with the reason.
    """
    name = link.name
    if not link.reads_fields and needs & {POSTERIOR, GRADIENT}:
        raise ValueError(
            f"the output of {name} does not depend on the fields (reads_fields = False); allowed: as a target of empirical risk "
            "minimisation"
        )
    if POSTERIOR in needs:
        inference(link)
    if DIAGONAL_OVERLAP in needs and link.sign_symmetry != "rows":
        raise ValueError(
            f"{name} has the sign symmetry {link.sign_symmetry!r}; allowed: links in which the sign of every row is free, so "
            "that Q is diagonal"
        )
    if EXCHANGEABLE in needs and not (link.exchangeable and link.rows > 2):
        raise ValueError(
            f"{name} of {link.rows} rows has no exchangeable rows; allowed: links in which all rows but the last may change "
            "their places, such as committee_depth, with at least three rows"
        )
    if NORMAL_TOKENS in needs and hasattr(link, "spikes"):
        raise ValueError(
            f"{name} has spikes, so its tokens depend on the weights; allowed: links without spikes, or an estimator of the "
            "posterior mean: state evolution, gamp, thresholds"
        )
    if GRADIENT in needs:
        h = np.random.default_rng(0).standard_normal((PROBED, link.rows, link.tokens))
        if np.array_equal(link.forward(h), link.forward(h * (1.0 + PROBE))):
            raise ValueError(
                f"the output of {name} does not change with the fields, up to rounding: its gradient is zero, and gradient "
                "descent cannot move"
            )
