# %% [markdown]
# # Ratings: users one can rely on
#
# Lee and others' idea for matrices: each rating has a deviation of its own, learned with low rank; who strays is heard
# the less. MovieLens, every fifth rating.

# %%
import numpy as np

import datasets
import hetcore as hc
from hetcore import metrics
from hetcore.data.plain import codes

X, y, *_ = codes(datasets.load("movielens_100k"), ("user", "item"))
chosen = np.random.default_rng(0).permutation(len(y))[: len(y) // 5]
train, test = chosen[:16_000], chosen[16_000:]

# %%
for name, method in {"biased MF": hc.MatrixFactorization, "HMF": hc.HMF}.items():
    model = method(n_iterations=20, random_state=0).fit(X[train], y[train])
    print(f"{name}: RMSE {metrics.rmse(y[test], model.predict(X[test])):.3f} stars")

# %%
deviations = model.deviation_by(0)
steady, erratic = min(deviations, key=deviations.get), max(deviations, key=deviations.get)
print(f"user {steady} strays by {deviations[steady]:.2f} stars, user {erratic} by {deviations[erratic]:.2f}")

# %%
model
