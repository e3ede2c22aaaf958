# %% [markdown]
# # Which source pays?
#
# An analyst asks: data sources cost money. What does the error become without each of them, over several splits of
# the labels, and is the difference more than chance?

# %%
import numpy as np
import polars as pl

import datasets
import hetcore as hc
from hetcore.data.splits import label_split

SPLITS = 3
data = datasets.load("planted")  # three sources of falling worth and one of pure noise: the answer is known
data


# %%
def errors(given: hc.HetData) -> np.ndarray:
    """Return the held-out error on each split of the labels."""
    found = []
    for seed in range(SPLITS):
        model = hc.GBCRegressor(n_iterations=5, random_state=seed)
        model.fit(given, label_split(data, fraction=0.5, seed=seed), eval_y=data.y)
        found.append(model.history_["metric:held_out"][-1])
    return np.array(found)


# %% [markdown]
# The same splits with and without a source: differences in pairs, so that what a split adds falls out.

# %%
everything = errors(data)
rows = []
for name in [*data.source_names, *data.graph_names]:
    kept = [each for each in data.source_names if each != name]
    graphs = [each for each in data.graph_names if each != name]
    more = errors(data.select(sources=kept, graphs=graphs)) - everything
    rows.append({"without": name, "RMSE rises by": more.mean(), "± standard error": more.std(ddof=1) / SPLITS**0.5})
print(f"RMSE with everything: {everything.mean():.3f}")
print(pl.DataFrame(rows))

# %% [markdown]
# A source whose rise is within two standard errors of zero has not paid here. More splits narrow the error; two sources
# that say the same may each look worthless while both are there: drop them together before you cancel both.
