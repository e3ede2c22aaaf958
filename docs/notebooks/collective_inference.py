# %% [markdown]
# # Collective inference: what the neighbours leave
#
# Alodah and Neville's idea: boosting whose stages see the residuals of linked instances, predicted together until
# nothing moves. Films linked by shared producers; how much did they earn at home?

# %%
import datasets
import hetcore as hc
from hetcore import metrics
from hetcore.data.splits import label_split

data = datasets.load("movie_revenue").sample(0.5, seed=0)
y = label_split(data, fraction=0.5, seed=0)
graph = data.graph_names[0]
data

# %%
models = {"boosting": hc.GBRegressor, "relational": hc.RGBRegressor, "collective": hc.MGBRegressor}
for name, method in models.items():
    model = method(random_state=0).fit(data, y, graph=graph, eval_y=data.y)
    error = model.history_["metric:held_out"][-1]
    left = metrics.residual_autocorrelation(data.y - model.predict(data), data.graphs[graph])
    print(f"{name:>10}: RMSE {error:.1f}, correlation of residuals over links {left:.2f}")

# %% [markdown]
# One split and half of the films: for numbers with standard errors see [results](../results.md).
