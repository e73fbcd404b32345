"""Output noise, and channels of a file: exact cases, identities of the posterior, refusals, message passing on them."""

import re
from pathlib import Path

import numpy as np
import pytest
from aim_tools import amp_settings, computed, estimator, load
from scipy.stats import t

from attention_limits.__main__ import main
from attention_limits.attention_indexed.amp.matrix_amp import draw_dataset
from attention_limits.attention_indexed.amp.matrix_amp import run as iterate
from attention_limits.attention_indexed.channels.files import channel_problems, symmetric
from attention_limits.attention_indexed.channels.linear import Linear, NoisyLinear, Softmax
from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.channels.output import GaussianNoise
from attention_limits.attention_indexed.channels.sampled import SampledChannel
from attention_limits.attention_indexed.model.score_law import SCRAMBLINGS, row_nodes
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.schema import checks
from attention_limits.attention_indexed.state_evolution.bounded_solutions import bounded
from attention_limits.attention_indexed.state_evolution.curve import curve, exact_recovery, solve
from attention_limits.attention_indexed.state_evolution.generalization import bayes_error, posterior_pair
from attention_limits.pipeline.base.errors import SpecError

FILE = Path(__file__).parents[1] / "channels_of_files.py"


def of_file(name, tokens=2, noise=0.0, **parameters):
    return load_channel(
        {"channel": f"{FILE}:{name}", "tokens": tokens, "output_noise": noise, "parameters": parameters}, Path()
    )


def of_provided(name, tokens=2, noise=0.0):
    return load_channel({"channel": name, "tokens": tokens, "output_noise": noise, "beta": 1.0}, Path())


def seen(channel, q, V, count, seed):
    generator = np.random.default_rng(seed)
    omega = np.sqrt(q) * symmetric(generator, (count, channel.tokens, channel.tokens))
    h = omega + np.sqrt(V) * symmetric(generator, omega.shape)
    return channel.observe(h, generator), omega, h


def test_linear_noise_is_gaussian_conditioning():
    """By the covariance of (h, y): E[h - omega | y] = v / (v + n) r with v = 2V, V and n = noise, noise / 2 on and off it."""
    channel, V = NoisyLinear(3, 0.7), 0.4
    observed, omega, _ = seen(channel, 0.9, V, 50, 3)
    residual = 0.5 * (observed + observed.transpose(0, 2, 1)) - omega
    diagonal = np.eye(3, dtype=bool)
    mean = np.where(diagonal, 2 * V / (2 * V + 0.7), V / (V + 0.35)) * residual
    found = channel.gradient(observed, omega, V)
    np.testing.assert_allclose(2.0 * V * found.G, mean, atol=1e-12)
    assert found.power == pytest.approx(np.mean(np.sum(found.G**2, axis=(1, 2))))


def test_vanishing_noise_is_the_exact_channel_and_noise_forbids_recovery():
    assert NoisyLinear(2, 1e-12).information(0.3, 1.5) == pytest.approx(Linear(2).information(0.3, 1.5), rel=1e-10)
    assert exact_recovery(NoisyLinear(2, 0.1), 0.5) == np.inf
    assert 0 < solve(NoisyLinear(2, 0.1), 0.5, [5.0]).mmse[0] < 0.02


def test_sampled_posterior_of_linear_scores_is_the_exact_one():
    """Within 5 % of the size of G, chosen for 128 nodes in three dimensions; the information within twice its bound."""
    exact, sampled = NoisyLinear(2, 1.0), SampledChannel(GaussianNoise(Linear(2), 1.0))
    observed, omega, _ = seen(exact, 0.5, 0.6, 200, 5)
    wanted, found = exact.gradient(observed, omega, 0.6), sampled.gradient(observed, omega, 0.6)
    assert np.sqrt(np.mean((found.G - wanted.G) ** 2)) < 0.05 * np.sqrt(np.mean(wanted.G**2))
    assert found.power == pytest.approx(wanted.power, rel=0.05)
    for V in (1.5, 0.5, 0.01):
        allowed = 2.0 * sampled.uncertainty(V, 1.5)
        assert sampled.information(V, 1.5) == pytest.approx(exact.information(V, 1.5), rel=allowed)


