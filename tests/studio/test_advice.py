"""Which method to start with, and the evidence for it."""

import numpy as np
import polars as pl
import pytest

import datasets
import hetcore as hc
from studio.advice import advise, label_autocorrelation
from studio.views.common.widgets import PAGES
from studio.views.noise import settings as noise

RNG = np.random.default_rng(0)


def table(ids, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"id": ids} | {f"x{k}": rng.normal(size=len(ids)) for k in range(columns)})


def labels(ids, y):
    return pl.DataFrame({"id": ids, "y": y})


def chain(ids):
    return pl.DataFrame({"source": ids[:-1], "target": ids[1:]})


IDS = [f"i{k:03d}" for k in range(200)]


def domains(hidden=0):
    y = [None] * hidden + RNG.choice(["a", "b"], 200 - hidden).tolist()
    target = labels(IDS, y)
    return hc.HetData({"north": table(IDS[:100]), "south": table(IDS[100:], seed=1)}, target=target, id_column="id")


def domains_of_numbers():
    tables = {"north": table(IDS[:100]), "south": table(IDS[100:], seed=1)}
    return hc.HetData(tables, target=labels(IDS, RNG.normal(size=200)), id_column="id")


def records():
    users = pl.DataFrame({"id": IDS, "user": RNG.choice(list("abcdefgh"), 200), "item": RNG.choice(list("xyz"), 200)})
    return hc.HetData({"ratings": users}, target=labels(IDS, RNG.normal(size=200)), id_column="id")


def pictures():
    sources = {"t": table(IDS), "photos": hc.Source(IDS, RNG.integers(0, 255, (200, 8, 8, 1), dtype=np.uint8))}
    return hc.HetData(sources, target=labels(IDS, RNG.choice(["a", "b"], 200)), id_column="id")


def one_graph(alike=True):
    y = np.sin(np.arange(200) / 9) if alike else RNG.normal(size=200)
    return hc.HetData({"t": table(IDS)}, {"next to": chain(IDS)}, labels(IDS, y), id_column="id")


def one_table():
    return hc.HetData({"t": table(IDS)}, target=labels(IDS, RNG.normal(size=200)), id_column="id")


CASES = [
    (domains, "Transfer", "the 2 tables have the same columns and share no id (100% of 200 instances labelled): learn"),
    (lambda: domains(hidden=80), "Transfer", "labelled, fewest in 'north': 20%): learn for 'north'"),
    (domains_of_numbers, "Consensus", "2 tables"),  # Transfer tells classes apart
    (records, "Noise", "200 records of 'user', 'item' and a number"),
    (pictures, "Two learners", "'photos' holds images beside a table, 100% of 200"),
    (one_graph, "Collective", "neighbours in 'next to' have like labels (correlation 0.99 over 199 links)"),
    (lambda: one_graph(alike=False), "Consensus", "'next to' have labels that are hardly alike (correlation"),
    (one_table, "Noise", "one table and no graph, 100% of 200 instances labelled"),
    (lambda: datasets.load("digits_views"), "Consensus", "5 tables and 2 graphs, 100% of 1,797 instances labelled"),
]


@pytest.mark.parametrize("make, page, words", CASES)
def test_data_speak_for_a_method(make, page, words):
    found = advise(make())
    assert found.page == page and words in found.text


def test_data_without_labels_are_advised_too():
    assert advise(hc.HetData({"t": table(IDS), "u": table(IDS[:50])}, id_column="id")).page == "Consensus"


@pytest.mark.parametrize("known, words", [(0, "no label: choose"), (3, "2% of 200 instances"), (19, "10% of 200")])
def test_one_table_with_few_labels_is_not_sent_to_the_page_that_refuses_it(known, words):
    target = labels(IDS[:known], RNG.normal(size=known)) if known else None
    data = hc.HetData({"t": table(IDS)}, target=target, id_column="id")
    found = advise(data)
    assert noise.why_not("Table", data) and found.page == "Consensus" and words in found.text


def test_labels_of_classes_correlate_over_links():
    y = ["a"] * 100 + ["b"] * 100
    data = hc.HetData({"t": table(IDS)}, {"next to": chain(IDS)}, labels(IDS, y), id_column="id")
    assert label_autocorrelation(data, "next to") == pytest.approx(0.99, abs=0.01)


def test_every_page_that_is_advised_is_there():
    there = {name for _, name, _ in PAGES}
    assert {page for _, page, _ in CASES} - there <= {"Collective", "Noise", "Two learners"}


@pytest.mark.parametrize("make, page, words", CASES)
def test_the_advice_is_one_sentence_with_the_share_of_labels(make, page, words):
    message = advise(make()).text
    assert "\n" not in message and ". " not in message
    assert "%" in message or "records" in message
