"""The estimators of the family, end to end on tiny problems."""

import numpy as np
import pytest
from potts_tools import ALIGNED, SMALL, computed, edited, write

from attention_limits.pipeline.base.errors import SpecError

pytestmark = pytest.mark.slow


def test_learners_see_the_samples_of_their_point(tmp_path):
    path = write(tmp_path, SMALL)
    known, learned = computed(path, "equilibrium"), computed(path, "factored_attention")
    assert known.couplings.dims == ("distance", "replica", "site", "site_other")
    # One instance, two samples of it.
    np.testing.assert_array_equal(known.couplings[0, 0], known.couplings[0, 1])
    assert known.beta[0, 0] == known.beta[0, 1]
    assert known.optimal_loss[0, 0] != known.optimal_loss[0, 1]
    assert np.all(np.abs(known.hamming - 0.5) < 0.1)
    assert learned.attention.values.tolist() == ["softmax", "raw"]
    assert np.all(learned.attention_map.sel(attention="softmax") >= 0)
    # The chosen start is the one with the smallest objective, and its excess is against the optimum on the same test set.
    best = learned.objective.argmin("start")
    np.testing.assert_array_equal(learned.chosen, best)
    excess = learned.test_loss.isel(start=best) - known.optimal_loss
    np.testing.assert_allclose(excess.transpose(*learned.excess_loss.dims), learned.excess_loss, atol=1e-12)
    assert np.all(learned.site_error >= 0)


def test_the_map_of_a_transformer_is_that_of_its_final_two_layers(tmp_path, monkeypatch):
    """A training whose last two of three layers attend to one pair, and the first to another."""
    from attention_limits.potts_mlm.estimators.learners import transformer
    from attention_limits.potts_mlm.potts.recovery import site_error
    from attention_limits.potts_mlm.transformer.transformer import Training

    looks = np.zeros((2, 3, 4, 4))
    looks[:, 1:, 0, 1] = [2.0, 3.0]
    looks[:, 0, 1, 2] = 1.0
    trained = Training(np.array([1, 2]), np.zeros(2), np.zeros(2), looks, 0.0, np.zeros(0), np.zeros((2, 0)))
    monkeypatch.setattr(transformer, "train", lambda *arguments: trained)
    part = {
        "reads": "potts_samples", "replicas": 2,
        "grid": {"distance": {"values": [0.5]}, "samples": {"values": [20]}, "layers": {"values": [3]}},
        "solver": {"epochs": 2, "evaluations": 2, "test_sequences": 20},
    }  # fmt: skip
    document = edited(SMALL, ("estimators", "transformer"), part)
    path = write(tmp_path, document)
    J = computed(path, "equilibrium").couplings.values[0, 0]
    one = computed(path, "transformer").isel(distance=0, samples=0, layers=0, replica=0)
    np.testing.assert_array_equal(one.transformer_map.values, np.broadcast_to(looks[0, 1:].mean(axis=0), (2, 4, 4)))
    np.testing.assert_allclose(one.transformer_site_error, site_error(looks[0, 1:].mean(axis=0), J))
    np.testing.assert_allclose(one.transformer_all_layers_site_error, site_error(looks[0].mean(axis=0), J))


def test_an_alignment_is_learned_from(tmp_path):
    """Columns 1 and 2 always agree: the fit beats independent sites on held-out sequences, by far more than their noise."""
    rng = np.random.default_rng(1)
    letters = rng.choice(list("ACDE"), (40, 4))
    letters[:, 1] = letters[:, 0]
    rows = "".join(f">s{k}\n{''.join(row)}\n" for k, row in enumerate(letters))
    (tmp_path / "family.fasta").write_text(rows)
    learned = computed(write(tmp_path, ALIGNED), "factored_attention")
    assert learned.attention_map.sizes["site"] == 4
    assert np.isnan(learned.excess_loss).all()
    assert np.isnan(learned.site_error).all()
    gain = learned.independent_loss.isel(ridge=0, samples=-1) - learned.test_loss.isel(
        ridge=0, samples=-1, start=0, attention=0
    )
    assert np.all(gain > 0.1)


def test_a_matrix_from_a_file_is_the_model_and_belongs_to_the_code(tmp_path):
    couplings = np.zeros((4, 4))
    couplings[0, 1] = couplings[1, 0] = 1.5
    np.save(tmp_path / "mine.npy", couplings)
    document = edited(SMALL, ("model", "couplings"), {"kind": "file", "file": "mine.npy"})
    document = edited(document, ("data", "potts_samples", "grid", "distance", "values"), [0.6])
    for name in document["estimators"]:
        document = edited(document, ("estimators", name, "grid", "distance", "values"), [0.6])
    path = write(tmp_path, document)
    known = computed(path, "equilibrium")
    np.testing.assert_array_equal(known.couplings[0, 0], couplings)
    first = known.attrs["point_digest"]
    np.save(tmp_path / "mine.npy", 1.1 * couplings)
    assert computed(path, "equilibrium").attrs["point_digest"] != first


def test_an_instance_that_stays_apart_is_named(tmp_path):
    """The Potts model proper: all colours are equivalent, so the distance cannot fall below 1 - 1/C."""
    document = edited(SMALL, ("model", "color_couplings"), {"kind": "identity"})
    document = edited(document, ("data", "potts_samples", "solver", "beta_max"), 2.0)
    with pytest.raises(
        SpecError, match=r"potts_mlm/small: model\.instance: 1: .* the largest allowed; the target is 0\.5"
    ):
        computed(write(tmp_path, document), "equilibrium")
