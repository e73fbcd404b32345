"""Which attention layer of a question classifier learns first, on the public corpus, beside the published similarities."""

import itertools

from attention_limits.numerics.probability.statistics import mean_and_error
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


def numbers(cubes):
    """How many epochs the half-way time of layer 2 is before that of layer 1 at each rate, with its standard error over seeds.

    By W^T W (gram) and by W W^T (product); the test accuracies at the end with their errors, the accuracy of the most frequent
    class, and the similarity of W^T W of the first record at the largest rate.
    """
    cube = cubes["fig3_trec_public"].sel(embedding_std=1.0).sortby("learning_rate")
    found = {"majority": float(cube.majority_accuracy.mean()), "epochs": float(cube.epoch[-1])}
    found |= {"first_similarity": float(cube.gram_similarity.isel(learning_rate=-1, epoch=1).mean())}
    for number, name in enumerate(("small", "default", "large")):
        part = cube.isel(learning_rate=number)
        for measure in ("gram", "product"):
            times = part[f"{measure}_half_time"].transpose("layer", "replica")
            before = mean_and_error((times.sel(layer=1) - times.sel(layer=2)).values)
            found |= {f"{name}_{measure}": before[0], f"{name}_{measure}_error": before[1]}
        accuracy = mean_and_error(part.test_accuracy.isel(epoch=-1).values)
        found |= {f"{name}_accuracy": accuracy[0], f"{name}_accuracy_error": accuracy[1]}
    return {name: float(value) for name, value in found.items()}


def _similarities(axes, part, layer):
    """The similarities of one layer, and the published one as points."""
    epochs, color = part.epoch.values, LAYER_COLORS[layer]
    for name, text, style in (
        ("gram", rf"$W_{layer}^T W_{layer}^{{}}$", "-"),
        ("product", rf"$W_{layer}^{{}}W_{layer}^T$", ":"),
    ):
        similarity = part[f"{name}_similarity"].transpose("epoch", "replica").values
        curve(axes, epochs, similarity, color, text, linestyle=style)
    # Only those on the axis.
    there = (FIG3_SIMILARITIES[:, 0] >= epochs[0] / 2) & (FIG3_SIMILARITIES[:, 0] <= epochs[-1])
    t, mean, error = FIG3_SIMILARITIES[there][:, [0, 2 * layer - 1, 2 * layer]].T
    published_points(axes, t, mean, error, color, rf"published, $W_{layer}^T W_{layer}^{{}}$")
