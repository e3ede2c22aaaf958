# %% [markdown]
# # Bring your own tables and graphs
#
# Tables are polars frames with a column of ids; graphs are edge lists, networkx graphs or sparse matrices; labels are a
# table too. Ids meet as text, exactly as given. Here everything is made in place, faults included.

# %%
import networkx as nx
import numpy as np
import polars as pl

import hetcore as hc

rng = np.random.default_rng(0)
films = [f"film {k}" for k in range(200)]
worth = rng.normal(size=200)
budgets = pl.DataFrame({"film": films[:160] + films[:1], "budget": [*(worth[:160] + rng.normal(size=160)), 3.0]})
plots = pl.DataFrame({"film": films[40:], "plot": ["a heist" if each > 0 else "a wedding" for each in worth[40:]]})
ratings = pl.DataFrame({"film": films[:100], "rating": 6 + worth[:100]})

# %% [markdown]
# A networkx graph: films by the same director. One edge leads to a film that no table has.

# %%
same_director = nx.Graph()
order = np.argsort(worth)
same_director.add_edges_from((films[a], films[b]) for a, b in zip(order[:-1], order[1:]))
same_director.add_edge("film 3", "a film that nobody knows")

# %%
data = hc.HetData(
    sources={"budget": budgets, "plot": plots}, graphs={"director": same_director}, target=ratings, id_column="film"
)
data

# %% [markdown]
# The report says what was found: a film twice in one table, a film that only a graph knows.

# %%
print(data.report)

# %%
model = hc.GBCRegressor(n_iterations=20, random_state=0).fit(data)
predicted = model.predict(data)
unrated = ~data.labelled
known = np.array([name in set(films) for name in data.ids]) & unrated
truth = dict(zip(films, 6 + worth))
error = np.sqrt(np.mean([(predicted[k] - truth[data.ids[k]]) ** 2 for k in np.flatnonzero(known)]))
print(f"RMSE on the films without a rating: {error:.2f}")
model

# %% [markdown]
# Tables of pandas, pyarrow or narwhals are taken as they are. scipy: `(ids, matrix)`; PyG: `(ids, graph)`.
# Arrays, such as images or embeddings: `hc.Source(ids, array)`.

# %%
embedding = hc.Source(films, np.column_stack([worth, rng.normal(size=200)]))
print(hc.HetData({"embedding": embedding, "plot": plots}, target=ratings, id_column="film").coverage())
