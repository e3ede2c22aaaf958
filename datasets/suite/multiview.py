"""Six multi-view sets of ChuanbinZhang's collection: several descriptions of the same things, none with a graph.

In the files every view covers every instance. Here each record stays with probability 0.7 (`_reading.masked`, one seed
a set), so that views overlap only in part, as tables from several places do.

Word views are cut to words in at least 5 documents and of these to the 1,000 commonest (`_reading.words`). The file of
mv_wikipedia calls its 128-wide view "word" and its 10-wide one "SIFT"; by the original paper (Rasiwasia et al. 2010) it
is the other way round (a logistic regression reads 72% of the classes off the 10 columns and 25% off the 128), and here
they are named so. Class names are known for mv_wikipedia only; for the others a class is its number in the file.
mv_webkb is made of the same pages as webkb_universities: both are in the reporting half.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from datasets.suite._problem import CONSENSUS, SuiteProblem
from datasets.suite._reading import classes, columns_of, loadmat, masked, remote, words
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

REPOSITORY = "ChuanbinZhang/Multi-view-datasets"
MIN_WIDE = 1_500
FAMILY = {"mv_webkb": "webkb"}
WIKIPEDIA = ("art", "biology", "geography", "history", "literature", "media", "music", "royalty", "sport", "warfare")


def _loader(file: str, views: tuple[str, ...], prefix: str, names: tuple[str, ...], seed: int) -> Callable[[], HetData]:
    """Return the loader of one set: `views` names its views in the file's order, `names` its classes if known."""

    def load() -> HetData:
        held = loadmat(REPOSITORY, file)
        ids = pl.Series("id", [f"{prefix}-{row:04d}" for row in range(1, len(held["y"]) + 1)])
        tables = {view: _view(cells, view).insert_column(0, ids) for view, cells in zip(views, held["X"].ravel())}
        labels = classes(held["y"].ravel() - 1, names) if names else classes(held["y"], "class")
        target = pl.DataFrame({"id": ids, "y": labels})
        return HetData(masked(tables, seed), {}, target, id_column="id", task="classification")

    return load


def _view(cells: object, name: str) -> pl.DataFrame:
    return words(cells) if cells.shape[1] >= MIN_WIDE else columns_of(cells, name)


def _entry(
    name: str, half: str, file: str, prefix: str, views: tuple[str, ...], seed: int, story: str, names=()
) -> SuiteProblem:
    load, family = _loader(file, views, prefix, names, seed), FAMILY.get(name, name)
    files = (remote(REPOSITORY, file),)
    return SuiteProblem(name, family, CONSENSUS, task="classification", half=half, load=load, story=story, files=files)


PROBLEMS = (
    _entry(
        "mv_3sources",
        "choosing",
        "3Sources.mat",
        prefix="story",
        views=("bbc", "guardian", "reuters"),
        seed=101,
        story="169 news stories: tell the topic, one of six, from the words of three news sources.",
    ),
    _entry(
        "mv_wikipedia",
        "choosing",
        "Wikipedia.mat",
        prefix="article",
        views=("sift", "topics"),
        seed=102,
        story="2,866 articles: tell the subject, one of ten, from 128 shares of a picture and 10 of a text.",
        names=WIKIPEDIA,
    ),
    _entry(
        "mv_100leaves",
        "choosing",
        "100Leaves.mat",
        prefix="leaf",
        views=("shape", "margin", "texture"),
        seed=103,
        story="1,600 leaves: tell the species, one of a hundred, from shape, margin and texture.",
    ),
    _entry(
        "mv_msrc",
        "reporting",
        "MSRC-v5.mat",
        prefix="picture",
        views=("colour", "hog", "gist", "lbp", "centrist"),
        seed=104,
        story="210 pictures: tell what is on them, one of seven, from five views (named by their widths, as is usual).",
    ),
    _entry(
        "mv_bbcsport",
        "reporting",
        "BBCSport.mat",
        prefix="article",
        views=("first_segment", "second_segment"),
        seed=105,
        story="544 sports articles: tell the sport, one of five, from the words of two segments.",
    ),
    _entry(
        "mv_webkb",
        "reporting",
        "WebKB.mat",
        prefix="page",
        views=("anchor_text", "page_text"),
        seed=106,
        story="1,051 web pages: course page or not, from the words of links to them and of the pages.",
    ),
)
