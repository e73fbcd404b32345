# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Your link, from idea to figure
#
# A link y = g(h) is the output of a model as a function of its fields h. Here the idea is a unit that rectifies: y =
# |h|^p. A link needs `forward`, and `fibre`: the fields that have a given output, with log |dy / dh|^-1 for each.

# %%
from dataclasses import dataclass

import numpy as np

import attention_limits as al
from attention_limits.sequence_multi_index.links.link import Link


@dataclass(frozen=True)
class Rectified(Link):
    """y = |h|^power."""

    power: float = 1.0

    rows = 1
    tokens = 1
    sign_symmetry = "rows"  # the sign of h does not change the output

    def forward(self, h):  # fields (..., 1, 1) to outputs (...)
        return np.abs(h[..., 0, 0]) ** self.power

    def fibre(self, observed, free, angles):  # outputs (n,), free rows (n, S, 0, 1)
        size = np.broadcast_to((observed ** (1 / self.power))[:, None], free.shape[:2])
        candidates = np.stack([size, -size], axis=2)[..., None, None]  # (n, S, K = 2, 1 row, 1 token)
        weight = -np.log(self.power) + (1 - self.power) * np.log(size)
        return candidates, np.stack([weight, weight], axis=2)


# %% [markdown]
# `thresholds` and `compute` check the link on random fields before they use it: shapes, symmetry, candidates. This
# link passes. All powers hold the same information, so all have the threshold 1/2 of phase retrieval.

# %%
found = {power: al.thresholds(Rectified(power), solver={"nodes": 256}) for power in (1.0, 3.0)}
print({power: table.value.iloc[0] for power, table in found.items()})

# %% [markdown]
# Noise on the output removes information. `noise` is its variance; the learning curve shows its price.

# %%
grid = {"alpha": np.linspace(0.3, 1.5, 5)}
cube = al.compute(
    "sequence_multi_index.state_evolution", {"link": Rectified(), "noise": 0.25}, grid, replicas=2, solver={"nodes": 64}
)
print(al.table(cube, ["overlap"], aggregate=True).round(3).to_string())
figure = al.plot(cube, "overlap")
figure

# %% [markdown]
# Write the class into a file `links/mine.py` to keep points in a folder, to compute in several processes, or to use
# the link in an experiment of the workflow: `{"link": "links/mine.py:Rectified"}`.
