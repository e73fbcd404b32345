"""Parts of the figures of the Potts models."""

import numpy as np
import xarray as xr

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.plotting import FLAGGED_ID, NARROW, new_figure, say_why
from attention_limits.potts_mlm.figures import distance_map, low_distance, shared
from attention_limits.potts_mlm.figures.learners import fig2_mixing


def test_a_series_passes_its_flags_to_lines_and_points():
    """Flags over replicas alone hold at every M; a value of M without results is left out; each open circle is drawn once."""
    values = np.array([[0.3, 0.4], [np.nan, np.nan], [0.1, 0.2]])
    array = xr.DataArray(values, {"samples": [10, 20, 30], "replica": [0, 1]}, ("samples", "replica"))
    flags = xr.DataArray([1.0, 0.0], {"replica": [0, 1]}, ("replica",))
    _, axes = new_figure(1, 1, NARROW, 3.0)
    shared.series(axes, array, flags, "samples", "k", "fit")
    say_why(axes, "a reason")
    (open_circles,) = (line for line in axes.lines if line.get_gid() == FLAGGED_ID)
    assert (open_circles.get_label(), open_circles.get_xydata().tolist()) == ("_a reason", [[10, 0.4], [30, 0.2]])
    (bars,) = axes.containers
    for line in (axes.lines[1], bars.lines[0]):
        assert line.get_xydata().tolist() == [[10, 0.3], [30, 0.1]]
    # Along epochs there are no symbols.
    shared.series(axes, array.rename(samples="epoch"), flags, "epoch", "k", None)
    assert len(axes.containers) == 1


