"""Random problems for every method: tables, graphs, records, domains, labels, weights, missing values and parameters.

    case = data.draw(cases("GBCClassifier"))
    case.fitted()

`tests/contract/test_properties_methods.py` holds each fit to its laws, on a few hundred problems for each method;
`benchmarks/reliability/random_cases.py` does so on as many as one likes. Hypothesis draws what a problem
is like and a seed, the seed draws the numbers, so that a problem that breaks a law becomes a small one.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from hypothesis import strategies as st
from numpy.typing import NDArray

import hetcore as hc
from hetcore.registry import find

__all__ = ["METHODS", "Case", "cases", "settings_of"]

MOST, LARGE = 24, 2000
"""Rows at most, and at most in one problem of `EVERY` where large ones are asked for."""
EVERY = 20
SCALES = ((0,), (0, 0, -20, 20), (0, -300, 300))
KINDS = ("normal", "few", "constant", "missing", "label", "one far away")
seeds = st.integers(0, 2**32 - 1)
sometimes = st.sampled_from([False, False, False, True])


class Case(NamedTuple):
    """A model without a fit, what its fit takes, what predictions are asked for, and whether to fit once more."""

    model: Any
    given: tuple[Any, ...]
    more: dict[str, Any]
    asked: Any
    twice: bool

    def fitted(self) -> Any:
        """Return the model after its fit."""
        return self.model.fit(*self.given, **self.more)


# Numbers --------------------------------------------------------------------------------------------------------------


def _column(rng: np.random.Generator, kind: str, y: NDArray) -> NDArray[np.float64]:
    n = len(y)
    drawn = {
        "normal": lambda: rng.normal(size=n),
        "few": lambda: rng.integers(0, 3, n).astype(float),
        "constant": lambda: np.ones(n),
        "missing": lambda: np.zeros(n),
        "label": lambda: y / max(np.abs(y).max(), 1e-300),
        "one far away": lambda: np.where(np.arange(n) == 0, 1e6, rng.normal(size=n)),
    }
    return drawn[kind]()


@st.composite
def _tables(draw: Any, y: NDArray, missing: bool) -> NDArray[np.float64]:
    """Draw a table (n, d) beside some labels: every kind of column, on every scale, cells missing or not."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(seeds))
    exponents = st.sampled_from(draw(st.sampled_from(SCALES)))
    columns = [_column(rng, kind, y) * 10.0 ** draw(exponents) for kind in kinds]
    X = np.column_stack(columns)
    if missing and draw(st.booleans()):
        X[rng.random(X.shape) < 0.3] = np.nan
        X[:, [kind == "missing" for kind in kinds]] = np.nan
    return X


@st.composite
def _labels(draw: Any, task: str, large: bool, least: int = 4) -> NDArray:
    """Draw labels (n,): classes of all sizes, the second to have two; values on every scale, equal ones too."""
    # of large ones as many below 200 rows as above: the others would take nearly all of the time
    more = large and draw(st.integers(1, EVERY)) == EVERY
    most = int(MOST * (LARGE / MOST) ** draw(st.floats(0, 1))) if more else MOST
    n, rng = draw(st.integers(least, most)), np.random.default_rng(draw(seeds))
    if task == "classification":
        y = rng.integers(0, draw(st.integers(2, 4)), n)
        y[:4] = 0, 1, 0, 1
        return y
    y = rng.normal(size=n) if draw(st.booleans()) else rng.integers(-1, 2, n).astype(float)
    y = np.zeros(n) + draw(st.sampled_from([0.0, 1.0])) if draw(st.integers(0, 9)) == 0 else y
    return y * 10.0 ** draw(st.sampled_from(draw(st.sampled_from(SCALES))))


def _chosen(**choices: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: st.sampled_from(values) for name, values in choices.items()})


# Families -------------------------------------------------------------------------------------------------------------


@st.composite
def _rows(draw: Any, name: str, large: bool) -> Case:
    """Draw a problem of one table (n, d) with weights or without."""
    task = "classification" if name.endswith("Classifier") else "regression"
    y = draw(_labels(task, large))
    X = draw(_tables(y, missing=name.startswith("HGBM")))
    names = np.array(["ant", "bee", "cat", "dog"])[y] if task == "classification" else y
    more: dict[str, Any] = {}
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        weights = rng.choice([0.0, 1.0, 1e-6, 3.0], len(y))
        weights[:4] = 1.0
        more["sample_weight"] = weights * 10.0 ** draw(st.sampled_from([0, -10, 10]))
    if draw(st.booleans()):
        more["eval_set"] = (X[:4], names[:4])
    params = draw(ROWS[name])
    return Case(METHODS[name](**params), (X, names), more, X, draw(sometimes))


