"""No source's contributions take the place of the ids' or of a graph's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from studio.jobs import worker_tasks
from studio.jobs.results import contribution_columns

names = st.lists(st.sampled_from(["id", "g", "graph:g", "source:g", "source:id", "source:graph:g", "a"]), unique=True)


@given(names, names)
def test_columns_are_distinct_and_none_is_the_ids(sources, graphs):
    columns = contribution_columns(sources, graphs)
    assert len({"id", *columns}) == 1 + len(sources) + len(graphs)


def test_a_source_called_id_and_one_called_like_a_graph_keep_their_numbers():
    class Model:
        source_weights_, graph_weights_ = {"id": 0.5, "graph:g": 0.3, "a": 0.1}, {"g": 0.1}

    class Data:
        ids = np.array(["x", "y"], dtype=object)

    class Explained:
        contributions = np.arange(8.0).reshape(2, 4)

    frame = worker_tasks._contributions(Model, Data, Explained)
    assert frame.to_dict(as_series=False) == {
        "id": ["x", "y"], "source:id": [0, 4], "source:graph:g": [1, 5], "a": [2, 6], "graph:g": [3, 7],
    }  # fmt: skip