@pytest.mark.slow
def test_information_of_more_tokens_is_right_within_its_bound():
    """Few nodes carry an output of six scores, and their means are then biased: the bound contains this bias."""
    exact, sampled = NoisyLinear(3, 1.0), SampledChannel(GaussianNoise(Linear(3), 1.0))
    # One table for all.
    for V in (1.5, 0.5, 0.1, 0.01, 2e-4):
        allowed = sampled.uncertainty(V, 2.0)
        assert allowed < 0.15
        assert sampled.information(V, 2.0) == pytest.approx(exact.information(V, 2.0), rel=allowed)


def test_information_of_a_flat_noisy_softmax_is_that_of_linear_scores():
    """With u = (h11 - h12, h22 - h12) the output is 1/2 + beta u / 4 at small beta, twice, with noise 1 on each entry.

    The covariance of u is V [[3, 1], [1, 3]], of eigenvalues 4 V and 2 V. 4 sum G^2 is the sum of squares of the mean of h over
    V^2: half the squared mean of the first combination, and the squared mean of the second.
    """
    beta, noise = 0.1, 1.0
    channel = SampledChannel(GaussianNoise(Softmax(2, beta), noise))
    n = 8.0 * noise / beta**2
    for V in (2.0, 0.5, 0.01):
        expected = (0.5 * (4 * V) ** 2 / (4 * V + n) + (2 * V) ** 2 / (2 * V + n)) / V**2
        assert channel.information(V, 2.0) == pytest.approx(expected, rel=channel.uncertainty(V, 2.0))


def test_one_score_in_closed_form():
    """y = h_11 gives E 4 G_11^2 = 2 / V; with noise of variance s, 4 / (2 V + s). The table within twice its bound."""
    exact, noisy = of_file("FirstScore"), of_file("NoisyFirstScore")
    for V in (1.5, 0.3, 0.01):
        assert exact.information(V, 1.5) == pytest.approx(2.0 / V, rel=2.0 * exact.uncertainty(V, 1.5))
        expected = 4.0 / (2.0 * V + 0.5)
        assert noisy.information(V, 1.5) == pytest.approx(expected, rel=2.0 * noisy.uncertainty(V, 1.5))
        assert noisy.uncertainty(V, 1.5) < 0.2


def test_next_token_gives_its_fisher_information_at_small_variance():
    """G = s (e_y - p) / 2 off the diagonal, s (e_y - p) on it: 4 sum G^2 -> 4 s^2 E[p_M (1 - p_M) + sum_a<M p_a (1 - p_a) / 2].

    Of 200 000 draws of h; within twice the bound of the table.
    """
    channel = of_file("NextToken", 3, sharpness=1.5)
    h = np.sqrt(1.5) * symmetric(np.random.default_rng(9), (200_000, 3, 3))
    p = channel.output(h)
    spread = p * (1.0 - p)
    expected = 4.0 * 1.5**2 * np.mean(spread[:, 2] + 0.5 * spread[:, :2].sum(axis=1))
    V = 2e-4
    assert channel.information(V, 1.5) == pytest.approx(expected, rel=2.0 * channel.uncertainty(V, 1.5) + 0.01)


def test_what_is_not_resolved_is_missing():
    """Below the table, and where the noise is too small for the nodes."""
    assert np.isnan(of_file("NextToken").uncertainty(1e-5, 1.5))
    sharp = of_file("OwnSoftmax", 3, noise=1e-8)
    observed, omega, _ = seen(sharp, 0.0, 1.5, 20, 4)
    assert sharp.gradient(observed, omega, 1.5).resolved < 0.99


