"""Each call reads the objects of the caller anew: a name, a variable or an attribute may mean something else by then."""

import functools
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import attention_limits as al
from attention_limits.interface.given import FAMILIES, REMEMBERED
from attention_limits.sequence_multi_index.links.link import Link


class Gated(Link):
    """y = tanh(s h_1) h_2 with s in an array."""

    rows, tokens = 2, 1
    sign_symmetry = "all"
    free_rows = 1

    def __init__(self, steepness):
        self.steepness = np.array([steepness])

    def forward(self, h):
        return np.tanh(self.steepness[0] * h[..., 0, 0]) * h[..., 1, 0]

    def fibre(self, observed, free, angles):
        gate = np.tanh(self.steepness[0] * free[..., 0, 0])
        return (observed[:, None] / gate)[:, :, None, None, None], -np.log(np.abs(gate))[:, :, None]


@pytest.mark.slow
def test_a_link_whose_array_changes_is_compiled_again():
    """From 256 nodes of an output on the link is compiled; the loop of the first call has the first number."""

    def overlap(link):
        name, solver = "sequence_multi_index.state_evolution", {"nodes": 256, "max_iterations": 2}
        return al.compute(name, {"link": link}, {"alpha": [1.5]}, solver=solver).overlap.values

    link = Gated(1.0)
    first = overlap(link)
    link.steepness[0] = 3.0
    np.testing.assert_array_equal(overlap(link), overlap(Gated(3.0)))
    assert not np.allclose(overlap(link), first)


@pytest.mark.slow
def test_a_function_of_the_same_name_is_another_target():
    """The target norm E y^2 is 1 for h, and 3 for h^2, up to the scatter of the data."""

    def trained(square):
        if square:

            def target(h):
                return h[..., 0, 0] ** 2
        else:

            def target(h):
                return h[..., 0, 0]

        model = {"link": target, "noise": 0.1, "loss": "square", "student": {"link": "linear"}}
        data = {"gaussian_sequences": {"dimension": 30}}
        cube = al.compute("sequence_multi_index.erm_minimisation", model, {"alpha": [3.0], "ridge": [0.1]}, data=data)
        return float(cube.test_loss.item())

    line, parabola = trained(False), trained(True)
    # A linear student fits the linear target up to the noise. It cannot fit h^2, whose variance is 2; the loss is half of the
    # squared error.
    assert line < 0.5 < parabola


def test_all_caches_that_know_code_by_its_file_are_forgotten():
    """Those of a family take the bytes of the file as an argument `code` or `file`."""
    found = set()
    for family in (*FAMILIES.values(), "sequence_single_index"):
        package = importlib.import_module(f"attention_limits.{family}")
        for item in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(item.name)
            for name, value in vars(module).items():
                if isinstance(value, functools._lru_cache_wrapper) and value.__module__ == module.__name__:
                    arguments = inspect.signature(value).parameters
                    if {"code", "file"} & set(arguments):
                        found.add(f"{module.__name__.partition('.')[2]}.{name}")
    assert found == {place for place in REMEMBERED if not place.endswith(".compiled")}
