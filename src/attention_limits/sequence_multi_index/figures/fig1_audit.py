"""The published learning curve of two-layer attention beside the model itself and a regularised channel."""

from attention_limits.plotting import LAYER_COLORS, PUBLISHED, curve, house_style, new_figure
from attention_limits.sequence_multi_index.figures.published import FIG1_OVERLAPS


@house_style
def draw(cubes):
    """Overlaps against samples per dimension from the cubes fig1_learning_curve and fig1_regularized."""
    exact = cubes["fig1_learning_curve"].overlap.sel(estimator="state_evolution")
    regularized = cubes["fig1_regularized"].overlap
    figure, axes = new_figure(1, 1, 5.2, 3.6)
    for layer in (2, 1):
        name = f"$Q_{{{layer}{layer}}}$"
        color = LAYER_COLORS[layer]
        for overlap, label, style in (
            (exact, f"{name}, model", "-"),
            (regularized, rf"{name}, $\epsilon = 10^{{-3}}$ added to $V$", "--"),
        ):
            values = overlap.sel(layer=layer, layer_star=layer).dropna("alpha", how="all")
            curve(axes, values.alpha, values.values, color, label, style)
        axes.plot(FIG1_OVERLAPS[:, 0], FIG1_OVERLAPS[:, layer], **PUBLISHED, label="published" if layer == 1 else None)
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$",
        ylabel=r"overlap with the teacher $Q$",
        xlim=(0, 1.6),
        ylim=(-0.03, 1.05),
    )
    axes.legend(loc="lower right")
    return figure
