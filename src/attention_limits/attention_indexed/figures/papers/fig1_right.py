"""Hardmax attention towards small width."""

from attention_limits.attention_indexed.figures.papers.published import HARDMAX_SMALL_WIDTH
from attention_limits.attention_indexed.figures.papers.widths import draw_small_width
from attention_limits.plotting import ORANGE, house_style, legend_below, published_points


@house_style
def draw(cubes):
    """From the cube fig1_right_small_width; crosses are the published curve of the limit, which the published channel gives (cube
    hardmax_published_small_width)."""
    cube, code = cubes["fig1_right_small_width"], cubes["hardmax_published_small_width"].mmse.isel(replica=0, ratio=0)
    threshold = float(cube.weak_threshold.max())
    figure, axes, outputs = draw_small_width(
        cube, True, [(threshold, rf"$\bar\alpha_w = {threshold:.4f}$, learning begins", False)]
    )
    axes.plot(code.rescaled_alpha, code, color=ORANGE, linestyle="--", label=r"published channel, $\rho \to 0$")
    published_points(axes, *HARDMAX_SMALL_WIDTH.T, label=r"published, $\rho \to 0$")
    legend_below(figure, (axes, outputs))
    return figure


def numbers(cubes):
    """The number of samples at which learning begins, n / (d r)."""
    return {"threshold": float(cubes["fig1_right_small_width"].weak_threshold.max())}
