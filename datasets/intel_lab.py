"""Intel Berkeley Research lab: temperature and humidity at 50 places of one floor, every half hour for five days.

The lab's list gives the places of 54 sensors; the copy used here holds 50 of them, in order, and does not say which.
The four of `LEFT_OUT` are those for which nearness of the places explains the correlations of the readings best (0.56
over pairs; 0.50 if the last four were left out), so a place may be that of the next sensor in the list, some four
metres off.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets._dataset import Dataset
from datasets._fetch import RemoteFile, fetch
from hetcore.data import HetData

__all__ = ["INTEL_LAB", "QUANTITIES", "load", "places", "readings"]

QUANTITIES = ("temperature", "humidity")
LEFT_OUT = (8, 19, 33, 50)


def _file(name: str, sha256: str) -> RemoteFile:
    return RemoteFile("littlepretty/SensorPGM", "06c8c980b0724f18247dab31a545c504f99e045b", name, sha256)


FILES = {
    "temperature": (
        _file("intelTemperatureTrain.csv", "20f07cd804b5878206525fb3f53d8a83ce091bf4f07c3b45818f015ba80887be"),
        _file("intelTemperatureTest.csv", "26d84692a7b6f9248b827c9f17e206eae2800d5ae0bc248580871e663ce8cdc5"),
    ),
    "humidity": (
        _file("intelHumidityTrain.csv", "76646fa38b40e9e24784cf8aff0bb1418589c50dc347c0cac841cadfd6c7626e"),
        _file("intelHumidityTest.csv", "6c79d2f4d73b844b070f71dc6dcb9b16440bfccb84fe8ff1b6a559c577b5170b"),
    ),
}
PLACES = np.array([float(number) for number in """
21.5 23 24.5 20 19.5 19 22.5 15 24.5 12 19.5 12 22.5 8 24.5 4 21.5 2 19.5 5 16.5 3 13.5 1 12.5 5 8.5 6 5.5 3 1.5 2 1.5 8
5.5 10 3.5 13 0.5 17 4.5 18 1.5 23 6 24 1.5 30 4.5 30 7.5 31 8.5 26 10.5 31 12.5 26 13.5 31 15.5 28 17.5 31 19.5 26
21.5 30 24.5 27 26.5 31 27.5 26 30.5 31 30.5 26 33.5 28 36.5 30 39.5 30 35.5 24 40.5 22 37.5 19 34.5 16 39.5 14 35.5 10
39.5 6 38.5 1 35.5 4 31.5 6 28.5 5 26.5 2
""".split()]).reshape(54, 2)  # fmt: skip


def places() -> NDArray[np.float64]:
    """Return where the sensors are, (50, 2) in metres from a corner of the floor; see the module's docstring."""
    return np.delete(PLACES, np.array(LEFT_OUT) - 1, axis=0)


def readings() -> NDArray[np.float64]:
    """Return the readings (50 sensors, 240 half hours, 2 quantities): degrees Celsius and per cent."""
    return np.stack([np.hstack([_table(file) for file in FILES[name]]) for name in QUANTITIES], axis=2)


def _table(file: RemoteFile) -> NDArray[np.float64]:
    return np.loadtxt(fetch(file), delimiter=",")


def load() -> HetData:
    """Return the readings as HetData: source "readings" with the columns sensor, time and quantity.

    Values are in standard deviations from the mean of their quantity, so that errors of both count alike.
    """
    tensor = readings()
    scaled = (tensor - tensor.mean(axis=(0, 1))) / tensor.std(axis=(0, 1))
    sensor, time, quantity = (each.ravel() for each in np.indices(tensor.shape))
    columns = {
        "sensor": [f"{s + 1:02d}" for s in sensor],
        "time": [f"{t:03d}" for t in time],
        "quantity": [QUANTITIES[q] for q in quantity],
    }
    ids = [str(record + 1) for record in range(tensor.size)]
    kinds = {"readings": dict.fromkeys(columns, "nominal")}
    target = pl.DataFrame({"id": ids, "y": scaled.ravel()})
    return HetData({"readings": pl.DataFrame({"id": ids} | columns)}, target=target, id_column="id", kinds=kinds)


INTEL_LAB = Dataset(
    name="intel_lab",
    title="Intel lab sensors",
    story="Temperature and humidity at 50 places every half hour for five days: fill in what was not observed.",
    task="regression",
    load=load,
    licence="Published by the MIT CSAIL database group; the terms are not stated.",
    citation="Bodik, P., Hong, W., Guestrin, C., Madden, S., Paskin, M., Thibaux, R. (2004). Intel Berkeley Research "
    "lab data. http://db.csail.mit.edu/labdata/labdata.html",
    files=tuple(file for files in FILES.values() for file in files),
)
