"""An ill-posed link is refused by its quick check with an example, before anything is computed."""

import numpy as np
import pytest
from scipy.special import log_ndtr

import attention_limits as al
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.wrappers import FunctionOfFields, OutputNoise
from attention_limits.sequence_multi_index.reports.check_link import check_link_command

LOG = np.log(2.0 * np.pi)


class Noisy(Link):
    """y = h_1 + N(0, 1/4), a sound link."""

    rows, tokens, sign_symmetry, noise_dimension = 1, 1, "none", 1

    def forward(self, h):
        return h[..., 0, 0].copy()

    def observe(self, h, noise=None):
        return h[:, 0, 0] + 0.5 * noise[:, 0]

    def log_likelihood(self, observed, h):
        return -2.0 * (observed[:, None] - h[..., 0, 0]) ** 2 + 0.5 * np.log(4.0) - 0.5 * LOG


class Flip(Noisy):
    """A sign, flipped with the probability 1/4: a sound link of two outputs."""

    def forward(self, h):
        return np.sign(h[..., 0, 0])

    def observe(self, h, noise=None):
        return np.sign(h[:, 0, 0]) * np.where(noise[:, 0] < -0.6744897501960817, -1.0, 1.0)

    def log_likelihood(self, observed, h):
        return np.where(observed[:, None] == np.sign(h[..., 0, 0]), np.log(0.75), np.log(0.25))


class Strip(Noisy):
    """Whether |h_1| < 1/20, which 4 % of the fields fulfil: a sound link of a rare output."""

    noise_dimension = 0

    def forward(self, h):
        return (np.abs(h[..., 0, 0]) < 0.05).astype(float)

    def observe(self, h, noise=None):
        return self.forward(h)

    def log_likelihood(self, observed, h):
        return np.where(observed[:, None] == self.forward(h), 0.0, -np.inf)


class Censored(Noisy):
    """y = max(h_1 + N(0, 1/4), 0), a sound link whose outputs are an atom and a density."""

    def observe(self, h, noise=None):
        return np.maximum(super().observe(h, noise), 0.0)

    def log_likelihood(self, observed, h):
        return np.where(observed[:, None] == 0, log_ndtr(-2.0 * h[..., 0, 0]), super().log_likelihood(observed, h))


class Known(Noisy):
    """The sound link with its exact posterior."""

    def moments(self, observed, omega, V):
        total = V[0, 0] + 0.25
        rest = observed - omega[:, 0, 0]
        spread = np.full((len(rest), 1, 1, 1, 1), 0.25 * V[0, 0] / total)
        return (
            -0.5 * rest**2 / total - 0.5 * np.log(total) - 0.5 * LOG,
            (V[0, 0] / total * rest)[:, None, None],
            spread,
        )


class Exact(Link):
    """y = h_1, with its fibre."""

    rows, tokens, sign_symmetry = 1, 1, "none"

    def forward(self, h):
        return h[..., 0, 0].copy()

    def fibre(self, observed, free, angles):
        return observed[:, None, None, None, None], np.zeros((1, 1, 1))


class Sign(Link):
    """y = sign(h_1), a discrete output."""

    rows, tokens, sign_symmetry = 1, 1, "none"

    def forward(self, h):
        return np.sign(h[..., 0, 0])

    def log_likelihood(self, observed, h):
        return np.where(observed[:, None] == np.sign(h[..., 0, 0]), 0.0, -np.inf)


STREAM = np.random.default_rng(0)


def shifted(self, h):
    h -= 1.0
    return h[..., 0, 0].copy()


def overwritten(self, observed, h):
    values = Noisy.log_likelihood(self, observed, h)
    observed *= 0.0
    return values


def half_of_log_z(self, observed, omega, V):
    log_z, mean, spread = Known.moments(self, observed, omega, V)
    return log_z + 0.5 * LOG, mean, spread


def likelihood(scale=1.0, shift=0.0):
    return lambda self, observed, h: scale * Noisy.log_likelihood(self, observed, h) + shift


