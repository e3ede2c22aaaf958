"""Transfer problems with one table a domain: land mines, reviews, newsgroups, pictures, people by region.

| problem | domains | target's rows | what is told |
|---|---|---|---|
| landmine | 29 fields, radar features (1-15 overgrown, 16-29 bare) | 690 | mine (6%) or not |
| amazon_reviews | books, dvd, electronics, kitchen; 400 features | 1,999 | for or against, as class 0 and 1 |
| newsgroup_comp_sci, newsgroup_rec_talk | two tasks over the same words | 1,827, 1,545 | of two subjects which |
| office_caltech | amazon, caltech, dslr, webcam; 800 visual words | 295 | 10 things |
| census_regions | adults who moved, by region of previous residence | 982 | income over $50,000 (5 to 9%) |

Words of the newsgroups are cut to the 1,000 in most documents of both tasks (`_reading.words`). That the two tasks
have the same words in the same order is not written in the repository; a linear machine of one tells 73 to 76% of the
other. Census: people of 18 and more with a region of previous residence; region and state of previous residence, the
instance weight, and columns of one value are left out. With 20 labels a rare class may have one row or none: that is
the problem.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import scipy.sparse

from datasets import census, office_caltech
from datasets.suite._problem import Domains, SuiteProblem
from datasets.suite._reading import classes, columns_of, loadmat, words

__all__ = ["PROBLEMS"]

AMAZON = {"books": "books", "dvd": "dvd", "electronics": "elec", "kitchen": "kitchen"}
NEWSGROUPS = {"comp.vs.sci": ("task1", "task2"), "rec.vs.talk": ("Task1", "Task2")}
ADULT = 18
REGION = "region of previous residence"


def load_landmine() -> Domains:
    """Return 29 fields of 445 to 690 places, 9 columns."""
    held = loadmat("daizhongxiang/Federated_Bayesian_Optimization", "LandmineData.mat")
    names = [f"field_{number:02d}" for number in range(1, held["feature"].size + 1)]
    tables = {name: columns_of(cells, "radar") for name, cells in zip(names, held["feature"].ravel())}
    labels = {name: _text(classes(y, ("clear", "mine"))) for name, y in zip(names, held["label"].ravel())}
    return Domains("field_01", tables, labels, "classification")


def load_amazon() -> Domains:
    """Return four kinds of goods, about 2,000 reviews each, 400 columns."""
    held = {
        name: loadmat("scikit-adaptation/skada-bench", f"data/amazon_review/{file}_400.mat")
        for name, file in AMAZON.items()
    }
    tables = {name: columns_of(each["fts"], "word") for name, each in held.items()}
    labels = {name: _text(classes(each["labels"], "class")) for name, each in held.items()}
    return Domains("kitchen", tables, labels, "classification")


def _newsgroups(pair: str) -> Domains:
    """Return the two tasks of a pair of subjects over their common words."""
    held = [loadmat("jiayuzhou/MALSAR", f"data/Newsgroup/{pair}/{task}.mat") for task in NEWSGROUPS[pair]]
    table = words(scipy.sparse.vstack([each["fea"] for each in held]))
    first = held[0]["fea"].shape[0]
    tables = {"task_1": table[:first], "task_2": table[first:]}
    labels = {name: _text(classes(each["gnd"], "class")) for name, each in zip(tables, held)}
    return Domains("task_2", tables, labels, "classification")


def load_comp_sci() -> Domains:
    """Return computers against science: 1,875 and 1,827 texts, 1,000 words."""
    return _newsgroups("comp.vs.sci")


def load_rec_talk() -> Domains:
    """Return recreation against talk: 1,844 and 1,545 texts, 1,000 words."""
    return _newsgroups("rec.vs.talk")


def load_office_caltech() -> Domains:
    """Return four collections of pictures, 157 to 1,123 each, 800 columns, ten classes."""
    frames = office_caltech.frames()
    tables = {name: table.drop("id") for name, table in frames.sources.items()}
    known = dict(frames.target.iter_rows())
    labels = {name: _text([known[each] for each in table["id"]]) for name, table in frames.sources.items()}
    return Domains("webcam", tables, labels, "classification")


def load_census() -> Domains:
    """Return five regions of previous residence, 146 to 1,778 people each, categories and numbers."""
    frames = census.frames()
    people = frames.target.join(frames.sources["structured"], on="id", maintain_order="left")
    people = people.join(frames.sources["unstructured"], on="id", maintain_order="left")
    people = people.filter((pl.col("age") >= ADULT) & (pl.col(REGION) != "Not in universe")).sort("id")
    left_out = ["id", "y", REGION, "state of previous residence"]
    left_out += [name for name in people.columns if people[name].n_unique() == 1]
    regions = {name.lower(): people.filter(pl.col(REGION) == name) for name in sorted(people[REGION].unique())}
    tables = {name: region.drop(left_out) for name, region in regions.items()}
    labels = {name: _text(region["y"].to_list()) for name, region in regions.items()}
    return Domains("northeast", tables, labels, "classification")


def _text(labels: list[str]) -> np.ndarray:
    return np.array(labels, dtype=object)


def _entry(name: str, family: str, half: str, load: object, story: str) -> SuiteProblem:
    return SuiteProblem(name, family, ("transfer",), task="classification", half=half, load=load, story=story)


PROBLEMS = (
    _entry(
        "census_regions",
        "census_regions",
        "choosing",
        load_census,
        "5,647 adults who moved: is the income over $50,000? A domain is where they lived before.",
    ),
    _entry(
        "landmine",
        "landmine",
        "choosing",
        load_landmine,
        "14,820 places in 29 fields: is there a mine? Nine columns of radar; a domain is a field.",
    ),
    _entry(
        "amazon_reviews",
        "amazon_reviews",
        "choosing",
        load_amazon,
        "7,996 reviews of four kinds of goods: is it for or against? 400 columns of words.",
    ),
    _entry(
        "office_caltech",
        "office_caltech",
        "choosing",
        load_office_caltech,
        "2,533 pictures of four collections: which of ten things? 800 columns of visual words.",
    ),
    _entry(
        "newsgroup_comp_sci",
        "newsgroup_cross",
        "reporting",
        load_comp_sci,
        "3,702 texts about computers or science, from other groups in each of two domains: which of the two?",
    ),
    _entry(
        "newsgroup_rec_talk",
        "newsgroup_cross",
        "reporting",
        load_rec_talk,
        "3,389 texts of recreation or talk, from other groups in each of two domains: which of the two?",
    ),
)
