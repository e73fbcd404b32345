# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Theory, message passing and gradient descent
#
# Softmax attention of two tokens, of width r = d / 2. The state evolution computes the smallest possible error at
# infinite size. Matrix AMP should reach it; gradient descent is the algorithm of practice. Both run on simulated
# data, here at the small size d = 30.

# %%
import attention_limits as al

model = {"tokens": 2, "ratio": 0.5}
grid = {"alpha": [0.05, 0.1, 0.15]}
size = {"dimension": 30}
theory = al.compute(
    "attention_indexed.state_evolution", {**model, "channel": "softmax"}, {"alpha": [0, 0.025, *grid["alpha"]]}
)
amp = al.compute(
    "attention_indexed.matrix_amp",
    {**model, "channel": "softmax"},
    grid,
    replicas=8,
    solver={**size, "max_iterations": 200},
)
descent = al.compute(
    "attention_indexed.gradient_descent", model, grid, replicas=8,
    solver={**size, "starts": 4, "steps": 200, "record_every": 50},
)  # fmt: skip

# %% [markdown]
# AMP should lie near the theory, up to the error of a finite size. One run of gradient descent is worse. The mean of
# the estimates of several starts is better than one.

# %%
one, several = (descent.mmse_average.sel(average=m).mean("replica").values for m in (1, 4))
for k, alpha in enumerate(grid["alpha"]):
    bound = theory.mmse.sel(alpha=alpha).item()
    print(
        f"alpha = {alpha}: theory {bound:.3f}, AMP {float(amp.mmse[k].mean()):.3f}, descent {one[k]:.3f}, mean {several[k]:.3f}"
    )

# %% [markdown]
# The same as one picture: the line is the theory, the circles are AMP, and the squares the mean of four starts. Bars
# are standard errors over two data sets.

# %%
figure = al.plot(theory, "mmse")
axes = figure.axes[0]
mean_of_four = descent.mmse_average.sel(average=4)
for error, marker, label in (
    (amp.mmse, "o", "AMP, d = 30"),
    (mean_of_four, "s", "descent, mean of four starts, d = 30"),
):
    bars = error.std("replica", ddof=1) / 2**0.5
    axes.errorbar(grid["alpha"], error.mean("replica"), bars, fmt=marker, markersize=4, capsize=2, label=label)
axes.legend()
figure

# %% [markdown]
# On how many data sets did AMP converge? `al.explore` puts cubes on one page for a browser; a point is hollow there if most
# replicas fail a flag.

# %%
print(f"AMP converged on {int(amp.converged.sum())} of {amp.converged.size} data sets")
