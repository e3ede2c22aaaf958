"""Three sets of Yandex's heterophilous graphs: tolokers, and the web pages of three universities (WebKB).

tolokers: workers of a crowdsourcing platform, banned from a project or not, linked where they worked on the same
tasks. Of 11,758 workers and 519,000 links a seeded sample of 5,000 workers (seed 301) and the links among them are
taken. The ten columns are, by the set's paper (Platonov et al. 2023), the shares of approved, skipped, expired and
rejected tasks (table `record`) and flags of education and English (table `profile`; the file does not name its
columns).

webkb_texas, webkb_cornell, webkb_wisconsin: pages, their words (0/1, at least 5 pages) and links; the role of a page
is one of five. Links join unlike pages here: edge homophily is 0.06 to 0.18. In Texas one class has a single page. As
a transfer problem the three are domains over the same 1,703 words, which the repository does not promise to be in the
same order: the words' frequencies correlate between universities, which is checked by a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
import scipy.sparse

from datasets.suite._problem import GRAPH, Domains, SuiteProblem
from datasets.suite._reading import classes, columns_of, local, words
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

N_TOLOKERS = 5_000
SEED = 301
RECORD = ["approved", "skipped", "expired", "rejected"]
UNIVERSITIES = ("texas", "cornell", "wisconsin")


def _arrays(name: str) -> Mapping[str, np.ndarray]:
    return np.load(local("yandex-research/heterophilous-graphs", f"data/{name}.npz"), allow_pickle=False)


def _edges(ids: list[str], pairs: np.ndarray) -> pl.DataFrame:
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    return pl.DataFrame({end: [ids[place] for place in pairs[:, i]] for i, end in enumerate(("source", "target"))})


def load_tolokers() -> HetData:
    """Return the sampled workers as HetData: 5,000 instances, 2 tables, 1 graph, 2 classes."""
    held = _arrays("tolokers")
    n = len(held["node_labels"])
    chosen = np.sort(np.random.default_rng(SEED).permutation(n)[:N_TOLOKERS])
    place = np.full(n, -1)
    place[chosen] = np.arange(len(chosen))
    ends = place[held["edges"]]
    ids = [f"worker-{row:05d}" for row in chosen]
    cells = held["node_features"][chosen]
    tables = {"record": pl.DataFrame(cells[:, :4], schema=RECORD), "profile": columns_of(cells[:, 4:], "flag")}
    tables = {name: table.insert_column(0, pl.Series("id", ids)) for name, table in tables.items()}
    target = pl.DataFrame({"id": ids, "y": classes(held["node_labels"][chosen], ("not banned", "banned"))})
    graphs = {"same_tasks": _edges(ids, ends[(ends >= 0).all(axis=1)])}
    return HetData(tables, graphs, target, id_column="id", task="classification")


def _university(name: str) -> Callable[[], HetData]:
    def load() -> HetData:
        held = _arrays(name)
        ids = [f"{name}-{row:03d}" for row in range(1, len(held["node_labels"]) + 1)]
        table = words(held["node_features"]).insert_column(0, pl.Series("id", ids))
        target = pl.DataFrame({"id": ids, "y": classes(held["node_labels"], "role")})
        graphs = {"links": _edges(ids, held["edges"])}
        return HetData({"words": table}, graphs, target, id_column="id", task="classification")

    return load


def load_domains() -> Domains:
    """Return the three universities as domains over the same words: 183, 183 and 251 pages."""
    held = {name: _arrays(name) for name in UNIVERSITIES}
    sizes = [len(each["node_labels"]) for each in held.values()]
    table = words(scipy.sparse.csc_array(np.vstack([each["node_features"] for each in held.values()])))
    starts = np.cumsum([0, *sizes])
    tables = {name: table.slice(int(start), size) for name, start, size in zip(held, starts, sizes)}
    labels = {name: np.array(classes(each["node_labels"], "role"), dtype=object) for name, each in held.items()}
    return Domains("wisconsin", tables, labels, "classification")


PROBLEMS = (
    SuiteProblem(
        "tolokers",
        "tolokers",
        GRAPH,
        task="classification",
        half="choosing",
        load=load_tolokers,
        story="5,000 crowd workers: banned or not, from their record, their profile and common tasks.",
    ),
    *(
        SuiteProblem(
            f"webkb_{name}",
            "webkb",
            GRAPH,
            task="classification",
            half="reporting",
            load=_university(name),
            story=f"Web pages of the university in {name.title()}: tell the role, one of five, from words and links.",
        )
        for name in UNIVERSITIES
    ),
    SuiteProblem(
        "webkb_universities",
        "webkb",
        ("transfer",),
        task="classification",
        half="reporting",
        load=load_domains,
        story="617 web pages of three universities: tell the role of a page of one with the help of the others' pages.",
    ),
)
