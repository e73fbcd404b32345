"""The generalised Potts model: H(s) = -1/2 sum_{i != j} J_ij U[s_i, s_j], P(s) = exp(-beta H(s)) / Z.

Rende, Gerace, Laio, Goldt 2024 (arXiv:2304.07235). L sites with C colours each; J couples the sites, U the colours.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.base.user_files import user_file
from attention_limits.potts_mlm.potts.contacts import contact_map

# Enumeration holds all C**L states in memory.
MAX_STATES = 1 << 20
# Largest difference between a matrix and its transpose, relative to the largest entry.
SYMMETRY = 1e-10


@dataclass(frozen=True)
class Potts:
    """Couplings of a generalised Potts model, checked, in double precision.

    Attributes
    ----------
    J : array (L, L)
        Symmetric, zero diagonal, L >= 2.
    U : array (C, C)
        Symmetric, C >= 2.

    Raises
    ------
    ValueError
        For another matrix, with the wrong entry.
    """

    J: np.ndarray
    U: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "J", symmetric(self.J, "J", hollow=True))
        object.__setattr__(self, "U", symmetric(self.U, "U"))

    @property
    def sites(self) -> int:
        """Number of sites L."""
        return len(self.J)

    @property
    def colors(self) -> int:
        """Number of colours C."""
        return len(self.U)

    def checked(self, states) -> np.ndarray:
        """`states` as int8 of shape (n, L). Raises ValueError when the shape or a colour does not fit."""
        states = np.atleast_2d(states)
        if states.ndim != 2 or states.shape[1] != self.sites:
            raise ValueError(f"states of shape {states.shape}: must be (n, {self.sites})")
        outside = np.argwhere((states < 0) | (states >= self.colors))
        if len(outside):
            row, site = outside[0]
            raise ValueError(f"state {row}, site {site}: colour {states[row, site]}: allowed: 0 to {self.colors - 1}")
        return states.astype(np.int8)

    def fields(self, states) -> np.ndarray:
        """Local fields h_ia = sum_{j != i} J_ij U[a, s_j] of states (n, L): array (n, L, C)."""
        return np.matmul(self.J, self.U[self.checked(states)])

    def energy(self, states) -> np.ndarray:
        """H of states (n, L): array (n,)."""
        states = self.checked(states)
        own = np.take_along_axis(self.fields(states), states[..., None].astype(int), axis=2)
        return -0.5 * own.sum(axis=(1, 2))

    def conditionals(self, states, beta: float) -> np.ndarray:
        """p(s_i = a | s_-i) = softmax_a(beta h_ia) at each site of states (n, L): array (n, L, C)."""
        logits = beta * self.fields(states)
        weights = np.exp(logits - logits.max(axis=2, keepdims=True))
        return weights / weights.sum(axis=2, keepdims=True)

    def enumerate(self, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """All states (C**L, L), last site fastest, and their probabilities exp(-beta H) / Z (C**L,).

        Raises ValueError above 2**20 states.
        """
        if self.colors**self.sites > MAX_STATES:
            raise ValueError(f"{self.colors}**{self.sites} states: enumeration is for at most {MAX_STATES}")
        states = np.array(list(itertools.product(range(self.colors), repeat=self.sites)), dtype=np.int8)
        log_weights = -beta * self.energy(states)
        weights = np.exp(log_weights - log_weights.max())
        return states, weights / weights.sum()


def symmetric(matrix, name: str, hollow: bool = False) -> np.ndarray:
    """`matrix` in double precision, exactly symmetric.

    Raises ValueError, with `name` and the first wrong entry, unless it is square, at least 2 x 2, finite and symmetric, and, if
    `hollow`, zero on its diagonal.
    """
    matrix = np.array(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(f"{name}: shape {matrix.shape}: must be square, at least 2 x 2")
    with np.errstate(invalid="ignore"):
        asymmetry = np.abs(matrix - matrix.T)
    for wrong, rule in (
        (~np.isfinite(matrix), "finite"),
        (asymmetry > SYMMETRY * np.abs(matrix).max(), "symmetric"),
        (np.diag(np.diag(matrix) != 0) & hollow, "zero on the diagonal"),
    ):
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                f"{name}: row {row + 1}, column {column + 1}: {matrix[row, column]:g}: the matrix must be {rule}"
            )
    return 0.5 * (matrix + matrix.T)


def site_couplings(kind: str, sites: int, rng, rank: int = 1, density: float = 0.1) -> np.ndarray:
    """A random J (sites, sites).

    gaussian: J_ij ~ N(0, 1). contact: 1 between neighbours on the chain and, with probability `density`, between other sites;
    0 elsewhere. low_rank: sum of `rank` outer products of standard normal vectors, over sqrt(rank), with zero diagonal.
    `rng` is a numpy.random.Generator. Raises ValueError for another kind.
    """
    if kind == "low_rank":
        factors = rng.standard_normal((sites, rank))
        matrix = factors @ factors.T / np.sqrt(rank)
    elif kind == "gaussian":
        matrix = rng.standard_normal((sites, sites))
    elif kind == "contact":
        matrix = (rng.random((sites, sites)) < density) | np.eye(sites, k=1, dtype=bool)
    else:
        raise ValueError(f"couplings of kind {kind!r}: allowed: gaussian, contact, low_rank")
    upper = np.triu(matrix, 1).astype(float)
    return upper + upper.T


def color_couplings(kind: str, colors: int, rng) -> np.ndarray:
    """A U (colors, colors): identity, or gaussian: symmetric with U_ab ~ N(0, 1), drawn from the Generator `rng`.

    Raises ValueError for another kind.
    """
    if kind == "identity":
        return np.eye(colors)
    if kind != "gaussian":
        raise ValueError(f"color couplings of kind {kind!r}: allowed: identity, gaussian")
    upper = np.triu(rng.standard_normal((colors, colors)))
    return upper + np.triu(upper, 1).T


def read_matrix(path: Path) -> np.ndarray:
    """The matrix in the file `path`: a .npy file, or the only variable of a NetCDF file.

    Raises ValueError, with the path, when the file cannot be read or holds something else than one real matrix.
    """
    try:
        if Path(path).suffix == ".npy":
            with open(path, "rb") as file:
                if file.read(6) != b"\x93NUMPY":
                    raise ValueError("no file of numpy.save")
            matrix = np.load(path, allow_pickle=False)
        else:
            with xr.open_dataset(path, engine="netcdf4") as dataset:
                names = list(dataset.data_vars)
                if len(names) != 1:
                    raise ValueError(f"holds the variables {', '.join(map(str, names)) or 'none'}; one is allowed")
                matrix = dataset[names[0]].values
    except (OSError, ValueError, EOFError) as error:
        kinds = (
            ""
            if isinstance(error, FileNotFoundError)
            else "; allowed: a .npy file of numpy.save, a NetCDF file of one variable"
        )
        raise ValueError(f"{path}: cannot be read as a matrix: {error}{kinds}") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise ValueError(f"{path}: an array of shape {matrix.shape} and type {matrix.dtype}; must be a real matrix")
    return matrix.astype(float)


def make_model(model: dict, project: Path | str, root_seed: int, family: str, replica: int = 0) -> Potts:
    """The Potts model of a specification; instances with the same number are equal in all experiments.

    From a list of instances, replica number `replica` takes the entry of this number. Files are relative to `project`.
    `root_seed` and `family` name the random streams. Raises ValueError when a file holds no symmetric matrix of the right size,
    or lacks the distance of some sites.
    """
    streams = Streams(root_seed, family, "instances")
    instance = model["instance"][replica] if isinstance(model["instance"], list) else model["instance"]

    def matrix(key, draw, size):
        options = dict(model[key])
        kind = options.pop("kind")
        if kind == "distances":
            return contact_map(user_file(project, options["file"]), size, options["contact"])
        if kind != "file":
            return draw(kind, size, streams.generator(key, instance), **options)
        found = read_matrix(user_file(project, options["file"]))
        if len(found) != size:
            raise ValueError(f"{options['file']}: shape {found.shape}: must have {size} rows")
        return found

    return Potts(
        matrix("couplings", site_couplings, model["sites"]), matrix("color_couplings", color_couplings, model["colors"])
    )