ILL_POSED = {
    "the output does not depend on the fields: h = ": (
        Noisy, {"forward": lambda self, h: np.zeros(h.shape[:-2]), "observe": lambda self, h, noise: noise[:, 0]},
    ),
    "log_likelihood does not depend on the fields: -0.5 for the output": (
        Noisy, {"log_likelihood": lambda self, y, h: np.full(h.shape[:2], -0.5)},
    ),
    "log_likelihood is not normalised: its exponentials integrate to 1.35": (Noisy, {"log_likelihood": likelihood(1.0, 0.3)}),
    "log_likelihood is not normalised: its exponentials add up to 1.35 over the outputs [-1.,  1.]": (
        Flip, {"log_likelihood": lambda self, y, h: Flip.log_likelihood(self, y, h) + 0.3},
    ),
    "log_likelihood contradicts observe: at h = [[0.12573]] outputs below": (
        Noisy, {"log_likelihood": lambda self, y, h: -0.5 * (y[:, None] - h[..., 0, 0]) ** 2 - 0.5 * LOG},
    ),
    "log_likelihood contradicts observe: at h = [[0.12573]] it gives the output -1. the probability 0.1": (
        Flip, {"log_likelihood": lambda self, y, h: np.log(0.5 + 0.4 * y[:, None] * np.sign(h[..., 0, 0]))},
    ),
    "log_likelihood contradicts observe: with m the posterior mean and C": (
        Sign,
        {"log_likelihood": lambda self, y, h: np.where(
            (y[:, None] == np.sign(h[..., 0, 0])) | (np.abs(h[..., 0, 0]) < 0.5), 0.0, -np.inf
        )},
    ),
    "log_z of moments is -": (Known, {"moments": half_of_log_z}),
    "log_likelihood is not normalised: an output without noise has the probability one": (
        Sign, {"log_likelihood": lambda self, y, h: np.where(y[:, None] == np.sign(h[..., 0, 0]), -0.7, -np.inf)},
    ),
    "forward must return finite numbers; h = ": (Noisy, {"forward": lambda self, h: np.log(h[..., 0, 0])}),
    "forward must return real floating numbers, returns complex128; h = ": (
        Noisy, {"forward": lambda self, h: h[..., 0, 0] * (1.0 + 0.5j)},
    ),
    "forward must return real floating numbers, returns bool; h = ": (Noisy, {"forward": lambda self, h: h[..., 0, 0] > 0}),
    "forward must return (n, ...) for fields of shape (n, P, M)": (Noisy, {"forward": lambda self, h: h.sum()}),
    "forward must act on the last two axes alone": (Noisy, {"forward": lambda self, h: h[:, 0, 0].copy()}),
    "forward changes the fields it is given": (Noisy, {"forward": shifted}),
    "forward is not deterministic": (Noisy, {"forward": lambda self, h: h[..., 0, 0] + STREAM.standard_normal()}),
    "observe is not a function of fields and noise": (
        Noisy, {"observe": lambda self, h, noise: h[:, 0, 0] + STREAM.standard_normal(len(h))},
    ),
    "observe must return real numbers": (Noisy, {"observe": lambda self, h, noise: h[:, 0, 0] + 0.5j * noise[:, 0]}),
    "observe must return finite numbers; h = ": (Noisy, {"observe": lambda self, h, noise: np.log(h[:, 0, 0])}),
    "log_likelihood is nan for the output": (
        Noisy, {"log_likelihood": lambda self, y, h: np.log(h[..., 0, 0]) + 0.0 * y[:, None]},
    ),
    "log_likelihood must return real numbers (n, S)": (
        Noisy, {"log_likelihood": lambda self, y, h: Noisy.log_likelihood(self, y, h) + 0j},
    ),
    "log_likelihood is not deterministic": (
        Noisy, {"log_likelihood": lambda self, y, h: Noisy.log_likelihood(self, y, h) + STREAM.standard_normal()},
    ),
    "log_likelihood changes the outputs or the fields": (Noisy, {"log_likelihood": overwritten}),
    "fibre is not deterministic": (
        Exact,
        {"fibre": lambda self, y, free, angles: (y[:, None, None, None, None], np.full((1, 1, 1), STREAM.standard_normal()))},
    ),
    "forward must return finite numbers; h = [[2.6": (
        Noisy, {"forward": lambda self, h: np.where(np.abs(h[..., 0, 0]) > 2.5, np.nan, h[..., 0, 0])},
    ),
    "log_weight is not the logarithm of |dy / dh|^-1": (
        Exact,
        {
            "forward": lambda self, h: h[..., 0, 0] ** 3,
            "fibre": lambda self, y, free, angles: (np.cbrt(y)[:, None, None, None, None], np.zeros((1, 1, 1))),
        },
    ),
    "the link fails on random fields of shape (64, 1, 1): IndexError": (Noisy, {"forward": lambda self, h: h[..., 1, 0]}),
}  # fmt: skip