def test_couplings_of_a_fit_that_has_not_converged_enter_no_mean(monkeypatch):
    """The start with the smallest objective decides, not the other one; a single chain needs its own fit."""
    sizes = {
        "distance": 1, "ridge": 1, "attention": 2, "samples": 2, "replica": 3, "start": 2, "site": 4, "site_other": 4, "run": 2,
        "chain": 2, "learned_chain": 1,
    }  # fmt: skip

    def ones(*dims):
        return dims, np.ones([sizes[dim] for dim in dims])

    fit, chain = (
        ("distance", "ridge", "attention", "samples", "replica"),
        ("distance", "attention", "replica", "learned_chain"),
    )
    instance = ("distance", "replica")
    cube = xr.Dataset(
        {
            **{name: ones(*fit, "start") for name in ("site_error", "site_precision", "test_loss", "converged")},
            **{name: ones(*chain) for name in ("chain_site_error", "chain_precision", "chain_fit_converged")},
            **{
                name: ones(*instance) for name in ("sample_converged", "distance_converged", "chains_converged", "beta")
            },
            **{name: ones(*instance, "run") for name in ("hamming", "hamming_error")},
            "chosen": ones(*fit),
            "couplings": ones(*instance, "site", "site_other"),
            "chain_hamming": ones(*instance, "chain"),
        },
        {name: np.arange(sizes[name]) for name in ("replica", "chain")}
        | {"distance": [0.3], "attention": ["raw", "softmax"], "samples": [10, 20]},
    )
    cube["hamming_error"] *= 0.01
    cube["couplings"][0, :, 2:, 2:] = 0.0
    # The first replica of raw attention at 10 sequences: the start 1 is chosen. The second at 20: only the other start fails.
    cube["converged"][0, 0, 0, 0, 0, 1] = cube["converged"][0, 0, 0, 1, 1, 0] = 0.0
    cube["chain_fit_converged"][0, 1, 2] = 0.0
    fits, singles = [], []
    monkeypatch.setattr(low_distance, "series", lambda axes, array, flags, *rest, **look: fits.append(flags))
    monkeypatch.setattr(
        low_distance, "points", lambda axes, x, values, flags, *rest, **look: singles.append(flags.tolist())
    )
    low_distance.draw({"contact_low_distance": cube})
    raw, softmax = [[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[1.0] * 3] * 2
    # Error and precision of each kind of attention.
    assert [flags.transpose("samples", "replica").values.tolist() for flags in fits] == [raw, raw, softmax, softmax]
    assert singles == [[[1.0, 1.0, 1.0]]] * 2 + [[[1.0, 1.0, 0.0]]] * 2


def test_z_scores_follow_the_names_of_the_dimensions():
    """Five replicas of known mean and scatter, a theory with another order of its dimensions, and a missing point."""
    replicas = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    centre = xr.DataArray(
        [[1.0, 2.0, 3.0], [4.0, 5.0, np.nan]], {"ridge": [0.1, 1.0], "alpha": [1, 2, 3]}, ("ridge", "alpha")
    )
    simulated = centre + xr.DataArray(replicas, {"replica": range(5)}, ("replica",))
    _, error = mean_and_error(replicas)
    theory = (centre.fillna(0.0) - 3.0 * error).expand_dims(replica=[0]).transpose("alpha", "replica", "ridge")
    theory[2] += 2.0 * error
    np.testing.assert_allclose(shared.z_scores(simulated, theory), [3.0, 3.0, 3.0, 3.0, 1.0])
    assert shared.root_mean_square(np.array([3.0, 4.0, 0.0, 0.0])) == 2.5
    assert shared.root_mean_square(np.array([])) == 0.0


def test_the_mixture_of_lowest_and_highest_loss():
    """Two instances with two kinds of attention each; the third instance has no fits of this learner."""
    losses = np.full((3, 3, 2), np.nan)
    losses[:, 0], losses[:, 1] = [[1.0, 3.0], [2.0, 2.0], [3.0, 4.0]], [[2.0, 5.0], [1.0, 6.0], [3.0, 1.0]]
    sizes, dims = (
        {"distance": 1, "mixing": 3, "replica": 3, "attention": 2},
        ("distance", "mixing", "replica", "attention"),
    )
    present = np.isfinite(losses)[None]
    cube = xr.Dataset(
        {
            "mixed_test_loss": ((*dims, "start"), losses[None, ..., None]),
            "mixed_converged": ((*dims, "start"), np.where(present, 1.0, np.nan)[..., None]),
            "mixed_confirmed": (dims, np.where(present, 1.0, np.nan)),
            "mixed_chosen": (dims, np.where(present, 0.0, np.nan)),
            "optimal_loss": (("distance", "replica"), np.zeros((1, 3))),
            "sample_converged": (("distance", "replica"), [[1.0, 0.0, 1.0]]),
            "ridge": ("ridge", [1e-6]),
        },
        {name: np.arange(size) for name, size in sizes.items() if name != "distance"} | {"distance": [0.7]},
    )
    found = fig2_mixing.numbers({"fig2": cube})
    assert (found["far"], found["of_far"], found["highest"], found["all"]) == (1, 4, 3, 4)
    # The runs of the second instance disagree.
    assert (found["passed"], found["fits"], found["of_near"]) == (6, 12, 0)


def test_an_error_grows_from_a_distance_with_a_mean():
    """No second start confirms the fits at the smallest distance: the figure has no mean there, and the caption begins at the
    next one. Contacts keep the distances whose fits have converged.
    """
    fit = ("distance", "ridge", "attention", "samples", "replica")
    shape = (3, 1, 1, 1, 2)

    def at_each_distance(*values):
        return fit, np.broadcast_to(np.reshape(values, (3, 1, 1, 1, 1)), shape)

    cube = xr.Dataset(
        {
            "site_error": ((*fit, "start"), at_each_distance(0.8, 0.4, 0.1)[1][..., None]),
            "full_error": ((*fit, "start"), at_each_distance(5.0, 2.0, 0.5)[1][..., None]),
            "converged": ((*fit, "start"), np.ones((*shape, 1))),
            "confirmed": at_each_distance(0.0, 1.0, 1.0),
            "chosen": at_each_distance(0.0, 0.0, 0.0),
            "excess_loss": at_each_distance(9.0, 1.0, 1.0),
            "sample_converged": (("distance", "replica"), np.ones((3, 2))),
        },
        {"distance": [0.2, 0.3, 0.9], "samples": [100], "site": np.arange(4), "color": np.arange(3)},
    )
    found = distance_map.numbers({"distance_map_gaussian": cube, "distance_map_contact": cube})
    assert (found["near"], found["far"], found["up_to"]) == (0.3, 0.9, 0.3)
    np.testing.assert_allclose(found["growth"], 4.0)
    # P = 4 * 3 + 3^2 - 3 - 1 parameters; the loss of the unconfirmed fits has no part.
    np.testing.assert_allclose(found["gaussian_loss"], 2.0 * 100 * 4 / 17)
    cube["confirmed"] = 0.0 * cube.confirmed
    assert np.isnan(distance_map.numbers({"distance_map_gaussian": cube, "distance_map_contact": cube})["growth"])
