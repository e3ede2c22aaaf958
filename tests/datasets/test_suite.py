"""The open suite: every problem loads with its known size, labels and graphs, and the halves share no family.

The real data are read where they are already (HETCORE_DATA, else ../shared/data); without them those tests are skipped.
"""

import hashlib
import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from datasets import suite
from datasets.suite import _files, _reading, _sources
from hetcore.errors import ParameterError

REAL = Path(os.environ.get("HETCORE_DATA", Path(__file__).parents[3] / "shared" / "data"))
OWN = set(_files.FILES) - {suite.rdatasets.REPOSITORY}  # the outside part has a test of its own
ALL_FILES = [f"{repository}/{path}" for repository in sorted(OWN) for path in _files.FILES[repository][1]]
needs_data = pytest.mark.skipif(
    not all((REAL / file).is_file() for file in ALL_FILES), reason=f"the suite's files are not in {REAL}"
)
SIZES = {  # instances, tables, graphs, classes (0: numbers)
    "heco_acm": (4019, 1, 2, 3),
    "polblogs": (1490, 2, 1, 2),
    "blogcatalog": (5196, 1, 1, 6),
    "tolokers": (5000, 2, 1, 2),
    "webkb_texas": (183, 1, 1, 5),
    "webkb_cornell": (183, 1, 1, 5),
    "webkb_wisconsin": (251, 1, 1, 5),
    "openflights_altitude": (3214, 5, 1, 0),
    "openflights_dst": (2264, 5, 1, 6),
    "uk_leave": (632, 4, 1, 0),
    "uk_turnout": (650, 4, 1, 0),
    "uk_party": (650, 4, 1, 5),
    "mv_3sources": (169, 3, 0, 6),
    "mv_wikipedia": (2866, 2, 0, 10),
    "mv_100leaves": (1600, 3, 0, 100),
    "mv_msrc": (210, 5, 0, 7),
    "mv_bbcsport": (544, 2, 0, 5),
    "mv_webkb": (1051, 2, 0, 2),
    "formula1_place": (3707, 6, 3, 0),
    "formula1_points": (3707, 6, 3, 2),
    "worldcup_margin": (1248, 5, 2, 0),
    "worldcup_position": (4190, 4, 2, 4),
    "bitcoin_otc": (3431, 2, 2, 0),
    "mfeat": (2000, 5, 2, 10),
    "terrorist_attacks": (1293, 2, 2, 6),
    "movie_ratings": (3029, 6, 6, 0),
    "digits_views": (1797, 5, 2, 10),
    "movie_revenue": (3486, 3, 1, 0),
    "spatial_baltimore": (211, 3, 2, 0),
    "spatial_columbus": (49, 3, 1, 0),
    "spatial_georgia": (159, 3, 1, 0),
    "spatial_stlouis": (78, 3, 1, 0),
    "spatial_tokyo": (262, 3, 1, 0),
    "airports_brazil": (131, 1, 1, 4),
    "airports_europe": (399, 1, 1, 4),
    "airports_usa": (1190, 1, 1, 4),
    "berka_loans": (682, 5, 2, 2),
    "mulan_water": (1060, 3, 0, 0),
    "mulan_employment": (334, 7, 0, 0),
    "mulan_tickets": (337, 8, 0, 0),
    "mulan_issues": (1137, 5, 1, 0),
    "student_portuguese": (649, 4, 0, 0),
}
DOMAINS = {  # rows of all domains, domains, rows of the target, classes (0: numbers)
    "webkb_universities": (617, 3, 251, 5),
    "student_two_schools": (1044, 4, 226, 0),
    "census_regions": (5647, 5, 982, 2),
    "landmine": (14820, 29, 690, 2),
    "amazon_reviews": (7996, 4, 1999, 2),
    "office_caltech": (2533, 4, 295, 10),
    "newsgroup_comp_sci": (3702, 2, 1827, 2),
    "newsgroup_rec_talk": (3389, 2, 1545, 2),
    "heart_4hospitals": (920, 4, 294, 2),
}
OF_MANY_USES = [
    each for each in map(suite.problem, suite.names()) if each.kind != ("noise",) and each.half in suite.HALVES
]
DEALT = (  # by kind: a graph, several tables, transfer (webkb has graphs and domains), and one apart
    ["heco_acm", "blogcatalog", "polblogs", "webkb", "tolokers", "spatial_small", "openflights", "airports"]
    + ["uk_constituencies"],
    [
        "mv_3sources",
        "berka_loans",
        "formula1",
        "mv_msrc",
        "worldcup",
        "mv_bbcsport",
        "mv_wikipedia",
        "mulan_multitarget",
    ]
    + ["mv_100leaves"],
    ["census_regions", "webkb", "landmine", "heart_4hospitals", "amazon_reviews", "student_two_schools"]
    + ["office_caltech", "newsgroup_cross"],
    ["bitcoin_otc"],
)
SLOW = {"census_regions", "blogcatalog", "mfeat"}
LEAKS = {
    "formula1_place": ("points", "positionOrder", "laps", "milliseconds"),
    "student_portuguese": ("G1", "G2", "G3"),
    "worldcup_margin": ("score", "result", "win", "draw", "extra_time"),
    "worldcup_position": ("position_code", "goal_keeper", "defender"),
    "uk_party": ("party", "majority", "turnout"),
    "openflights_dst": ("country", "zone", "icao", "utc_offset"),
    "mulan_water": ("49700",),
    "spatial_stlouis": ("HC8893", "PO8893", "HR8893"),
}


