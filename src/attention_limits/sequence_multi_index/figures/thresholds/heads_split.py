"""Two heads that split the embedding: overlaps by state evolution and GAMP against the number of samples."""

from attention_limits.pipeline.cubes.readings import specifications
from attention_limits.plotting import NARROW, house_style, legend_below, new_figure
from attention_limits.sequence_multi_index.figures.shared import draw_layer


@house_style
def draw(cubes):
    """Overlaps of both heads from the cube heads_split."""
    cube = cubes["heads_split"]
    model = specifications(cube)["gamp"]
    theory, gamp = (cube.sel(estimator=name) for name in ("state_evolution", "gamp"))
    figure, axes = new_figure(1, 1, NARROW, 4.0)
    for head, weight in enumerate(model["model"]["readout"], start=1):
        name = f"head {head}, weight {weight:g}"
        size = model["solver"]["dimension"]
        draw_layer(axes, theory, gamp, head, (f"{name}, state evolution", rf"{name}, GAMP $D = {size}$"))
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$", ylabel="overlap with the teacher $Q$", xlim=(0, None),
        ylim=(-0.03, 1.05),
    )  # fmt: skip
    legend_below(figure, axes, ncols=1)
    return figure


def numbers(cubes):
    """The dimension of the data."""
    return {"dimension": specifications(cubes["heads_split"])["gamp"]["solver"]["dimension"]}