@pytest.mark.parametrize(
    "sound", [Noisy(), Flip(), Strip(), Censored(), Known(), Exact(), Sign()], ids=lambda link: type(link).__name__
)
def test_sound_links_have_no_problems(sound):
    assert [problems_of(sound, seed=seed) for seed in range(3)] == [[], [], []]


@pytest.mark.parametrize("message", ILL_POSED)
def test_an_ill_posed_link_is_refused(message):
    base, parts = ILL_POSED[message]
    found = problems_of(type("Ill", (base,), parts)())
    assert any(message in problem for problem in found), found


def test_a_density_whose_normalisation_depends_on_the_fields_is_not_that_of_the_output():
    """Two outputs with noise: no single entry shows it, and the posterior means do."""

    class Two(Noisy):
        noise_dimension = 2

        def forward(self, h):
            return np.stack([h[..., 0, 0], h[..., 0, 0] ** 2], axis=-1)

        def observe(self, h, noise=None):
            return self.forward(h) + 0.5 * noise

        def log_likelihood(self, observed, h):
            return -2.0 * np.sum((observed[:, None] - self.forward(h)) ** 2, axis=-1) + 2.0 * h[..., 0, 0]

    assert all("log_likelihood contradicts observe" in problems_of(Two(), seed=seed)[0] for seed in range(3))


def test_the_command_names_link_and_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import numpy as np\nfrom attention_limits.sequence_multi_index.links.link import Link\n\n\n"
        "class Mine(Link):\n    rows, tokens = 1, 1\n\n    def forward(self, h):\n        return 0.0 * h[..., 0, 0]\n"
    )
    with pytest.raises(SpecError, match=r"mine.py:Mine: the output does not depend on the fields: h = \[\["):
        check_link_command("mine.py:Mine", {}, 64, 0.75, 0)


def test_a_fibre_without_free_rows_need_not_be_broadcast():
    """The same moments as of the fibre that repeats its candidates for each of the samples."""

    class Repeated(Exact):
        def fibre(self, observed, free, angles):
            count = max(free.shape[1], len(angles))
            return np.repeat(super().fibre(observed, free, angles)[0], count, axis=1), np.zeros(
                (len(observed), count, 1)
            )

    assert problems_of(Repeated()) == []
    observed, omega, V = np.array([0.3, -1.0]), np.zeros((2, 1, 1)), np.array([[0.5]])
    first, second = (
        Channel(link, 1.0, np.random.default_rng(0)).posterior(observed, omega, V) for link in (Exact(), Repeated())
    )
    assert np.array_equal(first.mean, second.mean)
    assert np.allclose(first.mean[:, 0, 0], observed)


def test_noise_below_the_last_digits_of_the_output_is_refused():
    def large(h, size=1e300):
        return size * h[..., 0, 0]

    (problem,) = problems_of(OutputNoise(FunctionOfFields(large, 1, 1, {}), 1.0))
    assert problem.startswith("noise of the standard deviation 1 is lost in the last digits of the output: h = [[")
    assert problems_of(OutputNoise(FunctionOfFields(large, 1, 1, {"size": 1e6}), 1.0)) == []


def test_sizes_that_are_no_numbers_are_refused(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from attention_limits.sequence_multi_index.links.link import Link\n\n\n"
        "class Mine(Link):\n    rows, tokens = '2', 1\n\n    def forward(self, h):\n        return h[..., 0, 0]\n"
    )
    with pytest.raises(SpecError, match="rows must be a whole number >= 1, is '2'"):
        al.compute("sequence_multi_index.state_evolution", {"link": "mine.py:Mine"}, {"alpha": [1.0]}, project=tmp_path)