def marked(names):
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in names]


@pytest.fixture
def real_cache(monkeypatch):
    monkeypatch.setenv("HETCORE_DATA", str(REAL))


def test_every_problem_has_its_size_noted_here():
    assert {problem.name for problem in OF_MANY_USES} == set(SIZES) | set(DOMAINS)


def test_the_halves_share_no_family_and_each_has_enough():
    families = {
        half: {each.family for use in suite.USES for each in suite.problems(use, half)} for half in suite.HALVES
    }
    assert not families["choosing"] & families["reporting"]
    assert suite.problem("mv_webkb").family == suite.problem("webkb_universities").family == "webkb"
    for half in suite.HALVES:
        assert len(suite.problems("consensus", half)) >= 9
        assert {each.task for each in suite.problems("collective", half)} == {"classification", "regression"}
    assert len(suite.problems("collective")) >= 6 and len(suite.problems("transfer")) >= 8


def test_the_deal_is_by_the_order_of_the_families_checksums():
    tuned = {problem.family for problem in suite.tuned.PROBLEMS}
    dealt = {}
    for families in DEALT:
        order = sorted(families, key=lambda family: hashlib.sha256(family.encode()).hexdigest())
        dealt |= {family: suite.HALVES[place % 2] for place, family in enumerate(order) if family not in dealt}
    found = {each.family: each.half for each in OF_MANY_USES if each.family not in tuned}
    assert found == dealt


def test_every_file_is_fixed_by_commit_and_checksum_and_its_terms_are_reported():
    assert set(_files.FILES) == set(_sources.SOURCES)
    for commit, paths in _files.FILES.values():
        assert re.fullmatch(r"[0-9a-f]{40}", commit)
        assert all(re.fullmatch(r"[0-9a-f]{64}", checksum) for checksum in paths.values())


def test_an_unknown_use_half_or_name_is_refused():
    with pytest.raises(ParameterError, match="use='nope' is not known: give one of consensus"):
        suite.problems("nope")
    with pytest.raises(
        ParameterError, match="half='both' is not known: give 'choosing', 'reporting', 'outside' or None"
    ):
        suite.problems("consensus", "both")
    with pytest.raises(ParameterError, match="name='nope' is no problem of the suite: give one of heco_acm"):
        suite.load("nope")
    with pytest.raises(ParameterError, match="name='mfeat' has no directed graph: give one of polblogs"):
        suite.directed_edges("mfeat")


@needs_data
@pytest.mark.parametrize("name", marked(SIZES))
def test_a_problem_has_its_known_size_labels_and_no_leak_by_name(name, real_cache):
    data, problem = suite.load(name), suite.problem(name)
    assert (data.n, len(data.sources), len(data.graphs), len(data.classes)) == SIZES[name]
    assert data.target_kind == problem.task and data.labelled.all()
    assert data.mask.any(axis=0).all(), "an instance without any record"
    assert all(graph.n_edges > 0 for graph in data.graphs.values())
    columns = {column for source in data.sources.values() for column in source.kinds}
    assert not columns & {"y", "label", "class", "target", *LEAKS.get(name, ())}


@needs_data
@pytest.mark.parametrize("name", marked(DOMAINS))
def test_domains_have_their_known_sizes_and_a_label_a_row(name, real_cache):
    held, problem = suite.load(name), suite.problem(name)
    n_classes = len(set(np.concatenate(list(held.labels.values())).tolist())) if held.task == "classification" else 0
    sizes = {domain: len(table) for domain, table in held.tables.items()}
    assert (sum(sizes.values()), len(sizes), sizes[held.target], n_classes) == DOMAINS[name]
    assert held.task == problem.task and sizes == {domain: len(labels) for domain, labels in held.labels.items()}
    assert all(isinstance(label, str) for label in held.labels[held.target]) or held.task == "regression"
    assert not {column for table in held.tables.values() for column in table.columns} & {"id", "y", "G1", "G2", "G3"}


