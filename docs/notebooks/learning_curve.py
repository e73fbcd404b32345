# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # A learning curve in five lines
#
# One unit measures the square of a random projection (phase retrieval). How well can anybody learn its weights from n
# samples in D dimensions? State evolution answers for alpha = n / D; four scramblings of its nodes give the error.

# %%
import numpy as np

import attention_limits as al

cube = al.compute(
    "sequence_multi_index.state_evolution", {"link": "phase_retrieval"}, {"alpha": np.linspace(0.2, 1.2, 6)},
    replicas=4, solver={"nodes": 128},
)  # fmt: skip
curve = al.plot(cube, "overlap")
curve

# %% [markdown]
# The overlap Q is 0 where nothing is learned and 1 where everything is. It leaves zero at the threshold of weak
# recovery, 1/2:

# %%
threshold = al.thresholds("phase_retrieval", solver={"nodes": 256})
print(threshold.text.iloc[0])

# %% [markdown]
# The cube holds every replica. A table holds means, standard errors and the fraction of replicas that converged.

# %%
table = al.table(cube, ["overlap", "converged"], aggregate=True)
print(table.round(3).to_string())
