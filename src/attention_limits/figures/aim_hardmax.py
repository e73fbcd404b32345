"""Hardmax attention at many samples: the Bayes-optimal error, its law, and the published curve."""

from attention_limits.figures.aim_parts import amp, setting, theory
from attention_limits.figures.aim_published import HARDMAX_AMP, HARDMAX_CURVES
from attention_limits.figures.style import PUBLISHED, house_style, new_figure

BAYES, CODE = "#0072B2", "#D55E00"


@house_style
def draw(cubes):
    """From the cubes hardmax_bayes and, at rho = 0.5, hardmax_published."""
    cube, other = cubes["hardmax_bayes"], cubes["hardmax_published"]
    figure, axes = new_figure(1, 1, 5.2, 4.0)
    line = theory(cube)
    axes.plot(line.alpha, line, color=BAYES, label="Bayes-optimal state evolution")
    amp(axes, cube, BAYES, f"matrix AMP, $d = {setting(cube, 'matrix_amp', 'dimension')}$")
    tail = cube.mmse_tail.isel(replica=0).dropna("alpha").sel(alpha=slice(0.4, None))
    axes.plot(tail.alpha, tail, color="black", linestyle=":", label=r"law of large $\alpha$, $\propto \alpha^{-2}$")
    code = theory(other, 0.5)
    axes.plot(code.alpha, code, color=CODE, linestyle="--", label="channel of the published code")
    axes.plot(*HARDMAX_CURVES[0.5].T, **PUBLISHED, label="published state evolution")
    axes.errorbar(
        *HARDMAX_AMP.T, color="0.55", fmt="s", markersize=3.5, markerfacecolor="none", elinewidth=0.8, zorder=1,
        label="published AMP (standard deviation)",
    )  # fmt: skip
    axes.set(
        xscale="log", yscale="log", xlabel=r"samples $\alpha = n/d^2$", ylabel=r"error $\|S - \hat S\|_F^2/d$",
        xlim=(0.02, 20), ylim=(2e-4, 1.5),
    )  # fmt: skip
    axes.legend(loc="lower left")
    return figure