@needs_data
def test_directed_edges_know_direction_and_sign_and_fit_the_instances(real_cache):
    links, ratings = suite.directed_edges("polblogs"), suite.directed_edges("bitcoin_otc")
    assert len(links) == 19_016 and set(links["weight"]) == {1.0}
    assert ratings["weight"].is_between(-10, 10).all() and (ratings["weight"] < 0).sum() > 500
    for name, edges in (("polblogs", links), ("bitcoin_otc", ratings)):
        assert edges.columns == ["source", "target", "weight"] and edges.select("source", "target").is_unique().all()
        assert set(edges["source"]) | set(edges["target"]) <= set(suite.load(name).ids)


@needs_data
def test_the_target_of_bitcoin_holds_no_rating_of_its_graph(real_cache):
    from datasets.suite import bitcoin

    ratings = bitcoin._ratings()
    user = ratings.filter(pl.col("number") == 3).head(3)
    assert user["early"].to_list() == [True, False, False] and user["day"].is_sorted()
    data = suite.load("bitcoin_otc")
    assert data.y[data.position[user["target"][0]]] == pytest.approx(user["rating"][1:].mean())


@needs_data
def test_the_standings_of_formula1_are_those_before_the_race(real_cache):
    standings = suite.load("formula1_place").sources["standings"]
    rows = dict(zip(standings.ids.tolist(), standings.frame["driver_points"].to_list()))
    assert "2021-01-1" not in rows  # nobody has points before the first race
    assert rows["2021-02-1"] == 25.0 and rows["2021-02-830"] == 18.0  # Bahrain: Hamilton won, Verstappen was second


@needs_data
def test_hospitals_lack_whole_columns(real_cache):
    tables = suite.load("heart_4hospitals").tables
    assert {name: table.width for name, table in tables.items()} == {
        "cleveland": 13,
        "hungarian": 11,
        "switzerland": 11,
        "va": 12,
    }
    assert "cholesterol" not in tables["switzerland"].columns


@needs_data
def test_the_words_of_the_universities_are_the_same_words(real_cache):
    tables = suite.load("webkb_universities").tables
    shares = np.array([table.mean().row(0) for table in tables.values()])
    assert np.corrcoef(shares)[np.triu_indices(3, 1)].min() > 0.6


def test_words_keep_those_of_five_documents_and_the_commonest():
    counts = np.zeros((8, 3))
    counts[:5, 0], counts[:4, 1], counts[:, 2] = 2.0, 1.0, 1.0
    table = _reading.words(counts)
    assert table.columns == ["word_0001", "word_0003"] and table["word_0001"].to_list() == [2.0] * 5 + [0.0] * 3


def test_masked_views_lose_records_but_no_instance():
    views = {name: pl.DataFrame({"id": list(range(500)), "x": [0.0] * 500}) for name in "ab"}
    kept = _reading.masked(views, seed=1)
    assert set(kept["a"]["id"]) | set(kept["b"]["id"]) == set(range(500))
    assert all(330 < len(table) < 410 for table in kept.values())  # 0.7 + 0.09 / 2 of 500 are 372
    assert kept["a"].equals(_reading.masked(views, seed=1)["a"])


def test_a_ring_has_k_edges_a_member_and_an_open_one_ends():
    ids = [f"i{i}" for i in range(12)]
    closed = _reading.ring_edges(ids, ["g"] * 10 + ["h", None], k=2, seed=3)
    degree = closed["source"].append(closed["target"]).value_counts()["count"]
    assert len(closed) == 20 and set(degree) == {4}
    opened = _reading.ring_edges(ids, ["g"] * 4 + [None] * 8, k=2)
    assert set(opened.iter_rows()) == {("i0", "i1"), ("i1", "i2"), ("i2", "i3"), ("i0", "i2"), ("i1", "i3")}


def test_a_small_ring_is_the_clique_once():
    pairs = _reading.ring_edges(["a", "b", "c"], ["g"] * 3, k=5, seed=0)
    assert len(pairs) == 3 and {tuple(sorted(pair)) for pair in pairs.iter_rows()} == {
        ("a", "b"), ("a", "c"), ("b", "c")
    }  # fmt: skip
