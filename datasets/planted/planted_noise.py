"""Made-up data whose rows are not equally noisy, with the deviation that was planted in each: tables, ratings, sensors.

    table      y = f(x) + sigma(x) e,  sigma rising in one column;   or classes, flipped mostly where one column is high
    ratings    y_ij  = mu + b_i + c_j + U_i V_j + sigma_ij e,        sigma_ij^2  = P_i Q_j + Delta,      P, Q >= 0
    sensors    y_ijk = a day's course by sensor + sigma_ijk e,       sigma_ijk^2 = P_i Q_j R_k + Delta

A few users and items, sensors and hours are erratic: they have most of P, Q and R.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from datasets._dataset import Dataset
from datasets.planted._checks import check_counts, check_least, check_seed, check_shares
from hetcore.data import HetData
from hetcore.errors import ParameterError

__all__ = [
    "PLANTED_FLIPS", "PLANTED_NOISE", "PLANTED_RATINGS", "PLANTED_SENSORS", "Noise",
    "make_flipped", "make_noisy", "make_ratings", "make_sensors", "planted_deviation",
]  # fmt: skip

N_FEATURES = 6
SCALE = 0.4
QUANTITIES = ("temperature", "humidity")


class Noise(NamedTuple):
    """What was planted, aligned with `data.ids`.

    Attributes
    ----------
    signal : (n,) float64 or str
        The label without noise.
    deviation : (n,) float64
        Standard deviation of the noise; for classes the probability in [0, 1] that a label is flipped.
    """

    signal: np.ndarray
    deviation: np.ndarray


def make_noisy(n: int = 1500, spread: float = 1.0, seed: int = 0) -> tuple[HetData, Noise]:
    """Return a table and a number to predict whose noise grows with the third column.

    Parameters
    ----------
    n : int, default=1500
        Rows, at least 10.
    spread : float, default=1.0
        How unequal the noise is, at least 0: 0 gives every row the same deviation.
    seed : int, default=0

    Returns
    -------
    data : HetData
        Source "table" with columns "x_1" ... "x_6", of which the first three matter.
    truth : Noise

    Raises
    ------
    ParameterError
        If a parameter is outside its domain.
    """
    check_counts(n=(n, 10))
    check_least(spread=(spread, 0))
    check_seed(seed)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES))
    signal = np.sin(2.0 * X[:, 0]) + 0.7 * X[:, 1]
    # Of a column that the signal does not use: whoever learns the noise must look for it there.
    deviation = 0.4 * np.exp(0.8 * spread * X[:, 2])
    return _table(X, signal + deviation * rng.standard_normal(n)), Noise(signal, deviation)


def make_flipped(n: int = 1500, flipped: float = 0.15, seed: int = 0) -> tuple[HetData, Noise]:
    """Return a table and two classes, some labels flipped, most of them where the third column is high.

    Parameters
    ----------
    n : int, default=1500
        Rows, at least 10.
    flipped : float, default=0.15
        Share of the labels that are flipped, in [0, 0.25].
    seed : int, default=0

    Returns
    -------
    data : HetData
        Source "table" with columns "x_1" ... "x_6", of which the first three matter.
    truth : Noise

    Raises
    ------
    ParameterError
        If a parameter is outside its domain.
    """
    check_counts(n=(n, 10))
    check_least(flipped=(flipped, 0))
    check_seed(seed)
    if flipped > 0.25:
        raise ParameterError(f"flipped={flipped!r} must be at most 0.25, so that no region loses its sense.")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES))
    true = (np.sin(2.0 * X[:, 0]) + 0.7 * X[:, 1] > 0).astype(int)
    # 1.8 and 0.2 of a half each make the share that was asked for.
    deviation = np.where(X[:, 2] > 0, 1.8, 0.2) * flipped
    seen = np.where(rng.random(n) < deviation, 1 - true, true)
    names = np.array(["no", "yes"])
    return _table(X, names[seen]), Noise(names[true], deviation)


def _table(X: np.ndarray, y: np.ndarray) -> HetData:
    ids = _numbered("row", len(y))
    columns = pl.DataFrame(X, schema=[f"x_{k}" for k in range(1, X.shape[1] + 1)])
    return HetData({"table": columns.insert_column(0, pl.Series("id", ids))}, target=pl.DataFrame({"id": ids, "y": y}))


def make_ratings(
    n_users: int = 200, n_items: int = 150, density: float = 0.5, erratic: float = 0.2, seed: int = 0
) -> tuple[HetData, Noise]:
    """Return ratings of items by users, some of whom rate erratically.

    Parameters
    ----------
    n_users, n_items : int, default=200, 150
        At least 2.
    density : float, default=0.5
        Share of all pairs that are rated, in (0, 1].
    erratic : float, default=0.2
        Share in [0, 1] of users, and of items, with much noise.
    seed : int, default=0

    Returns
    -------
    data : HetData
        Source "ratings" with columns "user" and "item".
    truth : Noise

    Raises
    ------
    ParameterError
        If a parameter is outside its domain.
    """
    check_counts(n_users=(n_users, 2), n_items=(n_items, 2))
    check_shares(density=density, erratic=erratic)
    if density == 0:
        raise ParameterError(f"{density=} must be in (0, 1]: give the share of all pairs that are rated.")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    # Sorted, so that records come in the order of users, as files of ratings do.
    cells = np.sort(rng.permutation(n_users * n_items)[: max(2, round(density * n_users * n_items))])
    user, item = np.divmod(cells, n_items)
    biases = 0.4 * rng.standard_normal(n_users)[user] + 0.4 * rng.standard_normal(n_items)[item]
    U, V = rng.normal(0, SCALE, (n_users, 3)), rng.normal(0, SCALE, (n_items, 3))
    signal = 3.5 + biases + (U[user] * V[item]).sum(axis=1)
    # A product, as the model has it, and a floor that nobody is without.
    deviation = np.sqrt(_loud(n_users, erratic, rng)[user] * _loud(n_items, erratic, rng)[item] + 0.04)
    codes = {"user": _numbered("user", n_users)[user], "item": _numbered("item", n_items)[item]}
    return _records("ratings", codes, signal, deviation, rng)


def make_sensors(n_sensors: int = 24, n_times: int = 96, erratic: float = 0.15, seed: int = 0) -> tuple[HetData, Noise]:
    """Return readings of temperature and humidity by sensors over two days, some sensors and hours erratic.

    Parameters
    ----------
    n_sensors, n_times : int, default=24, 96
        At least 2; a reading every half hour.
    erratic : float, default=0.15
        Share in [0, 1] of sensors, and of times, with much noise.
    seed : int, default=0

    Returns
    -------
    data : HetData
        Source "readings" with columns "sensor", "time" and "quantity"; values in standard deviations of a quantity.
    truth : Noise

    Raises
    ------
    ParameterError
        If a parameter is outside its domain.
    """
    check_counts(n_sensors=(n_sensors, 2), n_times=(n_times, 2))
    check_shares(erratic=erratic)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    sensor, time, quantity = (each.ravel() for each in np.indices((n_sensors, n_times, len(QUANTITIES))))
    day = 2.0 * np.pi * np.arange(n_times) / 48.0
    courses = np.column_stack([np.sin(day), np.cos(day), np.sin(2.0 * day)])[time]
    loads = 1.0 + 0.5 * rng.standard_normal((n_sensors, 3))
    # Humidity falls where temperature rises.
    sign = np.where(quantity == 0, 1.0, -0.8)
    courses = (loads[sensor] * courses * [1.0, 0.6, 0.3]).sum(axis=1)
    signal = sign * courses + 0.3 * rng.standard_normal(n_sensors)[sensor]
    loud = _loud(n_sensors, erratic, rng)[sensor] * _loud(n_times, erratic, rng)[time]
    deviation = np.sqrt(0.5 * loud * np.where(quantity == 0, 1.0, 0.5) + 0.01)
    codes = {
        "sensor": _numbered("sensor", n_sensors)[sensor],
        "time": np.array([f"{t:03d}" for t in range(n_times)])[time],
        "quantity": np.array(QUANTITIES)[quantity],
    }
    return _records("readings", codes, signal, deviation, rng)


def _records(
    name: str, codes: dict[str, np.ndarray], signal: np.ndarray, deviation: np.ndarray, rng: np.random.Generator
) -> tuple[HetData, Noise]:
    y, ids = signal + deviation * rng.standard_normal(len(signal)), _numbered("record", len(signal))
    # Said and not guessed: codes of digits would be taken for numbers.
    kinds = {name: dict.fromkeys(codes, "nominal")}
    target = pl.DataFrame({"id": ids, "y": y})
    return HetData({name: pl.DataFrame({"id": ids} | codes)}, target=target, kinds=kinds), Noise(signal, deviation)


def _loud(count: int, erratic: float, rng: np.random.Generator) -> np.ndarray:
    """Return one half of a variance for each code (count,): little for most, much for the erratic ones."""
    loud = np.full(count, 0.3)
    loud[rng.permutation(count)[: round(erratic * count)]] = 1.8
    return loud


def _numbered(word: str, count: int) -> np.ndarray:
    return np.array([f"{word}-{k:0{len(str(count))}d}" for k in range(1, count + 1)])


MAKERS = {
    "planted_noise": make_noisy,
    "planted_flips": make_flipped,
    "planted_ratings": make_ratings,
    "planted_sensors": make_sensors,
}


def planted_deviation(name: str) -> pl.DataFrame | None:
    """Return the deviation planted in each row of a data set, as "id" and "planted"; None where nothing was."""
    if name not in MAKERS:
        return None
    data, truth = MAKERS[name]()
    return pl.DataFrame({"id": data.ids.astype(str), "planted": truth.deviation})


def _entry(name: str, title: str, story: str, task: str) -> Dataset:
    maker = MAKERS[name]
    cite = f"datasets.{maker.__name__}() with its defaults."
    return Dataset(
        name,
        title,
        story,
        task=task,
        load=lambda: maker()[0],
        licence="Generated here, free for any use.",
        citation=cite,
    )


PLANTED_NOISE = _entry(
    "planted_noise",
    "Planted noise",
    "1,500 made-up rows: a number to predict, whose noise grows with one of six columns.",
    "regression",
)
PLANTED_FLIPS = _entry(
    "planted_flips",
    "Planted flips",
    "1,500 made-up rows, two classes: 15% of the labels are flipped, most of them where one column is high.",
    "classification",
)
PLANTED_RATINGS = _entry(
    "planted_ratings",
    "Planted ratings",
    "15,000 made-up ratings of 150 items by 200 users, some of whom rate erratically.",
    "regression",
)
PLANTED_SENSORS = _entry(
    "planted_sensors",
    "Planted sensors",
    "4,608 made-up readings: 24 sensors over two days, temperature and humidity, some sensors erratic.",
    "regression",
)
