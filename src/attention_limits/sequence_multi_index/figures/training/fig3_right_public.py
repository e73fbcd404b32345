"""Which attention layer of a question classifier learns first, on the public corpus, beside the published similarities."""

import itertools

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import LAYER_COLORS, WIDE, curve, house_style, legend_below, new_figure, published_points
from attention_limits.sequence_multi_index.figures.papers.fig3_right import corpus_title, draw_accuracies
from attention_limits.sequence_multi_index.figures.papers.published import FIG3_SIMILARITIES


@house_style
def draw(cubes):
    """Similarities (top) and accuracies (bottom) from the cube fig3_trec_public; a column for each scale and rate."""
    cube = cubes["fig3_trec_public"]
    columns = list(itertools.product(cube.embedding_std.values, cube.learning_rate.values))
    figure, axes = new_figure(
        2, len(columns), WIDE, 5.6,
        sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2),
    )  # fmt: skip
    # The start, t = 0, has no place on a logarithmic axis.
    shown = cube.isel(epoch=slice(1, None))
    for (scale, rate), (top, bottom) in zip(columns, axes.T, strict=True):
        part = shown.sel(embedding_std=scale, learning_rate=rate)
        top.set_title(f"learning rate {rate:g}")
        for layer in cube.layer.values:
            _similarities(top, part.sel(layer=layer), int(layer))
        draw_accuracies(bottom, part)
        bottom.set(xlabel="epoch $t$", xscale="log", xlim=(shown.epoch.values[0] / 2, cube.epoch.values[-1]))
    axes[0, 0].set(ylabel="similarity of layer $l$ with its end", ylim=(0, 1.03))
    axes[1, 0].set(ylabel="share of right answers", ylim=(0, 1.03))
    legend_below(figure, axes, ncols=5)
    figure.suptitle(corpus_title(specifications(cube)["trec"]["model"], cube), fontsize=9.5)
    return figure


def _similarities(axes, part, layer):
    """The similarities of one layer, and the published one as points."""
    epochs, color = part.epoch.values, LAYER_COLORS[layer]
    for name, text, style in (
        ("gram", rf"$W_{layer}^T W_{layer}^{{}}$", "-"),
        ("product", rf"$W_{layer}^{{}}W_{layer}^T$", ":"),
    ):
        similarity = part[f"{name}_similarity"].transpose("epoch", "replica").values
        curve(axes, epochs, similarity, color, text, linestyle=style)
    there = FIG3_SIMILARITIES[:, 0] <= epochs[-1]
    t, mean, error = FIG3_SIMILARITIES[there][:, [0, 2 * layer - 1, 2 * layer]].T
    published_points(axes, t, mean, error, color, rf"published, $W_{layer}^T W_{layer}^{{}}$")