@st.composite
def _domains(draw: Any, name: str, large: bool) -> Case:
    """Draw a problem of a target domain and up to three source domains."""
    numbers = name.endswith("Regressor")
    y = draw(_labels("regression" if numbers else "classification", large, least=8))
    X = draw(_tables(y, missing=False))
    domain = np.random.default_rng(draw(seeds)).choice([-1, 1, 2, 5][: draw(st.integers(1, 4))], len(y))
    domain[:4] = -1
    names = y.copy() if numbers else np.array(["ant", "bee", "cat", "dog"])[y].astype(object)
    if draw(st.booleans()):
        names[6:][::3] = np.nan if numbers else None
    more = {"eval_set": (X[:4], names[:4].astype(float if numbers else str))} if draw(st.booleans()) else {}
    return Case(METHODS[name](**draw(DOMAINS[name])), (X, names, domain), more, X, draw(sometimes))


@st.composite
def _entries(draw: Any, name: str, large: bool) -> Case:
    """Draw observed entries of a matrix or of a tensor of three modes; some codes are asked for that no entry had."""
    n_modes = 3 if name in ("TensorFactorization", "HTF") else 2
    y = draw(_labels("regression", large, least=1))
    rng = np.random.default_rng(draw(seeds))
    X = rng.integers(0, draw(st.integers(1, 8)), (len(y), n_modes))
    codes = X.astype(str).astype(object) if draw(st.booleans()) else X
    asked = np.vstack([codes, [["9"] * n_modes if codes.dtype == object else [99] * n_modes]])
    more = {"eval_set": (codes[::2], y[::2])} if draw(st.booleans()) else {}
    return Case(METHODS[name](**draw(ENTRIES[name])), (codes, y), more, asked, draw(sometimes))


@st.composite
def _graphs(draw: Any, ids: list[str], least: int) -> dict[str, pl.DataFrame]:
    """Draw up to two graphs over the ids and an id that no table has; a star, no edge at all, edges twice."""
    graphs, every = {}, [*ids, "elsewhere"]
    for g in range(draw(st.integers(least, 2))):
        rng, n = np.random.default_rng(draw(seeds)), draw(st.sampled_from([0, 3, 12, 40]))
        ends = rng.integers(0, len(every), (n, 2))
        if draw(st.booleans()):
            ends[:, 0] = 0
        weights = rng.choice([1.0, 1e-9, 1e9, 0.5], n) if draw(st.booleans()) else np.ones(n)
        columns = {"source": [every[a] for a in ends[:, 0]], "target": [every[b] for b in ends[:, 1]]}
        schema = {"source": pl.String, "target": pl.String, "weight": pl.Float64}
        graphs[f"g{g}"] = pl.DataFrame(columns | {"weight": weights}, schema=schema)
    return graphs


@st.composite
def _sources(draw: Any, ids: list[str], y: NDArray, arrays: bool) -> dict[str, Any]:
    """Draw tables with numbers and words, or arrays, that hold some of the ids each."""
    sources: dict[str, Any] = {}
    for s in range(draw(st.integers(1 + arrays, 3))):
        rng = np.random.default_rng(draw(seeds))
        whole = arrays and s == 0
        rows = np.flatnonzero(rng.random(len(ids)) < (1.0 if whole else draw(st.sampled_from([0.3, 0.8, 1.0, 1.0]))))
        rows = rows if rows.size else np.array([0])
        names = [ids[r] for r in rows]
        if arrays and not whole and draw(st.booleans()):
            sources[f"s{s}"] = hc.Source(names, rng.normal(size=(len(rows), 2, 3)).astype(np.float32))
            continue
        X = draw(_tables(y[rows], missing=True))
        columns: dict[str, Any] = {f"c{j}": pl.Series(x).fill_nan(None) for j, x in enumerate(X.T)}
        if not whole and draw(st.booleans()):
            columns["word"] = [None if rng.random() < 0.2 else str(v) for v in rng.integers(0, 4, len(rows))]
        sources[f"s{s}"] = pl.DataFrame({"id": names, **columns})
    return sources


