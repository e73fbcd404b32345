"""Information exponents from the experiment file to the dataset."""

import numpy as np
import pytest
from ssi_tools import write_experiment

from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.sequence_single_index.estimators.theory import information_exponent


def exponents(folder, model, order):
    path = write_experiment(folder, "information_exponent", model, {"degree": [2]}, solver={"order": order})
    (part,) = load_experiment(path).estimators.values()
    (chunk,) = part.chunks
    found = information_exponent.run(part.asked(chunk), Streams(0, "sequence_single_index", "drawn"))
    return found.isel(degree=0, replica=0)


def test_a_target_from_a_file_has_its_exponent(tmp_path):
    """He_3 has exponent 3, which a feed-forward student cannot see: relu has no third coefficient."""
    found = exponents(tmp_path, {"target": "cube.py:cube", "student": "relu_sum", "tokens": 1}, order=3)
    assert found.exponent_target == 3
    assert np.isnan(found.exponent_semantic)
    assert found.coefficient_target[3] == pytest.approx(np.sqrt(6), abs=1e-5)


@pytest.mark.parametrize("tokens", [4, 5])
def test_exponents_of_four_and_five_tokens_are_decided(tmp_path, tokens):
    """The trace of attention on a sum of He_2: orders 2, 2 and 2."""
    found = exponents(tmp_path, {"student": "trace_attention", "tokens": tokens}, order=2)
    for name in ("target", "semantic", "positional"):
        assert (found[f"exponent_{name}"], found[f"decided_{name}"]) == (2, True), name
    assert found.descends_semantic
