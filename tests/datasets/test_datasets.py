"""The data sets: their sizes and known facts, and the cache of downloaded files.

The real data are read where they are already (HETCORE_DATA, else ../shared/data); without them those tests are skipped.
"""

import hashlib
import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import requests

import datasets
from datasets import _fetch, _links, movies, terrorist
from hetcore.errors import DataError, ParameterError
from hetcore.metrics import residual_autocorrelation
from studio.messages import explained

REAL = Path(os.environ.get("HETCORE_DATA", Path(__file__).parents[3] / "shared" / "data"))
DOWNLOADED = [name for name in datasets.names() if datasets.info(name).files]


def has_files(name):
    return all((REAL / file.name).is_file() for file in datasets.info(name).files)


def needs(name):
    return pytest.mark.skipif(not has_files(name), reason=f"the files of {name} are not in {REAL}; set HETCORE_DATA")


@pytest.fixture
def real_cache(monkeypatch):
    monkeypatch.setenv("HETCORE_DATA", str(REAL))


def test_the_opening_example_comes_first_and_needs_no_network():
    assert datasets.names()[0] == "digits_views"
    assert datasets.info("digits_views").files == ()


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in DOWNLOADED])
def test_the_size_of_a_download_is_that_of_its_files(name):
    files = datasets.info(name).files
    assert datasets.info(name).size == sum((REAL / file.name).stat().st_size for file in files)


@pytest.mark.parametrize("name", datasets.names())
def test_every_entry_tells_what_a_user_must_know(name):
    entry = datasets.info(name)
    assert entry.name == name and entry.task in ("classification", "regression")
    assert all(len(text) > 10 for text in (entry.title, entry.story, entry.licence, entry.citation))
    assert "\n" not in entry.story


@pytest.mark.parametrize("name", DOWNLOADED)
def test_every_file_is_fixed_by_commit_and_checksum(name):
    for file in datasets.info(name).files:
        assert re.fullmatch(r"[0-9a-f]{40}", file.commit) and re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.address == f"https://raw.githubusercontent.com/{file.repository}/{file.commit}/{file.path}"


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ParameterError, match="'nope' is no data set: give one of digits_views, mfeat"):
        datasets.load("nope")