@st.composite
def _hetdata(draw: Any, name: str, large: bool) -> Case:
    """Draw tables, graphs and labels for some of the instances."""
    task = "classification" if name.endswith("Classifier") else "regression"
    two_learners = name in ("OneWeakLearnerClassifier", "TwoWeakLearnerClassifier", "BoostedFeatureNetworkClassifier")
    y = draw(_labels(task, large))
    ids = [f"i{k}" for k in range(len(y))]
    sources, graphs = draw(_sources(ids, y, two_learners)), draw(_graphs(ids, name[1:3] == "GB"))
    names = np.array(["ant", "bee", "cat", "dog"])[y] if task == "classification" else y
    known = np.random.default_rng(draw(seeds)).random(len(y)) < draw(st.sampled_from([0.3, 0.7, 1.0]))
    known[:2] = True
    data = hc.HetData(sources, graphs, ([i for i, k in zip(ids, known) if k], names[known]), task=task)
    hidden = {i: label for i, label, k in zip(ids, names, known) if not k and label in names[known]}
    truth = [hidden.get(i) for i in data.ids]
    # labels of which none is scored would be a warning, and no test of what is scored
    more = {"eval_y": truth} if draw(st.booleans()) and any(each is not None for each in truth) else {}
    return Case(METHODS[name](**draw(HETDATA[name])), (data,), more, data, draw(sometimes))


# Parameters: few rounds, and all of each domain -----------------------------------------------------------------------