def test_distance_of_outputs_is_that_of_the_provided_softmax():
    """The same softmax, on nodes of all scores and on nodes of one row; five standard errors."""
    nodes = row_nodes(2, [np.random.default_rng(part) for part in range(SCRAMBLINGS)])
    ours, error = of_file("OwnSoftmax", noise=0.1).distance(posterior_pair(1.5, 0.6), None)
    provided = load_channel({"channel": "softmax", "tokens": 2, "beta": 1.0, "output_noise": 0.1}, Path())
    assert ours == pytest.approx(2.0 * bayes_error(provided, 1.5, 0.6, nodes)[0], abs=5.0 * error + 1e-4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"channel": f"{FILE}:OwnSoftmax"}, "output_noise: 0: the channel has no log_likelihood and no posterior"),
        ({"channel": f"{FILE}:NextToken", "output_noise": 0.1}, "output_noise: 0.1: the channel has a log_likelihood"),
        ({"channel": f"{FILE}:NextToken", "parameters": {"warmth": 1}}, "warmth: no parameter of the channel"),
        ({"channel": f"{FILE}:OfTheBatch", "output_noise": 0.1}, "must depend on its own scores only"),
        ({"channel": f"{FILE}:WrongShape"}, "log_likelihood must return real numbers (n, S) = (32, 2)"),
        ({"channel": f"{FILE}:NUMBER"}, "defines no class 'NUMBER'"),
        ({"channel": "missing.py:Name"}, "missing.py, which does not exist"),
        ({"channel": f"{FILE}:NextToken", "tokens": 7}, "allowed with at most 6 tokens, not 7"),
        ({"channel": "softmax", "tokens": 7, "output_noise": 0.1}, "allowed with at most 6 tokens, not 7"),
        ({"channel": "softmax", "parameters": {"kept": 2}}, "the channel softmax takes none"),
        ({"channel": "hardmax_published", "output_noise": 0.1}, "takes no noise"),
        ({"channel": "sofmax"}, "or path/to/file.py:name"),
    ],
)
def test_a_specification_refuses_wrong_channels(tmp_path, given, words):
    model = {"tokens": 2, "ratio": 0.5, **given}
    with pytest.raises(SpecError) as caught:
        load(tmp_path, estimator("state_evolution", model, {"alpha": [0.1]}))
    assert words in str(caught.value)


def test_problems_of_a_channel_that_raises(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from attention_limits.attention_indexed.channels.output import OutputChannel\n"
        "class Mine(OutputChannel):\n    def output(self, h):\n        return h[:, 5]\n"
    )
    found = channel_problems({"channel": "mine.py:Mine", "tokens": 2, "output_noise": 0.1}, tmp_path)
    assert "IndexError" in found[0]


def test_a_channel_is_checked_once_and_again_after_an_edit(tmp_path, monkeypatch):
    """All estimators and scales, and a second load, share the check of the same parameters."""
    checked = []
    monkeypatch.setattr(
        checks, "channel_problems", lambda *given: checked.append(given[0]["tokens"]) or channel_problems(*given)
    )
    file = tmp_path / "mine.py"
    text = (
        "from attention_limits.attention_indexed.channels.output import OutputChannel\n"
        "class Mine(OutputChannel):\n    def output(self, h):\n        return h[..., 0, :]\n"
    )
    model = {"tokens": 2, "ratio": 0.5, "channel": "mine.py:Mine", "output_noise": 0.1}

    def refused(**changes):
        try:
            load(tmp_path, estimator("matrix_amp", {**model, **changes}, {"alpha": [0.5]}))
        except SpecError as error:
            return str(error)
        return ""

    file.write_text(text)
    assert [refused(), refused(ratio=0.3)] == ["", ""]
    assert checked == [2]
    assert refused(tokens=3) == ""
    assert checked == [2, 3]
    file.write_text(text.replace("0, :]", "50, :]"))
    assert "IndexError" in refused()
    assert checked == [2, 3, 2]
    file.unlink()
    assert "does not exist" in refused()


def test_the_file_of_a_channel_decides_the_numbers(tmp_path):
    experiment = load(
        tmp_path, estimator("matrix_amp", {"tokens": 2, "ratio": 0.5, "channel": f"{FILE}:NextToken"}, {"alpha": [0.5]})
    )
    part = experiment.estimators["matrix_amp"]
    assert list(part.specification.code_files(part)) == [FILE]


def test_check_channel_prints_and_refuses(capsys):
    assert main(["check-channel", f"{FILE}:NextToken", "--tokens", "2", "--outputs", "128", "--sharpness", "2"]) == 0
    assert "Nishimori identity with posterior mean" in capsys.readouterr().out
    assert main(["check-channel", f"{FILE}:HalfPosterior", "--outputs", "512"]) == 2
    assert main(["check-channel", f"{FILE}:OwnSoftmax"]) == 2
    assert main(["check-channel", "softmax"]) == 0