CONTENT = b"a,b\n1,2\n"
FILE = _fetch.RemoteFile("owner/repo", "0" * 40, "folder/table.csv", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HETCORE_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def offline(monkeypatch):
    def refuse(url, **_):
        raise requests.exceptions.ConnectionError(f"no route to {url}")

    monkeypatch.setattr(requests, "get", refuse)


def put(cache, content):
    path = cache / "owner/repo/folder/table.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_a_file_in_the_cache_is_used_in_place(cache, offline):
    path = put(cache, CONTENT)
    assert _fetch.fetch(FILE) == path
    assert sorted(p.name for p in cache.rglob("*") if p.is_file()) == ["table.csv"]


def test_a_changed_file_is_refused_and_left_alone(cache, offline):
    path = put(cache, CONTENT[:-1])
    with pytest.raises(DataError, match="delete it and load the data set again"):
        _fetch.fetch(FILE)
    assert path.read_bytes() == CONTENT[:-1]


def test_offline_says_what_to_do(cache, offline):
    with pytest.raises(DataError) as error:
        _fetch.fetch(FILE)
    for part in (FILE.address, "ConnectionError", "HETCORE_DATA", str(cache / FILE.name), "digits_views"):
        assert part in str(error.value)
    assert explained(error.value).endswith("connect to the network and load again.")


class Answer:
    """As much of a response as the downloader reads."""

    headers = {"content-length": str(len(CONTENT))}

    def __init__(self, content):
        self.content = content

    def raise_for_status(self):
        pass

    def iter_content(self, chunk_size):
        yield self.content

    def close(self):
        pass


def test_a_download_goes_to_the_cache_and_is_asked_for_once(cache, monkeypatch):
    asked = []
    monkeypatch.setattr(requests, "get", lambda url, **_: asked.append(url) or Answer(CONTENT))
    assert _fetch.fetch(FILE).read_bytes() == CONTENT
    assert _fetch.fetch(FILE) == cache / "owner/repo/folder/table.csv"
    assert asked == [FILE.address]


def test_a_download_with_another_checksum_is_refused_and_not_kept(cache, monkeypatch):
    monkeypatch.setattr(requests, "get", lambda url, **_: Answer(b"<html>not found</html>"))
    with pytest.raises(DataError, match="could not be downloaded .its SHA-256 is another"):
        _fetch.fetch(FILE)
    assert not (cache / "owner/repo/folder/table.csv").exists()


@pytest.mark.parametrize("answer", [None, b"<html>not found</html>"], ids=["offline", "another checksum"])
def test_a_failed_download_leaves_no_folder_that_it_made(cache, offline, monkeypatch, answer):
    if answer:
        monkeypatch.setattr(requests, "get", lambda url, **_: Answer(answer))
    (cache / "owner").mkdir()
    with pytest.raises(DataError):
        _fetch.fetch(FILE)
    assert list(cache.rglob("*")) == [cache / "owner"]
    monkeypatch.setenv("HETCORE_DATA", str(cache / "new"))
    with pytest.raises(DataError):
        _fetch.fetch(FILE)
    assert not (cache / "new").exists()


def test_without_the_variable_the_users_cache_is_taken(monkeypatch):
    monkeypatch.delenv("HETCORE_DATA", raising=False)
    assert _fetch.cache_folder().parts[-2:] == ("hetcore", "data")


def test_nearest_edges_link_a_pair_if_either_is_near():
    edges = _links.nearest_edges(np.array(["a", "b", "c", "d"]), np.array([[0.0], [1.0], [2.5], [9.0]]), k=1)
    assert set(edges.iter_rows()) == {("a", "b"), ("b", "c"), ("c", "d")}


def test_shared_edges_count_people_over_columns_and_skip_null():
    films = pl.DataFrame(
        {"id": ["f", "g", "h", "i"], "one": ["x", "y", None, None], "two": ["y", "x", "x", None]},
    )
    edges = _links.shared_edges(films, ["one", "two"])
    assert set(edges.iter_rows()) == {("f", "g", 2.0), ("f", "h", 1.0), ("g", "h", 1.0)}


def test_standardized_leaves_a_constant_column_at_zero():
    columns = _links.standardized(np.array([[1.0, 7.0], [3.0, 7.0]]))
    assert columns.tolist() == [[-1.0, 0.0], [1.0, 0.0]]


def share_within(data, graph):
    a, b, _ = data.graphs[graph].edges()
    return (data.y[a] == data.y[b]).mean()


@needs("mfeat")
def test_mfeat_has_the_sizes_of_the_paper(real_cache):
    data = datasets.load("mfeat")
    columns = {name: source.n_columns for name, source in data.sources.items()}
    assert columns == {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47}
    assert data.ids[[0, -1]].tolist() == ["digit-0001", "digit-2000"]
    assert {label: (data.y == label).sum() for label in data.classes} == dict.fromkeys("0123456789", 200)
    assert share_within(data, "mor") == pytest.approx(0.669, abs=0.005)
    assert share_within(data, "mor_noisy") == pytest.approx(0.325, abs=0.01)
    assert data.sources["fou"].frame[0, 0] == pytest.approx(0.065882)
    assert [finding.kind for finding in data.report] == ["label_order"]  # the digits lie in order in the files


@needs("terrorist_attacks")
def test_terrorist_attacks_have_their_classes_and_edges(real_cache):
    data = datasets.load("terrorist_attacks")
    sizes = {"arson": 31, "bombing": 562, "kidnapping": 179, "NBCR": 8, "other": 15, "weapon": 498}
    assert {label: int((data.y == label).sum()) for label in data.classes} == sizes
    assert {name: graph.n_edges for name, graph in data.graphs.items()} == {
        "location": 3172,
        "location_organisation": 571,
    }
    assert [(graph.degree == 0).sum() for graph in data.graphs.values()] == [648, 1033]
    assert set(data.sources["attributes"].kinds.values()) == {"binary"}
    assert "Unknown_19961112" in data.position


@needs("terrorist_attacks")
def test_the_noisy_attributes_are_the_attributes_and_noise(real_cache):
    frames = terrorist.frames(noise_sd=0.5, seed=1)
    difference = frames.sources["attributes_noisy"].drop("id") - frames.sources["attributes"].drop("id")
    assert difference.to_numpy().std() == pytest.approx(0.5, abs=0.005)
    assert difference.to_numpy().mean() == pytest.approx(0.0, abs=0.005)


@needs("movie_ratings")
def test_movie_ratings_have_the_known_correlations_along_edges(real_cache):
    data = datasets.load("movie_ratings")
    assert (data.n, data.target_kind) == (3029, "regression")
    assert data.mask.sum(axis=1).tolist() == [3029, 2361, 3029, 3029, 3029, 3029]
    along = {name: residual_autocorrelation(data.y, graph) for name, graph in data.graphs.items()}
    for role, expected in {"director": 0.38, "writer": 0.31, "actor": 0.12, "producer": 0.21}.items():
        assert along[role] == pytest.approx(expected, abs=0.006)
    assert data.y.std() == pytest.approx(1.02, abs=0.01)
    assert str(data.report) == "Nothing to report."


@needs("movie_ratings")
def test_the_film_join_is_by_id_then_by_exact_title_and_year(real_cache):
    films = movies.rated_films()
    assert films["rating_by_id"].is_not_null().sum() == 2368
    both = films.drop_nulls(["rating_by_id", "rating_by_title"])
    assert np.corrcoef(both["rating_by_id"], both["rating_by_title"])[0, 1] > 0.99
    assert films["id"].n_unique() == films.height
    twice = films.filter(pl.col("id").str.contains("[", literal=True))
    assert twice["title"].unique().to_list() == ["Dora and the Lost City of Gold"]


@needs("movie_ratings")
def test_no_column_of_a_film_is_known_only_after_its_release(real_cache):
    frames = movies.frames()
    columns = {name: table.columns[1:] for name, table in frames.sources.items()}
    flags = columns.pop("genre")
    assert len(flags) == 22 and set(frames.sources["genre"].drop("id").to_numpy().ravel().tolist()) == {0, 1}
    assert columns == {
        "plot": ["plot"],
        "keywords": ["keywords"],
        "mpaa": ["mpaa"],
        "minutes": ["minutes"],
        "year": ["year", "month"],
    }
    minutes, month = frames.sources["minutes"]["minutes"], frames.sources["year"]["month"]
    assert 60 < minutes.min() < minutes.max() < 260 and month.drop_nulls().is_between(1, 12).all()
