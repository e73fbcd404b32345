"""The hard phase of phase retrieval: state evolution and GAMP, from the uninformed and from the informed start."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed, specifications
from attention_limits.plotting import (
    COLORS,
    HARD_COLOR,
    NARROW,
    curve,
    house_style,
    new_figure,
    points,
    present,
    realised_alpha,
    say_why,
)
from attention_limits.sequence_multi_index.figures.bayes import phases as diagram
from attention_limits.sequence_multi_index.figures.shared import NOT_SETTLED, jump_to_recovery
from attention_limits.sequence_multi_index.readings import HARD, phases

# Informed below uninformed: where both ends agree, the later one hides the other.
STARTS = {
    "informed": ("phases_gamp_informed", COLORS["informed"], "s"),
    "uninformed": ("phases_gamp", COLORS["uninformed"], "o"),
}
_PAIR = {"layer": 1, "layer_star": 1, "drop": True}


@house_style
def draw(cubes):
    """Overlaps against alpha, theory from phases_phase_retrieval and simulations from phases_gamp and phases_gamp_informed."""
    theory, (figure, axes) = cubes["phases_phase_retrieval"], new_figure(1, 1, NARROW, 3.6)
    phase = phases(theory).phase
    axes.fill_between(
        phase.alpha, 0, 1, where=(phase == HARD).values, transform=axes.get_xaxis_transform(), color=HARD_COLOR, linewidth=0,
        label="hard",
    )  # fmt: skip
    by_start = theory.overlap_by_start.sel(**_PAIR)
    settled = passed(theory, "overlap_by_start")
    for start, (name, color, marker) in STARTS.items():
        overlap = by_start.sel(init=start).transpose("alpha", "replica")
        flags = settled.sel(init=start).transpose("alpha", "replica").values
        label = f"state evolution, {start} start"
        curve(
            axes,
            overlap.alpha.values,
            overlap.values,
            color,
            label,
            "-" if start == "uninformed" else "--",
            flags=flags,
            jump=jump_to_recovery(overlap),
        )
        gamp = cubes[name]
        found = present(np.abs(gamp.overlap.sel(**_PAIR)) / gamp.teacher_norm.sel(**_PAIR)).transpose(
            "alpha", "replica"
        )
        # An estimate that ran away is flagged, and far outside of the axes.
        found = found.where(found < 2.0)
        flags = passed(gamp, "overlap").transpose("alpha", "replica").values
        points(axes, realised_alpha(gamp, found.alpha), found.values, flags, color, f"GAMP, {start} start", marker)
        say_why(axes, NOT_SETTLED)
    dimension = specifications(cubes["phases_gamp"])["gamp"]["solver"]["dimension"]
    axes.set(
        xlabel=r"samples per dimension $\alpha = n/D$", ylabel="overlap with the teacher", xlim=(0.4, 1.35), ylim=(-0.03, 1.05),
        title=f"$y = h^2$, GAMP at $D = {dimension}$",
    )  # fmt: skip
    axes.legend(loc="upper left", fontsize=7)
    return figure


def numbers(cubes):
    """Where the hard phase ends, see the figure of all links; the share of GAMP runs from a random estimate that do not converge.

    In per cent: at the alpha next to the end of the hard phase, and at the next one.
    """
    found, gamp = diagram.numbers(cubes), cubes["phases_gamp"]
    failed = 100.0 * (gamp.converged == 0).where(gamp.converged.notnull()).mean("replica").dropna("alpha")
    late = failed.sel(alpha=failed.alpha >= found["easy"] - 1e-9) if np.isfinite(found["easy"]) else failed[:0]
    for place, name in enumerate(("slow", "next")):
        known = place < late.size
        found |= {
            name: float(late[place]) if known else np.nan,
            f"{name}_alpha": float(late.alpha[place]) if known else np.nan,
        }
    return found
