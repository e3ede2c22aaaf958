"""What a notebook displays: escaped, of bounded size, and with the numbers that the objects have."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.data.markup import bar, line, plain, stripes, table

HOSTILE = "<script>alert(1)</script>'\"&\n\u202e" + "x" * 1000
ALLOWED = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect", "path", "polyline"}

ATTRIBUTES = {"style", "role", "aria-label", "aria-hidden", "d", "points", "width", "height", "fill", "opacity"}
ATTRIBUTES |= {"stroke", "stroke-width"}


class Reader(HTMLParser):
    """Reads HTML: its tags, its text, and whether they close."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.open.append(tag)
        assert {name for name, _ in attributes} <= ATTRIBUTES

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(html: str) -> Reader:
    reader = Reader(html)
    assert reader.open == [] and reader.seen <= ALLOWED and len(html) < 60_000
    return reader


def many(sources: int, findings: int) -> hc.HetData:
    ids = [f"i{k}" for k in range(1000)]
    frame = pl.DataFrame({"id": ids, "x": np.arange(1000.0)})
    tables = {f"{HOSTILE}{k}": frame[k * 10 :] for k in range(sources)}
    tables |= {f"repeated {k}": pl.concat([frame, frame[:1]]) for k in range(findings)}
    return hc.HetData(tables, {HOSTILE: pl.DataFrame({"source": ids[:2], "target": ids[1:3]})}, target=(ids, ids))


def test_data_with_hostile_names_and_many_sources_stay_safe_and_small():
    data = many(40, 40)
    text = read(data._repr_html_()).text
    assert "1,000 instances" in text and "and 51 more" in text and "<script>alert(1)" in text  # as text
    assert "i0" in read(data.report._repr_html_()).text
    clean = hc.HetData({"one": pl.DataFrame({"id": ["a"], "x": [1.5]})})
    assert read(clean.report._repr_html_()).text == "Nothing to report."


def test_data_show_their_coverage():
    frame = pl.DataFrame({"id": list("abcd"), "x": [1.0, 2.0, 3.0, None]})
    html = hc.HetData({"all": frame, "half": frame[:2]})._repr_html_()
    assert "4 (100%)" in html and "2 (50%)" in html and "aria-label='Coverage: all 100%, half 50%'" in html
    assert "M0.0 15H160.0" in html  # the second source has the first half


def test_models_show_what_they_learned():
    y = np.linspace(0, 1, 30)
    ids = [f"i{k}" for k in range(30)]
    data = hc.HetData({"<b>one</b>": pl.DataFrame({"id": ids, "x": y})}, target=pl.DataFrame({"id": ids, "y": y}))
    model = hc.GBCRegressor(n_iterations=3, as_printed=True)
    assert (
        read(model._repr_html_()).text.startswith("GBCRegressor, not fitted") and "n_iterations" in model._repr_html_()
    )
    model.fit(data)
    text = read(model._repr_html_()).text
    assert "fitted in 3 rounds" in text and "training loss from" in text and "<b>one</b>" in text and "1.000" in text
    assert model._repr_mimebundle_()["text/plain"] == repr(model)


def test_a_history_of_hostile_names_is_a_table_of_text_and_stays_small():
    data = many(30, 0)
    two_classes = np.where(np.arange(data.n) % 2, "a", "b")  # labelled by its id, each instance would be a class
    history = hc.GBCClassifier(n_iterations=1, as_printed=True, random_state=0).fit(data, two_classes).history_
    html = history._repr_html_()
    assert "weight:" in html and "<script" not in html and "<b>" not in html and len(html) < 120_000
    assert f"shape: (1, {history.width})" in str(history)


@pytest.mark.parametrize("name", [name for name in hc.__all__ if name.endswith(("Classifier", "Regressor"))])
def test_every_estimator_can_be_displayed_before_it_is_fitted(name):
    cls = getattr(hc, name)
    assert name in read(cls()._repr_html_()).text


def test_the_pieces():
    assert plain("a\x00b<", 3) == "a\ufffd…" and plain("<") == "&lt;"
    assert re.findall("width='(\\d+)'", bar(2.0, "x", 50)) == ["50", "50", "50"]
    assert bar(0.5, "x").startswith("<svg width='120' height='10' style='display:inline-block'")  # as marimo has none
    assert "M0.0 5H5.0M7.5 5H10.0" in stripes([[True, True, False, True]], "t", width=10)
    assert len(re.search("points='(.*?)'", line(range(10_000), "t")).group(1).split()) == 200
    assert "points='0.0,58.0 320.0,2.0'" in line([0, 1], "t")
    assert table(["a"], [["1"]] * 31).endswith("<p>and 1 more</p>")
