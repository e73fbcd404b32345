"""Error of the denoiser of S against the noise, for several width ratios."""

import numpy as np

from attention_limits.attention_indexed.figures.shared import ESTIMATION, ratio_color
from attention_limits.plotting import NARROW, house_style, new_figure


@house_style
def draw(cubes):
    """The errors of the cube denoising, beside those of estimates that do not know the spectrum."""
    cube = cubes["denoising"].isel(replica=0)
    noise = cube.denoising_noise.values
    figure, axes = new_figure(1, 1, NARROW, 3.8)
    for ratio in cube.ratio.values:
        axes.plot(noise, cube.mmse.sel(ratio=ratio), color=ratio_color(ratio), label=rf"$\rho = {ratio:g}$")
    axes.plot(noise, noise, ":", color="0.4", label="the observation, $D$")
    axes.plot(noise, np.full_like(noise, 1.0), "-.", color="0.4", label="the mean of $S$")
    axes.plot(noise, noise / (1.0 + noise), "--", color="0.4", label="best linear estimate, $D/(1+D)$")
    axes.set(xscale="log", yscale="log", ylim=(8e-4, 1.5), xlabel="variance of the noise $D$", ylabel=ESTIMATION)
    axes.legend(loc="lower right")
    return figure


def numbers(cubes):
    """Error at the smallest width and the noise next to one, in units of that of the best linear estimate."""
    cube = cubes["denoising"].isel(replica=0).sel(ratio=cubes["denoising"].ratio.min())
    point = cube.sel(denoising_noise=1.0, method="nearest")
    noise = float(point.denoising_noise)
    return {"ratio": float(cube.ratio), "noise": noise, "part": float(point.mmse) * (1.0 + noise) / noise}
