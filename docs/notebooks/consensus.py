# %% [markdown]
# # Consensus: several sources, weighted while they learn
#
# Shi, Paiement, Grangier and Yu's idea: each source has a model of its own, pulled to what all say together; a source
# that is right more often weighs more, and linked things are made alike. Films: four tables, graphs of who made them.

# %%
import datasets
import hetcore as hc
from hetcore.data.splits import label_split

data = datasets.load("movie_ratings").sample(0.3, seed=0)
y = label_split(data, fraction=0.5, seed=0)
data

# %%
widget = hc.watch(hc.GBCRegressor(n_iterations=15, random_state=0), data, y, eval_y=data.y)
widget

# %%
widget.train()
model = widget.wait()
model

# %% [markdown]
# The same without graphs, and with every source spoilt by noise in turn: does the weight follow?

# %%
plain = hc.GBCRegressor(n_iterations=15, random_state=0).fit(data.select(graphs=[]), y, eval_y=data.y)
print(f"RMSE {model.history_['metric:held_out'][-1]:.3f} with the graphs, ", end="")
print(f"{plain.history_['metric:held_out'][-1]:.3f} without")
best = max(plain.source_weights_, key=plain.source_weights_.get)
noisy_data = data.select(graphs=[]).with_noise(best, sd=3.0, seed=0)
noisy = hc.GBCRegressor(n_iterations=15, random_state=0).fit(noisy_data, y, eval_y=data.y)
print(f"weight of {best}: {plain.source_weights_[best]:.2f}, with noise {noisy.source_weights_[best]:.2f}")
