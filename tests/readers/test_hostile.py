"""The hostile corpus: each upload refused in one sentence or read in full, and every record used or reported."""

from __future__ import annotations

import json
import re
from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hetcore.data import Graph, Source
from hetcore.errors import DataError
from studio import recipes, uploads
from studio.readers import sandbox, upload_problems, upload_schema
from studio.views.common.widgets import escape
from tests import hostile
from tests.hostile.accounts import ANSWERS, GONE, faults, outcome
from tests.hostile.projects import PROJECTS


@pytest.mark.slow
@pytest.mark.parametrize("case", hostile.CASES, ids=lambda case: f"{case.form}: {case.label}")
def test_answered_in_words_or_read_with_every_record_accounted_for(case):
    found = outcome(case)
    assert faults(case, found) == []
    # what is odd or damaged gives what it gave: the same values, and a word on the same things
    if case.answer != "" and case not in hostile.DAMAGED:
        return
    assert found.answer() == json.loads(ANSWERS.read_text())[f"{case.form}: {case.label}"]


def test_the_corpus_is_as_large_as_it_says():
    refused = Counter(case.form for case in hostile.REFUSED)
    assert sum(refused.values()) >= 250 and len(refused - Counter(["none of ours"] * 99)) >= 12
    names = Counter((case.form, case.label) for case in hostile.CASES)
    assert [name for name, count in names.items() if count > 1] == []


def test_a_corpus_that_is_not_answered_would_be_seen():
    good = hostile.Case("good", "a.csv", lambda: b"id,x\na,1\na,2\n", answer="", want="table", rows=2)
    assert faults(good, outcome(good)) == []
    assert faults(good._replace(rows=3), outcome(good)) == ["3 records in, 1 used, 1 reported"]
    assert faults(good._replace(finds=("infinite",)), outcome(good)) == ["no word on infinite"]
    assert "was read, not refused" in faults(good._replace(answer="is empty"), outcome(good))[0]
    empty = good._replace(content=lambda: b"")
    assert "refused" in faults(empty, outcome(empty))[0]
    assert "not 'a PDF'" in faults(empty._replace(answer="a PDF"), outcome(empty))[0]


def test_what_was_loaded_stays_and_the_reader_lives_through_the_worst():
    before = uploads.read_table("a.csv", b"id,x\na,1\n")
    server = sandbox.shared()._process.pid
    worst = [case for case in hostile.REFUSED if case.label in ("parquet text bomb", "xlsx corner", "laughs")]
    assert len(worst) == 3 and all(outcome(case).sentence for case in worst)
    assert before.rows() == uploads.read_table("b.csv", b"id,x\na,1\n").rows() == [("a", 1)]
    assert sandbox.shared()._process.pid == server


@pytest.mark.parametrize("label", PROJECTS)
def test_files_that_go_badly_together_are_reported(label):
    project = PROJECTS[label]
    try:
        hard, kinds = _used(project)
    except DataError as error:
        hard, kinds = [str(error)], set()
    assert bool(hard) == bool(project.hard)
    assert re.search(project.hard, " ".join(hard))
    assert set(project.finds) <= kinds
    assert all(len(message) < 300 and message.endswith((".", "…")) for message in hard)


def _used(project):
    files = [uploads.read(name, content) for name, content in project.files.items()]
    ids = {name: column for name, (column, _) in upload_schema.guess_ids(files).items()}
    recipe = recipes.recipe_of(files, ids, upload_schema.guess_label(files, ids), project.task, {})
    data = recipes.build(recipe, project.files.__getitem__)
    return upload_problems.problems(data).hard, {finding.kind for finding in data.report}


TEXTS = [
    ("![x](http://a.b/i.png)", "\\!\\[x\\]\\(http\\:\u2060//a.b/i.png\\)"),
    ("www.a.b me@a.b", "www\u2060\\.a.b me\\@\u2060a.b"),
    ("kar_04 mfeat-fou.csv 1.5", "kar_04 mfeat-fou.csv 1.5"),
    ("_a_ a__b__c a_ _b", r"\_a\_ a\_\_b\_\_c a\_ \_b"),
    ("1. a - b --- -1 a--b .c", r"1\. a \- b \-\-\- \-1 a\-\-b \.c"),
    ("a\u200b_b ü_ß", "a\u200b\\_b ü_ß"),
    ("a\u202eb\x00\u2066c", "a\ufffdb\ufffd\ufffdc"),
    ("two\nlines\tand  spaces", "two lines and spaces"),
    ("<b> $x$ :red[y]", r"\<b\> \$x\$ \:red\[y\]"),
]


@pytest.mark.parametrize(("text", "markdown"), TEXTS)
def test_what_a_person_wrote_is_no_markup_no_link_and_hides_nothing(text, markdown):
    assert escape(text) == markdown


# Rows in = rows used + rows reported ----------------------------------------------------------------------------------

few = st.sampled_from(["a", "b", "001", "1", " a", "", "é", "=1", "\u202ex"])
numbers = st.sampled_from(["1", "-2.5", "nan", "inf", "", "0", "1e400"])


def _csv(header, rows):
    frame = pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")
    return frame.write_csv(quote_style="always").encode()


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(few, numbers), min_size=1, max_size=12))
def test_every_row_of_any_table_is_used_or_reported(rows):
    try:
        preview = uploads.preview_table("a.csv", _csv(["id", "x"], rows))
        # a row without any value is none
        ids = [identifier for identifier in preview.frame["id"].fill_null("") if identifier]
        assert ids == [identifier for identifier, _ in rows if identifier]
        source = Source(preview.frame["id"], preview.frame.drop("id"))
    except DataError as error:
        assert "id" in str(error) or "no rows" in str(error)
        return
    assert source.n_rows + _gone("table", [*preview.findings, *source.findings]) == len(rows)
    assert set(source.ids) == {identifier for identifier, _ in rows} - {""}


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.tuples(few, few, numbers.filter(lambda weight: weight != "1e400")), min_size=1, max_size=12))
def test_every_edge_of_any_graph_is_used_or_reported(rows):
    preview = uploads.preview_graph("g.csv", _csv(["source", "target", "weight"], rows))
    graph = Graph(preview.edges)
    assert graph.n_edges + _gone("graph", [*preview.findings, *graph.findings]) == len(rows)


def _gone(want, findings):
    return sum(finding.count for finding in findings if finding.kind in GONE[want])
