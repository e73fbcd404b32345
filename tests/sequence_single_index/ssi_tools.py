"""Tools of the tests of the sequence single-index family: generators, nodes, functions, experiment files."""

import numpy as np
import yaml
from numpy.polynomial import chebyshev, polynomial

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.simd.float64_lanes import WIDTH
from attention_limits.sequence_single_index.links import built_in
from attention_limits.sequence_single_index.links.geometry import fixed_attention, mean_attention
from attention_limits.sequence_single_index.links.link import Link, over_sequences, softmax_attention
from attention_limits.sequence_single_index.positional_semantic.loss import attention_tables
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule

CUBE = "def cube(z):\n    return z[:, 0] ** 3 - 3 * z[:, 0]\n"


def rng(seed):
    return np.random.Generator(np.random.SFC64(seed))


def rngs(count):
    """Generators with the seeds 0 ... count - 1, one for each run."""
    return [rng(seed) for seed in range(count)]


def lanes_of(array):
    """`array` with a last axis of eight equal lanes."""
    return np.repeat(np.asarray(array, dtype=float)[..., None], WIDTH, axis=-1)


def lane_update(update):
    """(state (n,), draws (batch, width), chi, parameters) -> result of one step of an `update` of lanes, with equal lanes."""

    def one(state, draws, chi, parameters):
        states, learned = lanes_of(state), lanes_of(np.zeros(1 + len(state)))
        # The rows of another step, which must not be read, come first.
        rows = [lanes_of(np.concatenate([np.full(np.size(x), np.nan), np.ravel(x)])) for x in (draws, chi)]
        numbers = np.array([parameters[0], len(draws), *parameters[1:]], dtype=float)
        update(states, *rows, 1, numbers, learned)
        assert np.all(states == states[:, :1])
        state[:] = states[:, 0]
        return learned[0, 0]

    return one


def attention_nodes(seed, count=2**15):
    return gaussian_nodes(4, count, np.random.default_rng(seed))


def overlap_derivative(x, y, i, j):
    """d^i/dX^i d^j/dY^j of C at x = X and y = Y of one shape, from the tables."""
    columns = chebyshev.chebval(2.0 * x - 1.0, chebyshev.chebder(attention_tables().c, i, scl=2.0))
    return polynomial.polyval(y, polynomial.polyder(columns, j), tensor=False)


def attention_derivatives(a, omega, e, m):
    """Gradient (2,) and Hessian (2, 2) of R in (e, m) at one (a, omega) and one point, from the tables."""
    tables, abar = attention_tables(), fixed_attention(a)
    x, y = e**2, m**2

    def by(i, j):
        """d^i/dX^i d^j/dY^j of R."""
        value = -4.0 * (1.0 - omega) * overlap_derivative(x, y, i, j)
        return value + 2.0 * (tables.q_at(x, i) - 2.0 * omega * abar * mean_attention(x, i)) if j == 0 else value

    by_x, by_y = by(1, 0), by(0, 1)
    gradient = np.array([2.0 * e * by_x, 2.0 * m * by_y])
    mixed = 4.0 * e * m * by(1, 1)
    hessian = np.array([[2.0 * by_x + 4.0 * x * by(2, 0), mixed], [mixed, 2.0 * by_y + 4.0 * y * by(0, 2)]])
    return gradient, hessian


def token_loss(omega, a, nodes, places, e, m):
    """R(e, m) = 1/2 E||T - S||^2 of the target with weight `omega` and strength `a` of its positional part.

    `nodes` have 2 M dimensions, the positions `places` are (M, r), the overlaps `e` (r,) and `m` a number. The mean is over all
    signs of the fields.
    """
    places, e = np.asarray(places, dtype=float), np.atleast_1d(np.asarray(e, dtype=float))
    eta, c = np.split(nodes.points, 2, axis=1)
    fixed, rest, found = softmax_attention(a * places[None, :, 0])[0], np.sqrt(max(0.0, 1.0 - m**2)), []
    for sign in (1.0, -1.0):
        teacher = (1.0 - omega) * softmax_attention(m * c + sign * rest * eta) + omega * fixed
        for shift in (places @ e, -places @ e):
            miss = teacher - softmax_attention(c + shift)
            found.append(nodes.mean(0.5 * np.sum(miss**2, axis=(1, 2))))
    return float(np.mean(found))


def positional_semantic(a, omega):
    """The positional-semantic target of two tokens as a link."""
    return Link(2, over_sequences(built_in.positional_semantic(a, omega)))


def trace_of_attention(scale):
    """The link `scale` times the trace of softmax(z z^T), of two tokens."""
    return Link(2, lambda z: scale * np.trace(softmax_attention(z), axis1=1, axis2=2))


def one_step(simulate, start, dimension, runs):
    """Mean change of the state per step times d, over single steps from the same state; array (runs, n)."""
    schedule = Schedule(1, threshold=2.0)
    return dimension * np.array([run.state - start for run in simulate(schedule, rngs(runs))])


def he(k, z):
    return np.polynomial.hermite_e.hermeval(z, [0] * k + [1])


def box(z, half=1.0):
    return np.all(np.abs(z) < half, axis=1).astype(float)


def write_experiment(project, estimator, model, grid, **part):
    """An experiment of one estimator in the folder `project`, beside a file cube.py with the function cube: its path."""
    (project / "cube.py").write_text(CUBE)
    path = project / "config/sequence_single_index/experiments/drawn.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    axes = {key: {"values": values} for key, values in grid.items()}
    document = {"title": "t", "description": "d", "model": model, "estimators": {estimator: {"grid": axes, **part}}}
    path.write_text(yaml.safe_dump(document))
    return path