def test_noise_along_the_grid(tmp_path):
    """More noise, more error; without noise the exact channel; the error of the output is that of the output without noise."""
    model, grid = {"tokens": 2, "ratio": 0.5, "channel": "linear"}, {"output_noise": [0.0, 0.2, 2.0], "alpha": [0.1]}
    part = load(tmp_path, estimator("state_evolution", model, grid)).estimators["state_evolution"]
    found = computed(part).mmse.squeeze().values
    assert np.all(np.diff(found) > 0)
    assert found[0] == solve(Linear(2), 0.5, [0.1]).mmse[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "alpha", "dimension"),
    [({"channel": "linear", "output_noise": 0.5}, 0.5, 60), ({"channel": "softmax", "output_noise": 0.1}, 1.0, 30)],
)
def test_message_passing_agrees_with_state_evolution(given, alpha, dimension):
    """Mean of two data sets; 15 % for their scatter, the finite dimension and the bound of the information.

    Two converged runs at d = 40 had errors within 6 % of the limit; no other seeds were looked at.
    """
    channel, runs = load_channel({"tokens": 2, "beta": 1.0, **given}, Path()), []
    for seed in range(2):
        size = Sizes(round(alpha * dimension**2), dimension, dimension // 2)
        runs.append(
            iterate(channel, draw_dataset(channel, size, np.random.default_rng(seed)), amp_settings(max_iterations=40))
        )
    assert all(run.resolved > 0.99 and run.residual[-1] < 0.02 for run in runs)
    limit = float(solve(channel, 0.5, [alpha]).mmse[0])
    for values in ([run.error[-1] for run in runs], [run.variance[-1] for run in runs]):
        assert np.mean(values) == pytest.approx(limit, rel=0.15)


# Of one comparison, two-sided, by the t distribution over DATA_SETS; and the finite dimension may move an error by SHIFT / d.
FALSE_ALARM, DATA_SETS, SHIFT = 1e-3, 6, 3.0


def assert_agrees(channel, alpha, dimension, iterations=20):
    """Mean error of AMP over DATA_SETS at rho = 0.5 against state evolution: their standard error, the bound of the theory, and
    the effects of the finite dimension, 2 (1 + rho) / (r d) of the unknown scale among them."""
    errors = []
    for seed in range(DATA_SETS):
        size = Sizes(round(alpha * dimension**2), dimension, dimension // 2)
        found = iterate(
            channel, draw_dataset(channel, size, np.random.default_rng(seed)), amp_settings(max_iterations=iterations)
        )
        assert found.resolved > 0.98
        errors.append(found.error[found.best])
    limit = float(solve(channel, 0.5, [alpha]).mmse[0])
    bound = float(bounded(channel, lambda values: solve(channel, 0.5, values), [alpha], 1.5).bound[0])
    allowed = t.ppf(1.0 - 0.5 * FALSE_ALARM, DATA_SETS - 1) * np.std(errors, ddof=1) / np.sqrt(DATA_SETS)
    allowed += bound + SHIFT / dimension * limit + 6.0 / dimension**2
    assert abs(np.mean(errors) - limit) < allowed
    # The comparison sees a failure: without data the error is one.
    assert allowed < 0.5 * (1.0 - limit)


@pytest.mark.slow
def test_message_passing_of_a_noisy_hardmax_agrees_with_state_evolution():
    assert_agrees(of_provided("hardmax", noise=0.3), 1.0, 20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tokens", "noise", "parameters", "alpha", "dimension"),
    [
        ("TopK", 3, 0.3, {"kept": 2}, 1.0, 12),
        ("Sparsemax", 2, 0.1, {}, 1.0, 16),
        ("NextToken", 3, 0.0, {"sharpness": 2.0}, 2.0, 16),
    ],
)
def test_message_passing_of_the_tutorial_agrees_with_state_evolution(
    tmp_path, name, tokens, noise, parameters, alpha, dimension
):
    """The classes of docs/tutorials/channel.md."""
    page = (Path(__file__).parents[3] / "docs/tutorials/channel.md").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(re.search(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1])
    model = {"channel": f"mine.py:{name}", "tokens": tokens, "output_noise": noise, "parameters": parameters}
    assert_agrees(load_channel(model, tmp_path), alpha, dimension)


def test_curve_is_parametric_in_the_noise():
    found = curve(NoisyLinear(2, 0.2), 0.5, np.array([0.3, 0.1]))
    np.testing.assert_allclose(found.alpha * found.noise * 6.0 / (found.mmse + 0.1), 1.0, rtol=1e-12)
