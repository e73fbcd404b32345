"""Which attention layer of a question classifier learns first: similarity with the last weights, and accuracy, by epoch."""

import itertools

import numpy as np
from matplotlib.ticker import NullLocator

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import LAYER_COLORS, WIDE, curve, house_style, legend_below, new_figure

_TRAIN, _TEST = "0.55", "black"


@house_style
def draw(cubes):
    """Similarities (top) and accuracies (bottom) from the cube fig3_trec; a column for each scale of the embedding and rate."""
    cube = cubes["fig3_trec"]
    model = specifications(cube)["trec"]["model"]
    columns = list(itertools.product(cube.embedding_std.values, cube.learning_rate.values))
    figure, axes = new_figure(
        2, len(columns), WIDE, 5.4,
        sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2),
    )  # fmt: skip
    for (scale, rate), (top, bottom) in zip(columns, axes.T, strict=True):
        part = cube.sel(embedding_std=scale, learning_rate=rate)
        top.set_title(f"embedding std {scale:g}, rate {rate:g}")
        for layer in cube.layer.values:
            _similarities(top, part.sel(layer=layer), LAYER_COLORS[int(layer)], int(layer))
        draw_accuracies(bottom, part)
        # Most happens in the first epochs: linear up to 1, logarithmic after.
        bottom.set_xscale("symlog", linthresh=1, linscale=0.5)
        ticks = [tick for tick in (0, 1, 2, 5, 10, 20, 40, 100, 200) if tick <= cube.epoch.values[-1]]
        bottom.set_xticks(ticks, [str(tick) for tick in ticks])
        bottom.xaxis.set_minor_locator(NullLocator())
        bottom.set(xlabel="epoch $t$", xlim=(0, cube.epoch.values[-1]))
    axes[0, 0].set(ylabel="similarity of layer $l$ with its end", ylim=(0, 1.03))
    axes[1, 0].set(ylabel="share of right answers", ylim=(0, 1.03))
    legend_below(figure, axes, ncols=5)
    figure.suptitle(corpus_title(model, cube), fontsize=9.5)
    return figure


def numbers(cubes):
    """How many epochs the half-way time of the weights of layer 1 is before that of layer 2, mean over seeds.

    The least of all learning rates for the large embedding, the most for the small one, also in per cent of the time of layer 1;
    at the largest rate the mean and its error, of the weights and of W W^T. The least and the most test accuracy at the end, and
    that of the most frequent class.
    """
    cube = cubes["fig3_trec"]
    later = cube.sel(layer=2) - cube.sel(layer=1)
    weights, first = (times.mean("replica") for times in (later.weight_half_time, cube.weight_half_time.sel(layer=1)))
    ends = {name: end(cube.embedding_std) for name, end in (("large", np.max), ("small", np.min))}
    large, small = (weights.sel(embedding_std=ends[name]) for name in ("large", "small"))
    share = 100.0 * small / first.sel(embedding_std=ends["small"])
    found = {"large_least": large.min(), "small_most": small.max(), "share": share.max()}
    fastest = later.sel(learning_rate=cube.learning_rate.max())
    for size, std in ends.items():
        for kind, name in (("weight", size), ("product", f"{size}_product")):
            mean, error = mean_and_error(fastest[f"{kind}_half_time"].sel(embedding_std=std).values)
            found |= {name: mean, f"{name}_error": error}
    test = cube.test_accuracy.isel(epoch=-1).mean("replica")
    found |= {"test_least": test.min(), "test_most": test.max(), "majority": cube.majority_accuracy.mean()}
    return {name: float(value) for name, value in found.items()}


def draw_accuracies(axes, part):
    """Share of right answers against the epoch, of a cube at one point of its grid, with two references."""
    for name, color in (("training", _TRAIN), ("test", _TEST)):
        accuracy = part[f"{name}_accuracy"].transpose("epoch", "replica")
        curve(axes, part.epoch.values, accuracy.values, color, f"{name} questions")
    majority = float(part.majority_accuracy.mean())
    axes.axhline(majority, color="0.4", linestyle="--", linewidth=1, label="most frequent class")
    axes.axhline(1 / 6, color="0.4", linestyle=":", linewidth=1, label="chance, 1/6")


def _similarities(axes, part, color, layer):
    """The two similarities of one layer, with the half time of the weights as a mark on its curve."""
    epochs = part.epoch.values
    weights = part.weight_similarity.transpose("epoch", "replica").values
    curve(axes, epochs, weights, color, rf"$W_{layer}(t)$ with $W_{layer}$(last)")
    products = part.product_similarity.transpose("epoch", "replica").values
    curve(axes, epochs, products, color, rf"$W_{layer}^{{}}W_{layer}^T$", linestyle=":")
    mean, error = mean_and_error(part.weight_half_time.values)
    level = 0.5 * (1 + np.nanmean(weights[0]))
    axes.errorbar(
        mean, level, xerr=error, color=color, marker="o", markersize=4, capsize=2, elinewidth=1, zorder=3,
        label="half of the way" if layer == 1 else None,
    )  # fmt: skip


def corpus_title(model, cube):
    """The corpus and the size of its vocabulary."""
    size = int(cube.vocabulary_size.max())
    pieces = "words" if model["vocabulary"] == "words" else "word pieces"
    if model["corpus"] == "generated":
        return f"generated questions ({model['questions']}), not the public corpus; vocabulary of {size} {pieces}"
    return f"questions of {model['corpus']}; vocabulary of {size} {pieces}"
