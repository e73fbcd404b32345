"""What the learning curves of several figures share: the overlaps of a layer and the generalisation errors."""

import numpy as np

from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import COLORS, LAYER_COLORS, curve, points, present, realised_alpha, say_why

# Entry of the legend for the open circles of state evolution and of GAMP: not converged, or too few outputs resolved.
NOT_SETTLED = "one replica, not settled"
# Those of empirical risk minimisation: of one minimum, and where several overlaps have nearly the same objective.
DOUBTFUL = "one replica, replica symmetry doubtful or not settled"
UNDETERMINED = "one replica, replica symmetry doubtful, overlaps not determined or not settled"

# An overlap above this is exact recovery.
_EXACT = 0.99


def jump_to_recovery(overlap):
    """Alpha in the middle of the step of its grid in which an `overlap` (alpha, replica) jumps to exact recovery, or NaN.

    Only of links that recover in a jump, such as phase retrieval: a grid cannot distinguish a jump from a steep rise. The
    first replica decides: where the others jump later, the curve has no mean beyond the jump.
    """
    known = (overlap > _EXACT).any("replica").values
    if known[0] or not known.any():
        return np.nan
    first = int(np.argmax(known))
    return 0.5 * float(overlap.alpha[first - 1] + overlap.alpha[first])


def draw_layer(axes, theory, gamp, layer, names=(None, None), jump=np.nan, **look):
    """The overlap of a layer: state evolution as a line, which a `jump` of alpha cuts, and GAMP as points.

    `names` are the entries of the legend for both, `look` the properties of the line.
    """
    color, pair = LAYER_COLORS[layer], {"layer": layer, "layer_star": layer, "drop": True}
    overlap = present(theory.overlap.sel(**pair).transpose("alpha", "replica"))
    flags = passed(theory, "overlap").sel(alpha=overlap.alpha).transpose("alpha", "replica").values
    curve(axes, overlap.alpha.values, overlap.values, color, names[0], flags=flags, jump=jump, **look)
    # The overlap is compared with the norm of the drawn teacher, which fluctuates around one at finite size.
    relative = present((gamp.overlap.sel(**pair) / gamp.teacher_norm.sel(**pair)).transpose("alpha", "replica"))
    converged = passed(gamp, "overlap").sel(alpha=relative.alpha).transpose("alpha", "replica").values
    points(axes, realised_alpha(gamp, relative.alpha), relative.values, converged, color, names[1])
    say_why(axes, NOT_SETTLED)


def draw_errors(axes, theory, gamp):
    """Both errors of state evolution as lines, the plug-in error of GAMP as points."""
    for name, label, style in (("bayes", "error of the posterior mean", "-"), ("plug_in", "plug-in error", "--")):
        error = present(theory[f"error_{name}"])
        floor, flags = np.maximum(error.values, 1e-5), passed(theory, f"error_{name}").sel(alpha=error.alpha).values
        curve(axes, error.alpha, floor, COLORS[name], label, style, flags)
    simulated = present(gamp.error_plug_in)
    converged = passed(gamp, "error_plug_in").sel(alpha=simulated.alpha).values
    alpha = realised_alpha(gamp, simulated.alpha)
    points(axes, alpha, simulated.values, converged, COLORS["plug_in"], None)
    say_why(axes, NOT_SETTLED)
