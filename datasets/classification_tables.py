"""Five classifications of the heteroscedastic learning paper: breast_cancer, diabetes, thyroid, german, heart.

One table and two classes each, read from MATLAB files. All but the diabetes table have been standardised or scaled by
whoever made this copy, so that nominal columns are numbers too.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets._fetch import RemoteFile, fetch
from hetcore.data import HetData

__all__ = ["BREAST_CANCER", "CLASSIFICATIONS", "DIABETES", "GERMAN", "HEART", "THYROID", "frames"]


def _file(name: str, sha256: str) -> RemoteFile:
    repository, commit = "Devn913/AGMR_entropy_sparse", "7d5f7cfd8ca4c0f7130bfda3201084db5c093174"
    return RemoteFile(repository, commit, f"twin_datasets/{name}.mat", sha256)


FILES = {
    "breast_cancer": _file(
        "New_datasets/breast_cancer", "a877c59fdbfe0547f93444332ab665b63027d87be35c6a0c2ae58999407ba599"
    ),
    "diabetes": _file("pimadiabetes", "6be5ba7095ffe5ae5e3381584f0753a89a9bc082b744f882c6e438bc28dfb139"),
    "thyroid": _file("New_datasets/thyroid", "25717045132047fc9b6ad0c2d1f9344cdcd0bf990bc496a8de1827ff430b2e8b"),
    "german": _file("New_datasets/german", "fbf291548057785f1129ff9197281725a19b971c667c07eb936d35d303208d9b"),
    "heart": _file("heart-statlog", "332c22afe9d1d4709fbe6f8121230e9ac1306871c954d6e08552879d8e366ccb"),
}
COLUMNS = {
    "breast_cancer": "age menopause tumor_size inv_nodes node_caps deg_malig breast breast_quad irradiat",
    "diabetes": "pregnancies glucose pressure skin insulin bmi pedigree age",
    "thyroid": "t3_resin thyroxin triiodothyronine tsh tsh_change",
    "german": "status duration history purpose amount savings employment rate personal debtors residence property age "
    "plans housing credits job dependants telephone foreign",
    "heart": "age sex chest_pain pressure cholesterol sugar ecg max_rate angina oldpeak slope vessels thal",
}
CLASSES = {
    "breast_cancer": ("no recurrence", "recurrence"),
    "diabetes": ("healthy", "diabetes"),
    "thyroid": ("normal", "diseased"),
    "german": ("good", "bad"),
    "heart": ("absent", "present"),
}
ZERO_IS_MISSING = {"diabetes": ("glucose", "pressure", "skin", "insulin", "bmi")}


def frames(name: str) -> Frames:
    """Return one of the tables as polars frames: ids are "patient-001", ..., zeros that mean missing are null.

    Parameters
    ----------
    name : str
        A key of `FILES`.
    """
    from scipy.io import loadmat

    content = loadmat(fetch(FILES[name]))
    cells, codes = np.asarray(content["data"], np.float64), content["target"].ravel() > 0
    names, thing = COLUMNS[name].split(), "customer" if name == "german" else "patient"
    ids = pl.Series("id", [f"{thing}-{row:04d}" for row in range(1, len(cells) + 1)])
    empty = [pl.col(column).replace(0.0, None) for column in ZERO_IS_MISSING.get(name, ())]
    table = pl.DataFrame(cells, schema=names).with_columns(empty).insert_column(0, ids)
    target = pl.DataFrame([ids, pl.Series("y", [CLASSES[name][int(code)] for code in codes])])
    return Frames({"features": table}, {}, target, {"features": dict.fromkeys(names, "real")})


def _entry(name: str, title: str, story: str, citation: str) -> Dataset:
    def load() -> HetData:
        return assemble(frames(name))

    terms = "UCI Machine Learning Repository; the repository of this copy states no terms."
    return Dataset(
        name, title, story, task="classification", load=load, licence=terms, citation=citation, files=(FILES[name],)
    )


BREAST_CANCER = _entry(
    "breast_cancer", "Breast cancer (Ljubljana)", "277 patients: tell whether the cancer comes back.",
    "Zwitter, M., Soklic, M. (1988). Breast Cancer. UCI Machine Learning Repository. https://doi.org/10.24432/C51P4M",
)  # fmt: skip
DIABETES = _entry(
    "diabetes", "Diabetes (Pima)", "768 women: tell who gets diabetes within five years; zeros are missing values.",
    "Smith, J. W. et al. (1988). Using the ADAP learning algorithm to forecast the onset of diabetes mellitus. Annual "
    "Symposium on Computer Application in Medical Care, 261-265.",
)  # fmt: skip
THYROID = _entry(
    "thyroid", "Diseased thyroids", "215 patients: tell a normal thyroid from a diseased one by five laboratory tests.",
    "Quinlan, R. (1986). Thyroid Disease (new-thyroid). UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5D010",
)  # fmt: skip
GERMAN = _entry(
    "german", "German credit", "1,000 customers: tell good credit risks from bad ones.",
    "Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5NC77",
)  # fmt: skip
HEART = _entry(
    "heart", "Heart (Statlog)", "270 patients: tell whether heart disease is present.",
    "Statlog (Heart). UCI Machine Learning Repository. https://doi.org/10.24432/C57303",
)  # fmt: skip
CLASSIFICATIONS = (BREAST_CANCER, DIABETES, THYROID, GERMAN, HEART)
