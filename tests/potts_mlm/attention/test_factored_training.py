"""Factored attention by stochastic gradient descent, full pseudo-likelihood, contacts of a fold, one instance per replica."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from potts_tools import SMALL, computed, edited, random_model, write

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.potts_mlm.attention.factored import fit, losses
from attention_limits.potts_mlm.attention.factored_training import train
from attention_limits.potts_mlm.potts.contacts import contact_map
from attention_limits.potts_mlm.potts.recovery import chance, contact_precision
from attention_limits.potts_mlm.schema.samples import Descent

pytestmark = pytest.mark.slow

DISTANCES = Path(__file__).parents[3] / "config/potts_mlm/data/PF00014_distances.txt"
DATA = ("data", "potts_samples")


def test_descent_ends_at_the_minimum_of_the_training_loss():
    """A convergent rate: after 300 epochs in one batch the training loss is that of L-BFGS within 1e-3 nats."""
    model = random_model(4, 3, seed=1)
    states, probability = model.enumerate(0.8)
    rng = np.random.default_rng(2)
    sequences = states[rng.choice(len(states), 400, p=probability)]
    schedule = SimpleNamespace(learning_rate=0.5, batch=400, epochs=600, evaluations=2)
    found = train(sequences, sequences, 3, rng, "raw", schedule)
    best = min(fit(sequences, 3, child, "raw", 0.0, Descent()).loss for child in rng.spawn(3))
    matrix = found.attention[-1]
    assert found.test_loss[-1] == pytest.approx(best, abs=1e-3)
    assert np.all(np.diag(matrix) == 0.0)
    np.testing.assert_array_equal(found.epochs, [300, 600])
    assert losses(model.J, model.U, sequences).mean() > best - 0.05


def test_precision_counts_contacts_among_the_strongest_pairs():
    """Three contacts among six pairs; the strongest three pairs hold two of them, for any sign and asymmetry."""
    J = np.zeros((4, 4))
    for i, j in ((0, 1), (1, 2), (2, 3)):
        J[i, j] = J[j, i] = 1.0
    attention = np.zeros((4, 4))
    attention[0, 1], attention[1, 2], attention[0, 3], attention[2, 3] = -5.0, 4.0, 3.0, 0.1
    assert contact_precision(attention, J) == pytest.approx(2 / 3)
    assert chance(J) == 0.5
    assert np.isnan(contact_precision(attention, np.ones((4, 4)) - np.eye(4)))
    assert np.isnan(contact_precision(attention, -J))


def test_contacts_of_the_shipped_fold():
    """53 sites, 652 of 1378 pairs below 8 angstrom; neighbours on the chain are contacts."""
    J = contact_map(DISTANCES, 53, 8.0)
    assert J[np.triu_indices(53, 1)].sum() == 652
    assert np.all(np.diag(J, 1) == 1.0)
    np.testing.assert_array_equal(contact_map(DISTANCES, 6, 8.0), J[:6, :6])
    with pytest.raises(ValueError, match="no distance of the sites 1 and 54; the model has 54 sites"):
        contact_map(DISTANCES, 54, 8.0)


def test_each_replica_has_its_instance(tmp_path):
    document = edited(SMALL, ("model", "instance"), [1, 3])
    known = computed(write(tmp_path, document), "equilibrium")
    assert np.any(known.couplings[0, 0] != known.couplings[0, 1])
    alone = edited(edited(SMALL, ("model", "instance"), 3), (*DATA, "replicas"), 1)
    for name in alone["estimators"]:
        alone = edited(alone, ("estimators", name, "replicas"), 1)
    other = computed(write(tmp_path / "alone", alone), "equilibrium")
    np.testing.assert_array_equal(known.couplings[0, 1], other.couplings[0, 0])


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("model", "instance"), [1], r"model\.instance: 1 instances: allowed: one for each of 2 replicas"),
        (("model", "couplings"), {"kind": "distances", "file": "none.txt"}, r"model\.couplings\.file: .*none\.txt"),
        (
            ("model", "couplings"), {"kind": "distances", "file": "short.txt"},
            r"no distance of the sites 1 and 4; the model has 4 sites",
        ),
    ],
)  # fmt: skip
def test_instances_and_distances_that_do_not_fit_are_refused(tmp_path, keys, value, message):
    (tmp_path / "short.txt").write_text("1 2 3.0\n1 3 9.0\n2 3 4.0\n")
    with pytest.raises(SpecError, match=message):
        load_experiment(write(tmp_path, edited(SMALL, keys, value)))


def test_learners_of_one_experiment(tmp_path):
    """Every loss is above that of the true conditionals by less than random colours are; the maps have their errors."""
    grid = {"distance": {"values": [0.5]}, "samples": {"values": [60]}}
    document = edited(
        SMALL, ("estimators", "factored_training"),
        {
            "reads": "potts_samples", "replicas": 2, "grid": grid,
            "solver": {"epochs": 40, "evaluations": 4, "batch": 20, "test_sequences": 50, "learning_rate": 0.3},
        },
    )  # fmt: skip
    document = edited(
        document, ("estimators", "pseudo_likelihood"), {"reads": "potts_samples", "replicas": 2, "grid": grid}
    )
    path = write(tmp_path, document)
    known = computed(path, "equilibrium")
    trained, full = computed(path, "factored_training"), computed(path, "pseudo_likelihood")
    np.testing.assert_allclose(trained.factored_optimal_loss.isel(samples=0), known.optimal_loss)
    assert trained.factored_test_loss.sizes["epoch"] == 4
    assert np.all(trained.factored_test_loss.isel(epoch=-1) < np.log(3))
    assert np.all((trained.factored_site_error >= 0) & (trained.factored_site_error <= 1))
    assert np.all(full.pseudo_likelihood_loss.isel(samples=0) > known.optimal_loss - 0.1)
    assert np.all(full.pseudo_likelihood_loss < np.log(3))
