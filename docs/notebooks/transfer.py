# %% [markdown]
# # Transfer: which domains help?
#
# Antunes and others' idea: many labelled rows of other domains, few of the target; boosting finds how much each domain
# counts. Pictures of ten kinds of things from four cameras; the target is one of them, with 30 labels. Before the first
# round its left-out rows are asked for η, which takes some ten seconds.

# %%
import numpy as np

import datasets
import hetcore as hc
from hetcore.data.plain import domains

X, y, sample_domain, names, _, _ = domains(datasets.load("office_caltech"), target="dslr")
target = np.flatnonzero(sample_domain < 0)
shown = np.random.default_rng(0).permutation(target)[:30]
hidden = np.setdiff1d(target, shown)
others = np.random.default_rng(0).permutation(np.flatnonzero(sample_domain > 0))[:600]
rows = np.concatenate([others, shown])
print(names, len(rows), "rows to learn from,", len(hidden), "to predict")

# %%
widget = hc.watch(
    hc.WeightedMultiSourceTrAdaBoostClassifier(domain_names=names, n_iterations=10, random_state=0),
    X[rows],
    y[rows],
    sample_domain=sample_domain[rows],
)
widget

# %%
widget.train()
model = widget.wait()
alone = hc.TargetSVM().fit(X[shown], y[shown], sample_domain[shown])
print(f"right: {np.mean(model.predict(X[hidden]) == y[hidden]):.0%} with the sources, ", end="")
print(f"{np.mean(alone.predict(X[hidden]) == y[hidden]):.0%} by an SVM on the target alone")
model
