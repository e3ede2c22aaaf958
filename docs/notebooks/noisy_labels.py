# %% [markdown]
# # Noise: which rows to trust, and how wide the band is
#
# Lee and others' idea: two models are boosted together, one for the label, one for how far labels stray from it.

# %%
import numpy as np

import datasets
import hetcore as hc
from hetcore import metrics
from hetcore.data.plain import plain_table

data = datasets.load("housing")
X, y = plain_table(data).X, data.y
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:350], order[350:]

# %%
widget = hc.watch(hc.HGBMRegressor(n_iterations=150, random_state=0), X[train], y[train])
widget

# %%
widget.train()
model = widget.wait()
mean, deviation = model.predict(X[test], return_std=True)
low, high = model.predict_interval(X[test], 0.9)
print(f"RMSE {metrics.rmse(y[test], mean):.2f} thousand dollars")
print(f"in the 90% band: {metrics.interval_coverage(y[test], low, high):.0%}")
print(f"deviation from {deviation.min():.1f} to {deviation.max():.1f}")

# %%
model
