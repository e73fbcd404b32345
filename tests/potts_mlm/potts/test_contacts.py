"""Contact scores: gauge, average product correction, precision, files of distances."""

import numpy as np
import pytest

from attention_limits.potts_mlm.potts.contacts import contact_scores, joint_model, precision, read_distances, zero_sum


def random_pairs(sites, colors, seed):
    rng = np.random.default_rng(seed)
    couplings = rng.standard_normal((sites, sites, colors, colors))
    couplings[range(sites), range(sites)] = 0.0
    return rng.standard_normal((sites, colors)), couplings


def conditionals(fields, couplings, states):
    """p(s_i = a | s_-i), written out."""
    sites = len(fields)
    logits = np.array(
        [[fields[i] + sum(couplings[i, j, s[j]] for j in range(sites) if j != i) for i in range(sites)] for s in states]
    )
    weights = np.exp(logits)
    return weights / weights.sum(axis=2, keepdims=True)


def test_the_gauge_keeps_all_conditionals():
    fields, couplings = random_pairs(4, 3, 1)
    states = np.random.default_rng(2).integers(0, 3, (20, 4))
    moved = zero_sum(fields, couplings)
    np.testing.assert_allclose(conditionals(*moved, states), conditionals(fields, couplings, states), rtol=1e-12)
    for axis in (2, 3):
        np.testing.assert_allclose(moved[1].sum(axis=axis), 0.0, atol=1e-12)


def test_the_joint_model_is_symmetric_and_keeps_what_is():
    fields, couplings = random_pairs(4, 3, 3)
    joint = joint_model(fields, couplings)[1]
    np.testing.assert_allclose(joint, joint.transpose(1, 0, 3, 2), atol=1e-15)
    np.testing.assert_allclose(joint_model(fields, joint)[1], joint, atol=1e-14)


def test_scores_are_the_corrected_norms():
    _, couplings = joint_model(*random_pairs(5, 4, 4))
    for gap, letters in ((None, [0, 1, 2, 3]), (1, [0, 2, 3])):
        norms = np.zeros((5, 5))
        for i in range(5):
            for j in range(5):
                norms[i, j] = np.sqrt(sum(couplings[i, j, b, a] ** 2 for a in letters for b in letters))
        mean = norms.sum(axis=1) / 4
        for i in range(5):
            for j in range(5):
                expected = 0.0 if i == j else norms[i, j] - mean[i] * mean[j] / (norms.sum() / 20)
                assert contact_scores(couplings, gap)[i, j] == pytest.approx(expected, abs=1e-12)


def test_precision_by_hand():
    """Columns 1, 2, 8, 9: the pairs (1, 8), (1, 9), (2, 8), (2, 9) count; (2, 9) has no known distance."""
    scores, distances = np.zeros((4, 4)), np.full((4, 4), 1.0)
    for (i, j), score, distance in (((0, 2), 3.0, 5.0), ((0, 3), 2.0, 9.0), ((1, 2), 1.0, 7.9), ((1, 3), 9.0, np.nan)):
        scores[i, j] = scores[j, i] = score
        distances[i, j] = distances[j, i] = distance
    scores[0, 1] = scores[1, 0] = 99.0
    found = precision(scores, distances, np.array([1, 2, 8, 9]), contact=8.0, separation=6, ranks=5)
    np.testing.assert_allclose(found, [1.0, 0.5, 2 / 3, np.nan, np.nan])


def test_distances_are_read(tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("# i j distance\n1 3 4.5\n\n2 3 0\n")
    found = read_distances(path, 3)
    assert found[0, 2] == found[2, 0] == 4.5
    assert found[1, 2] == 0.0
    assert np.isnan(found[0, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3.0\n1 4 2.0\n", r"line 2: columns 1 and 4: expected: 1 ≤ i < j ≤ 3, the match columns"),
        ("2 1 3.0\n", "line 1: columns 2 and 1: expected: 1 ≤ i < j"),
        ("0 1 3.0\n", "line 1: columns 0 and 1"),
        ("1 2\n", "line 1: '1 2': expected: i j distance"),
        ("1 2 -1\n", "line 1: '1 2 -1': expected"),
        ("1 2 nan\n", "line 1: '1 2 nan': expected"),
        ("1 2 3 4\n", "line 1: '1 2 3 4': expected"),
        ("1 2 3\n1 2 4\n", "line 2: columns 1 and 2 occur twice"),
        ("", "holds no distance"),
    ],
)
def test_bad_distances_are_named(tmp_path, text, message):
    path = tmp_path / "d.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_distances(path, 3)
