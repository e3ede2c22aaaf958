"""Where nodes are drawn: linked ones side by side, none on another; the grid repels as the sum over all pairs does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hetcore.data import HetData
from hetcore.errors import DataError
from studio.jobs import worker_tasks
from studio.views.common import layouts


def network(edges: list[tuple[int, int]], n: int) -> HetData:
    """Return instances 0 to n - 1 with a graph."""
    ids = [f"i{k}" for k in range(n)]
    ends = {"source": [ids[a] for a, _ in edges], "target": [ids[b] for _, b in edges]}
    return HetData({"t": pl.DataFrame({"id": ids, "x": np.arange(float(n))})}, {"g": pl.DataFrame(ends)})


def communities(seed: int = 0) -> tuple[HetData, np.ndarray]:
    """Return three communities of 40 with few links between them, and each one's number."""
    rng, group = np.random.default_rng(seed), np.repeat([0, 1, 2], 40)
    i, j = np.triu_indices(120, 1)
    linked = rng.random(len(i)) < np.where(group[i] == group[j], 0.3, 0.005)
    return network(list(zip(i[linked], j[linked])), 120), group


def test_communities_lie_apart():
    data, group = communities()
    places = layouts.layout(data, "g")
    middles = np.array([places[group == k].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(places[:, None] - middles, axis=2).argmin(axis=1)
    assert places.shape == (120, 2) and places.dtype == np.float32
    assert (nearest == group).mean() > 0.97
    assert np.abs(places).max() == pytest.approx(1.0)


def test_no_two_nodes_lie_on_each_other_though_their_neighbours_are_the_same():
    clique = [(a, b) for a in range(30) for b in range(a)]
    places = layouts.layout(network(clique, 30), "g")
    apart = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(30, 1)]
    assert apart.min() > 0.01


def test_instances_without_a_neighbour_are_not_drawn():
    places = layouts.layout(network([(0, 1), (1, 2)], 5), "g")
    assert np.isnan(places[3:]).all() and np.isfinite(places[:3]).all()
    lonely = network([(0, 1)], 2).with_edges("g", cut=[("i0", "i1")])
    assert np.isnan(layouts.layout(lonely, "g")).all()


def test_parts_without_a_link_between_them_stay_in_sight():
    pairs = [(2 * k, 2 * k + 1) for k in range(20)]
    places = layouts.layout(network(pairs, 40), "g")
    assert np.isfinite(places).all() and np.linalg.norm(places[::2] - places[1::2], axis=1).max() < 0.5


def test_the_same_seed_draws_the_same():
    data, _ = communities(1)
    assert np.array_equal(layouts.layout(data, "g", seed=3), layouts.layout(data, "g", seed=3))


def test_the_grid_repels_as_the_sum_over_all_pairs_does():
    places = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    apart = places[:, None] - places
    exact = (apart / (np.square(apart).sum(axis=2, keepdims=True) + 1e-9)).mean(axis=1)
    found = layouts._repulsion(places)
    assert np.linalg.norm(found - exact) < 0.25 * np.linalg.norm(exact)
    assert np.abs(np.median(np.linalg.norm(found - exact, axis=1))) < 0.06


def test_an_unknown_graph_is_named():
    with pytest.raises(DataError, match="no graph 'h' among 'g'"):
        layouts.layout(network([(0, 1)], 2), "h")


def test_a_worker_may_compute_it():
    assert worker_tasks.find_function("studio.views.common.layouts:layout") is layouts.layout
