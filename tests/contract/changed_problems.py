"""Problems with something to learn, and the same ones written down in another way.

    problem = planted("GBCClassifier", seed)
    problem.changed("rows", rng)

`tests/contract/test_changed_problems.py` says which changes leave which method's predictions as they are;
`python -m benchmarks.reliability.changed_problems` tries as many as one likes. Columns are drawn from a normal
distribution, so that no two splits of a leaf's rows gain alike: which of two equal splits a tree takes does follow the
order of columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hetcore as hc
from tests.contract.random_cases import DOMAINS, ENTRIES, METHODS, ROWS
from tests.contract.test_properties_methods import numbers

__all__ = ["CHANGES", "Problem", "planted"]

CLASSES = np.array(["ant", "bee", "cat"])


def labels_of(score: NDArray, is_classifier: bool) -> NDArray:
    """Return a score (n,) as labels: itself, or three classes of equal size; the loudest third is "cat"."""
    if not is_classifier:
        return score
    return CLASSES[np.searchsorted(np.quantile(score, [1 / 3, 2 / 3]), score)]


@dataclass(frozen=True)
class Problem:
    """What a fit takes, in parts that can be written down in another order.

    Parameters
    ----------
    name : str
        Of the method.
    params : dict
    parts : dict
        By family: rows (X, y), domains (X, y, domain), entries (X, y) or data (sources, graphs, target).
    asked : tuple
        What predictions are asked of: rows (m, d), codes (m, modes) or ids.
    truth : ndarray (m,)
        Their labels, which no fit sees.
    """

    name: str
    params: dict[str, Any]
    parts: dict[str, Any]
    asked: Any
    truth: NDArray
    columns: NDArray | None = None
    renamed: dict[Any, Any] = field(default_factory=dict)

    @property
    def is_classifier(self) -> bool:
        return self.truth.dtype.kind != "f"

    def fitted(self) -> Any:
        """Return the method after its fit."""
        model = METHODS[self.name](**self.params)
        if "sources" not in self.parts:
            more = {"eval_set": (self._asked(), self.parts["shown"])} if "shown" in self.parts else {}
            return model.fit(*(self.parts[key] for key in ("X", "y", "domain") if key in self.parts), **more)
        data = self.data()
        more = {}
        if "shown" in self.parts:
            known = dict(zip(self.parts["target"]["id"], self.parts["target"]["y"]))
            known |= dict(zip((self.renamed.get(i, i) for i in self.asked), self.parts["shown"].tolist()))
            shown = np.array([known.get(i) for i in data.ids], dtype=float if not self.is_classifier else object)
            more = {"eval_y": shown}
        return model.fit(data, **more)

    def data(self) -> hc.HetData:
        """Return the tables and graphs as data."""
        return hc.HetData(self.parts["sources"], self.parts["graphs"], self.parts["target"])

    def _asked(self) -> NDArray:
        asked = self.asked if self.columns is None else self.asked[:, self.columns]
        return np.array([[self.renamed.get(v, v) for v in row] for row in asked]) if self.renamed else asked

    def predicted(self) -> NDArray[np.float64]:
        """Return the numbers behind the predictions for what is asked, in its order; (m, k)."""
        model = self.fitted()
        if "sources" not in self.parts:
            return numbers(model, self._asked())
        data = self.data()
        return numbers(model, data)[[data.position[self.renamed.get(i, i)] for i in self.asked]]

    def changed(self, change: str, rng: np.random.Generator) -> Problem:
        """Return the same problem in another order; `change` is one of `CHANGES`."""
        return CHANGES[change](self, rng)

    def with_parts(self, **parts: Any) -> Problem:
        """Return the problem with other parts."""
        return replace(self, parts={**self.parts, **parts})


# Changes --------------------------------------------------------------------------------------------------------------


def _rows(problem: Problem, rng: np.random.Generator) -> Problem:
    """Rows in another order: records, entries or samples, labels and edges."""
    parts = problem.parts
    if "sources" not in parts:
        order = rng.permutation(len(parts["y"]))
        return problem.with_parts(**{key: parts[key][order] for key in ("X", "y", "domain") if key in parts})

    def mixed(frame: pl.DataFrame) -> pl.DataFrame:
        return frame[rng.permutation(frame.height)]

    tables = {key: {n: mixed(t) for n, t in parts[key].items()} for key in ("sources", "graphs")}
    return problem.with_parts(**tables, target=mixed(parts["target"]))


def _edges(problem: Problem, rng: np.random.Generator) -> Problem:
    """Edges and labels in another order, ends exchanged."""
    graphs = {}
    for name, frame in problem.parts["graphs"].items():
        frame = frame[rng.permutation(frame.height)]
        graphs[name] = frame.rename({"source": "target", "target": "source"}).select(frame.columns)
    target = problem.parts["target"]
    return problem.with_parts(graphs=graphs, target=target[rng.permutation(target.height)])


def _columns(problem: Problem, rng: np.random.Generator) -> Problem:
    """Columns in another order."""
    if "sources" not in problem.parts:
        order = rng.permutation(problem.parts["X"].shape[1])
        return replace(problem.with_parts(X=problem.parts["X"][:, order]), columns=order)
    mixed = {n: t[["id", *rng.permutation(t.columns[1:]).tolist()]] for n, t in problem.parts["sources"].items()}
    return problem.with_parts(sources=mixed)


def _sources(problem: Problem, rng: np.random.Generator) -> Problem:
    """Sources and graphs in another order, or domains that are called by other numbers; records stay in theirs."""
    parts = problem.parts
    if "domain" in parts:
        domain = parts["domain"]
        others = np.unique(domain[domain != -1])
        names = dict(zip(others, rng.permutation(others)))
        return problem.with_parts(domain=np.array([names.get(d, d) for d in domain]))
    first, *others = parts["sources"]  # whose records set the order of the instances
    order = [first, *rng.permutation(others).tolist()]
    graphs = {n: parts["graphs"][n] for n in rng.permutation(list(parts["graphs"]))}
    return problem.with_parts(sources={n: parts["sources"][n] for n in order}, graphs=graphs)


def _ids(problem: Problem, rng: np.random.Generator) -> Problem:
    """Instances, users and items by other names."""
    parts = problem.parts
    if "sources" not in parts:
        codes = np.unique(np.vstack([parts["X"], problem.asked]))
        names = dict(zip(codes.tolist(), (100 + rng.permutation(len(codes))).tolist()))
        X = np.array([[names[v] for v in row] for row in parts["X"].tolist()])
        return replace(problem.with_parts(X=X), renamed=names)
    every = pl.concat([t["id"] for t in parts["sources"].values()]).unique(maintain_order=True).to_list()
    names = {i: f"n{k}" for i, k in zip(every, rng.permutation(len(every)))}

    def other(frame: pl.DataFrame, *ends: str) -> pl.DataFrame:
        return frame.with_columns(pl.col(end).replace_strict(names) for end in ends)

    return replace(
        problem.with_parts(
            sources={n: other(t, "id") for n, t in parts["sources"].items()},
            graphs={n: other(t, "source", "target") for n, t in parts["graphs"].items()},
            target=other(parts["target"], "id"),
        ),
        renamed=names,
    )


def _names(problem: Problem, rng: np.random.Generator) -> Problem:
    """Users and items by other names, which sort as those did."""
    codes = np.unique(np.vstack([problem.parts["X"], problem.asked]))
    names = dict(zip(codes.tolist(), np.sort(rng.permutation(1000)[: len(codes)]).tolist()))
    X = np.array([[names[v] for v in row] for row in problem.parts["X"].tolist()])
    return replace(problem.with_parts(X=X), renamed=names)


def _hidden(problem: Problem, rng: np.random.Generator) -> Problem:
    """Labels that are for the curves only, in another order."""
    return problem.with_parts(shown=rng.permutation(problem.parts["shown"]))


def _empty(problem: Problem, rng: np.random.Generator) -> Problem:
    """One more source that records nothing, or one more column of one value."""
    parts = problem.parts
    if "sources" not in parts:
        one = np.full((len(parts["X"]), 1), 7.0)
        return replace(problem.with_parts(X=np.hstack([parts["X"], one])),
                       asked=np.hstack([problem.asked, np.full((len(problem.asked), 1), 7.0)]))  # fmt: skip
    first = hc.Source.from_frame(next(iter(parts["sources"].values())), "id")
    return problem.with_parts(sources={**parts["sources"], "empty": first.take(np.empty(0, np.int64))})


CHANGES = {"rows": _rows, "edges": _edges, "columns": _columns, "sources": _sources, "ids": _ids, "names": _names,
           "hidden": _hidden, "empty": _empty}  # fmt: skip


# Planted problems -----------------------------------------------------------------------------------------------------


def planted(name: str, seed: int, **params: Any) -> Problem:
    """Return a problem that a method can learn something of, drawn by the seed."""
    rng = np.random.default_rng(seed)
    family = next(f for f, known in ((_of_rows, ROWS), (_of_domains, DOMAINS), (_of_entries, ENTRIES),
                                     (_of_data, METHODS)) if name in known)  # fmt: skip
    parts, asked, truth = family(name, rng)
    shown = rng.permutation(truth)
    return Problem(name, params, {**parts, "shown": shown}, asked, truth)


def _linear(X: NDArray, rng: np.random.Generator) -> NDArray:
    """Return a sum of columns (n,) of unit variance and a tenth of noise."""
    weights = rng.normal(size=X.shape[1])
    weights[0] = 2.0
    score = X @ weights
    return score / score.std() + 0.1 * rng.normal(size=len(X))


def _of_rows(name: str, rng: np.random.Generator) -> tuple[dict[str, Any], NDArray, NDArray]:
    n = int(rng.choice([100, 150, 200, 400]))
    X = rng.normal(size=(n + 50, int(rng.integers(1, 5))))
    y = labels_of(_linear(X, rng), name.endswith("Classifier"))
    return {"X": X[:n], "y": y[:n]}, X[n:], y[n:]


def _of_domains(name: str, rng: np.random.Generator) -> tuple[dict[str, Any], NDArray, NDArray]:
    n_domains, n = int(rng.integers(1, 4)), int(rng.choice([100, 200]))
    X = rng.normal(size=(n + 50, int(rng.integers(1, 5))))
    y = labels_of(_linear(X, rng), not name.endswith("Regressor"))
    domain = rng.choice([1, 2, 5][:n_domains], n)
    domain[: n // 2] = -1
    return {"X": X[:n], "y": y[:n], "domain": domain}, X[n:], y[n:]


def _of_entries(name: str, rng: np.random.Generator) -> tuple[dict[str, Any], NDArray, NDArray]:
    modes = 3 if name in ("TensorFactorization", "HTF") else 2
    n, sizes = int(rng.choice([300, 500])), [int(rng.integers(6, 12)) for _ in range(modes)]
    X = np.column_stack([rng.integers(0, size, n + 50) for size in sizes])
    bias = sum(rng.normal(size=size)[X[:, m]] for m, size in enumerate(sizes))
    y = 3.0 + bias + 0.1 * rng.normal(size=n + 50)
    return {"X": X[:n], "y": y[:n]}, X[n:], y[n:]


def _of_data(name: str, rng: np.random.Generator) -> tuple[dict[str, Any], NDArray, NDArray]:
    n, n_tables = int(rng.choice([80, 150, 250])), int(rng.integers(2, 4))
    whole = name.startswith(("OneWeak", "TwoWeak", "BoostedFeature"))
    ids = [f"i{k:03}" for k in range(n)]
    tables = [rng.normal(size=(n, int(rng.integers(2, 4)))) for _ in range(n_tables)]
    score = _linear(np.hstack(tables), rng)
    sources = {}
    for s, X in enumerate(tables):
        rows = np.flatnonzero(rng.random(n) < (1.0 if s == 0 or whole else 0.8))
        frame = {"id": [ids[r] for r in rows]} | {f"s{s}c{j}": X[rows, j] for j in range(X.shape[1])}
        sources[f"s{s}"] = pl.DataFrame(frame)
    graphs = {}
    for g in range(int(rng.integers(1, 3))):
        close = np.argsort(score + 0.3 * rng.normal(size=n))
        graphs[f"g{g}"] = pl.DataFrame({"source": [ids[i] for i in close[:-1]], "target": [ids[i] for i in close[1:]]})
    y = labels_of(score, name.endswith("Classifier"))
    asked = np.sort(rng.permutation(n)[: n // 3])
    known = np.setdiff1d(np.arange(n), asked)
    target = pl.DataFrame({"id": [ids[k] for k in known], "y": y[known]})
    return {"sources": sources, "graphs": graphs, "target": target}, [ids[k] for k in asked], y[asked]