_HGBM = dict(
    n_iterations=[1, 3], learning_rate=[0.1, 1.0], deviation_rate=[0.05, 1.0], max_depth=[-1, 2],
    min_samples_leaf=[1, 5], l2=[0.0, 1.0], deviation_l2=[1e-3, 5.0], subsample=[0.5, 1.0], column_sample=[0.5, 1.0],
    weighting=[0.0, 0.5, 1.0], folds=[1, 3], patience=[None, 1], as_printed=[False, True],
    omega=[None, "rows", "log"],
)  # fmt: skip
ROWS = {
    "HGBMClassifier": _chosen(**_HGBM, link=["flips", "sigmoid"]),
    "HGBMRegressor": _chosen(**_HGBM, link=["gaussian", "sigmoid"], calibrated=[True, False], blend=[True, False]),
    "HeteroscedasticLinearRegression": _chosen(
        n_iterations=[1, 20], l2=[0.0, 1e-3, 10.0], deviation_l2=[0.0, 1.0], deviation=["learned", "constant"]
    ),
    "HLR": _chosen(fit_intercept=[True, False]),
}
_KERNEL = dict(kernel=["linear", "rbf"], gamma=["scale", 0.5], C=[1e-3, 1.0, 1e6])
_BOOSTED = dict(n_iterations=[1, 4], max_depth=[1, 3], source_rate=["hedge", "ratio"])
DOMAINS = {
    "RidgeTransferClassifier": _chosen(**_KERNEL),
    "TransferClassifier": _chosen(random_state=[0, 1]),
    "TransferRegressor": _chosen(random_state=[0, 1]),
    "TargetSVM": _chosen(**_KERNEL),
    "MultiKTClassifier": _chosen(**_KERNEL, balanced=[True, False]),
    "TransferForestClassifier": _chosen(gamma=[0.0, 0.8, 1.0], n_iterations=[1, 2], max_depth=[1, 4]),
    "TrAdaBoostClassifier": _chosen(**_BOOSTED, vote=["later half", "all"]),
    "MultiSourceTrAdaBoostClassifier": _chosen(**_BOOSTED),
    "TaskTrAdaBoostClassifier": _chosen(n_iterations=[1, 4], max_depth=[1, 3], gamma=[0.0, 0.5]),
    "WeightedMultiSourceTrAdaBoostClassifier": _chosen(
        **_BOOSTED, eta=["linear", 0.0, 0.5, 1.0], update=["exponential"]
    ),
}
_FACTORS = dict(
    n_factors=[0, 2], n_iterations=[1, 4], learning_rate=[0.07, 1.0, 10.0], regularisation=[0.0, 0.1, 1e3],
    regularisation_power=[0.0, 1.0], bias_regularisation=[0.0, 0.02], clip=[True, False],
    validation_fraction=[0.0, 0.3], patience=[1, 5], as_printed=[False, True], random_state=[0],
)  # fmt: skip
_DEVIATIONS = dict(
    n_deviation_factors=[0, 1], deviation_learning_rate=[0.05, 10.0], deviation_regularisation=[None, 0.0],
    deviation_folds=[0, 2], deviation_start=[1, 2], deviation_epochs=[1, 3], base_variance=[0.1, 1e6],
)  # fmt: skip
ENTRIES = {
    "MatrixFactorization": _chosen(**_FACTORS),
    "TensorFactorization": _chosen(**_FACTORS),
    "HMF": _chosen(**_FACTORS, **_DEVIATIONS),
    "HTF": _chosen(**_FACTORS, **_DEVIATIONS),
}
_GBC = dict(
    lambda0=[0.0, 0.3, 10.0, "auto"], lambda1=[0.0, 0.3, 10.0, "auto"], n_iterations=[1, 4],
    learning_rate=[0.1, 1.0, 10.0],
    max_depth=[1, 3, -1], min_samples_leaf=[1, 5], subsample=[0.3, 1.0], column_sample=[0.3, 1.0],
    sharpness=["auto", 1.0, 30.0], base_learner=["both", "kernel", "tree"],
    join_tables=[True, False],
    weights=["learned", "entropy", "softmax", "equal"], pull=["unlabelled", "all"],
    schedule=["sequential", "parallel"], as_printed=[False, True],
)  # fmt: skip
_STAGES = dict(
    n_iterations=[1, 2], first_trees=[1, 4], trees_per_stage=[1, 2], learning_rate=[0.05, 1.0],
    max_depth=[None, 1, -1], min_samples_leaf=[None, 1], l2=[0.0, 1.0], subsample=[0.5, 1.0],
    column_sample=[0.5, 1.0], folds=[2, 5], select_stages=[True, False], patience=[1, 20],
)  # fmt: skip
_LEAF = dict(leaf=["mean", "median"], as_printed=[False, True])
_NEIGHBORS = dict(
    summary=["mean", "median"], shrinkage=[0.0, 3.0], inferred_weight=[0.0, 0.3, 1.0], edge_weights=[True, False],
    counts=[True, False], no_neighbor=[None, "zero"], sweeps=[None, 1, 3], tol=[0.0, 1e-3], damping=[0.0, 0.5],
    direction=["both", "in", "out"], hops=[0, 1, 2],
)  # fmt: skip
_NETWORK = dict(max_depth=[1, 3], hidden=[(3,)], random_state=[0])
_LEARNERS = dict(
    **_NETWORK, order=[1, 2], step=["newton", "grid", "fixed"], hessian=["printed", "exact"], n_iterations=[1, 2],
    inner_iterations=[1], learning_rate=[0.5, 1.0], subsample=[0.5, 1.0], min_samples_leaf=[1, 20], epochs=[1],
)  # fmt: skip
HETDATA = {
    "GBCClassifier": _chosen(**_GBC),
    "GBCRegressor": _chosen(**_GBC),
    "GBRegressor": _chosen(**_STAGES, **_LEAF),
    "RGBRegressor": _chosen(**_STAGES, **_NEIGHBORS, **_LEAF),
    "MGBRegressor": _chosen(**_STAGES, **_NEIGHBORS, **_LEAF, rounds=["random", "cover"], n_rounds=[1, 2],
        first_rf2=["zero", "target"], estimate=["first", "sum"]),
    "MGBClassifier": _chosen(**_STAGES, **_NEIGHBORS),
    "OneWeakLearnerClassifier": _chosen(**_LEARNERS),
    "TwoWeakLearnerClassifier": _chosen(**_LEARNERS),
    "BoostedFeatureNetworkClassifier": _chosen(
        **_NETWORK, features=["boosted", "raw", "none"], network=["scikit-learn"],
        n_stages=[1, 3], n_iterations=[1, 2],
    ),
}  # fmt: skip
FAMILIES = ((_rows, ROWS), (_domains, DOMAINS), (_entries, ENTRIES), (_hetdata, HETDATA))
METHODS = {name: getattr(hc, name) for _, family in FAMILIES for name in sorted(family)}


def _declared(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return the strategy of parameters for a method that has none above: few rounds, and values of the domains."""
    values = {}
    for each in find(name)._parameters.values():
        few = [value for value in (0, 1, 2, 0.0, 0.3, 1.0, None, True, False) if value in each.domain]
        values[each.name] = [each.default, *each.domain.choices, *few] if each.name != "n_iterations" else [1, 3]
    return _chosen(**values)


def settings_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return the strategy of a method's parameters."""
    return next(known[name] for _, known in FAMILIES if name in known)


def cases(name: str, large: bool = False) -> st.SearchStrategy[Case]:
    """Return the strategy of random problems for a method; `large` ones have up to 2,000 rows now and then."""
    for family, known in FAMILIES:
        if name in known:
            return family(name, large)
    taken = inspect.signature(find(name).fit).parameters
    family, known = FAMILIES[3 if "data" in taken else 1 if "sample_domain" in taken else 0]
    METHODS[name], known[name] = find(name), _declared(name)
    return family(name, large)
