"""Columns whose values are something other than they are taken for: moments as text, time zones, -999, spellings."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from studio.uploads import preview_table

N = 12
DAYS = [f"2020-01-{k + 1:02}" for k in range(N)]


def report_of(values):
    return hc.HetData({"t": pl.DataFrame({"id": [f"s{k}" for k in range(N)], "x": values})}).report


def text(values):
    return "\n".join(["id;x", *(f"s{k};{value}" for k, value in enumerate(values))]).encode()


MOMENTS = [
    [f"{day} 10:00:00" for day in DAYS], [f"{day}T10:00:00.5Z" for day in DAYS], [f"{k + 1}:30 PM" for k in range(N)],
    [f"1/{k + 1}/2020 10:00 {'AP'[k % 2]}M" for k in range(N)], [f"{k}:{k + 10}:00" for k in range(N)],
    [f"{k + 1}-Jan-20" for k in range(N)], [f"Mar {k + 1} 2020 10:00" for k in range(N)],
]  # fmt: skip


@pytest.mark.parametrize("values", MOMENTS, ids=lambda values: values[0])
def test_moments_and_times_that_came_as_text_are_reported(values):
    """A moment has four pieces and more, so that it was a text by its words, and nothing was said."""
    report = report_of(values)
    assert report.of("date_text")[0].examples == ("x",) and not report.of("mixed_zones")


@pytest.mark.parametrize("values", MOMENTS[3:] + MOMENTS[2:3], ids=lambda values: values[0])
def test_moments_and_times_of_a_file_that_stay_text_are_reported(values):
    preview = preview_table("a.csv", text(values))
    (finding,) = preview.findings
    assert preview.frame["x"].to_list() == values and "kept as text" in finding.message


ZONES = [("T10:00:00Z", "T10:00:00+01:00"), (" 10:00 CET", " 10:00 EST"), (" 10:00:00.5+0200", " 10:00:00")]


@pytest.mark.parametrize("ends", ZONES, ids=" and".join)
def test_moments_of_several_time_zones_are_reported(ends):
    values = [day + ends[k % 2] for k, day in enumerate(DAYS)]
    (finding,) = report_of(values).of("mixed_zones")
    assert finding.count == 2 and "moments of 2 time zones, whose order as text is not that of time" in str(finding)
    (finding,) = preview_table("a.csv", text(values)).findings
    assert "like dates, of 2 time zones" in finding.message and "all in one zone" in finding.message


@pytest.mark.parametrize("ends", [("Z", "+00:00"), ("+01:00", "+01"), ("+0100", "+01:00"), ("Z", " UTC")], ids=" ".join)
def test_one_time_zone_written_in_two_ways_is_one(ends):
    values = [f"{day}T10:00:00{ends[k % 2]}" for k, day in enumerate(DAYS)]
    assert not report_of(values).of("mixed_zones")
    (finding,) = preview_table("a.csv", text(values)).findings
    assert "zone" not in finding.message


@pytest.mark.parametrize("values", [
    ["room 1:30", "a"], ["1:2", "3:4"], ["10:00 to 12:00", "x"], ["v1.2.3", "v2.10.4"],
    ["Route 12 1999", "Mar 3"], ["12-Main-20", "3-March"],
])  # fmt: skip
def test_text_with_colons_and_dots_is_no_moment(values):
    values = [f"{values[k % 2]}{'' if k < 2 else k * 'b'}" for k in range(N)]
    assert not report_of(values).of("date_text")
    assert not [each for each in preview_table("a.csv", text(values)).findings if each.kind.startswith("text_")]


@pytest.mark.parametrize("code", [-999, 99, -9.0, 9999.0, 999999])
def test_a_number_that_stands_for_nothing_known_is_reported(code):
    values = np.array([code if k % 4 == 0 else k / 4 for k in range(N)])
    (finding,) = report_of(values).of("far_code")
    assert finding.count == 3 and f"far from all others, such as {code:g} in 'x': taken as numbers" in str(finding)


INNOCENT = [
    [*range(N - 2), -999, 3], [*range(0, 90 * N - 180, 90), 999, 999], [0, 1, 99] * 4, [*range(10), 9, 9],
    [-9, -9, *range(-8, 2)], [5000 + k for k in range(N - 2)] + [9999, 9999], [-998, -998, *range(10)], [999] * N,
]  # fmt: skip


@pytest.mark.parametrize("values", INNOCENT, ids=lambda values: " ".join(map(str, values[-3:])))
def test_numbers_that_are_rare_near_the_others_or_codes_alone_are_no_missing_ones(values):
    assert not report_of(values).of("far_code")


def test_measurements_and_counts_are_hardly_ever_taken_for_missing_ones():
    rng = np.random.default_rng(0)
    draws = [rng.poisson(2, 200), rng.integers(0, 100, 200), rng.lognormal(3, 1.5, 200).round(), rng.geometric(0.1, 99)]
    for values in [*draws, rng.integers(-10, 10, 200), rng.integers(0, 1000, 200), np.minimum(draws[2], 999)]:
        table = pl.DataFrame({"id": range(len(values)), "x": values})
        assert not hc.HetData({"t": table}).report.of("far_code")


def test_what_a_spreadsheet_writes_for_an_error_is_missing():
    preview = preview_table("a.csv", text(["#REF!", "#DIV/0!", "#VALUE!", *range(5)]))
    assert preview.frame["x"].to_list() == [None] * 3 + [*range(5)]
    assert "3 cells taken as missing" in str(preview.findings[0])


def test_values_apart_in_case_or_spaces_are_reported():
    (finding,) = report_of(["yes", "Yes", "no", "no "] * 3).of("near_value")
    assert finding.count == 4 and "4 values that are apart in case or spaces alone: taken as different" in str(finding)
    (finding,) = report_of(["TRUE", "1", "0", "FALSE"] * 3).of("near_value")
    assert finding.count == 4 and "4 values that say true and false in several ways" in str(finding)
    plain = [["yes", "no"] * 6, ["n", "t", "f"] * 4, ["yes", "no", "maybe"] * 4, [f"town {k}" for k in range(N)]]
    for values in (*plain, ["a b", "ab"] * 6, ["x1", "x 1"] * 6):
        assert not report_of(values).of("near_value")


@pytest.mark.parametrize("values", [[f"{k} kg" for k in range(N)], [f"{k},5{'cm'[k % 2]}m" for k in range(N)]])
def test_numbers_with_a_unit_are_reported(values):
    assert report_of(values).count("nearly_numbers") == N


def test_numbers_with_the_minus_behind_them_are_reported_and_marks_are_not():
    """As accounting systems write them; a column of nothing else had no finding at all."""
    values = [f"1.{k:03},50-" if k % 2 else f"{k}.25-" for k in range(N)]
    assert report_of(values).count("nearly_numbers") == N
    assert not report_of([f"{k % 4}{'-' if k % 3 else '+'}" for k in range(N)]).of("nearly_numbers")


CODES = [
    [f"{k % 3 + 1}{'ABCDEF'[k % 6]}" for k in range(N)], [f"{k + 1}{'a' if k % 2 else 'b'}" for k in range(N)],
    ["1st", "2nd", "3rd", "4th"] * 3, [f"{k} {['High', 'Main', 'Park'][k % 3]} Road" for k in range(N)],
]  # fmt: skip


@pytest.mark.parametrize("values", CODES, ids=lambda values: values[1])
def test_seats_houses_and_places_are_no_numbers_with_a_unit(values):
    assert not report_of(values).of("nearly_numbers")


def test_ids_that_a_spreadsheet_has_rounded_are_reported():
    def ids(*texts):
        return hc.Source([*texts], pl.DataFrame({"x": range(len(texts))})).findings

    (finding,) = ids("1.23457E+12", "1.23458E+12", "7")
    assert finding.kind == "rounded_id" and finding.count == 2 and "last digits are lost" in finding.message
    assert not ids("1E5", "1e+5", "v1.2E+3", "1.5", "2.5E-3")


def test_ids_that_are_a_word_for_none_are_reported():
    """Missing ids made text are one id, under which records of two tables would meet."""
    table = pl.DataFrame({"id": ["a", "nan", "None", "nanna", "NA"], "x": range(5)})
    (finding,) = hc.HetData({"t": table}).report
    assert finding.kind == "missing_word" and finding.count == 2 and finding.examples == ("nan", "None")
    assert str(finding).startswith("source 't': 2 ids written as a word for none: kept; leave them empty if they")


NOTE = "Source: the ministry"


@pytest.mark.parametrize(("last", "columns", "reported"), [
    (NOTE, {"x": [1, 2, None]}, True), (NOTE, {"x": [1, 2, None], "t": ["u", "v", None]}, True),
    ("c", {"x": [1, 2, None]}, False), ("c", {"x": [1, 2, None], "t": ["u", "v", None]}, True),
    (NOTE, {"x": [1, 2, 3]}, False), ("c", {"x": [1, None, None], "t": ["u", None, None]}, False),
])  # fmt: skip
def test_a_note_below_the_table_is_reported(last, columns, reported):
    ids = ["a", "b", "b2", last]
    findings = hc.Source(ids, pl.DataFrame({name: [value[0], *value] for name, value in columns.items()})).findings
    assert ("note_row" in [each.kind for each in findings]) == reported


def test_an_object_in_a_sentence_does_not_say_where_it_is_in_memory():
    with pytest.raises(hc.DataError, match="The id '<object object>' of type object is neither text nor number"):
        hc.Source([object(), "a"], pl.DataFrame({"x": [1, 2]}))


def target_report(labels, task=None):
    ids = [f"i{k}" for k in range(len(labels))]
    return hc.HetData({"t": pl.DataFrame({"id": ids, "x": range(len(ids))})}, target=(ids, labels), task=task).report


@pytest.mark.parametrize(
    ("labels", "task", "kind", "words"),
    [
        ([k / 4 if k % 6 else -999.0 for k in range(60)], None, "far_code", "10 labels -999, far from all others: "),
        ([str(k % 3 - 1) for k in range(60)], None, "far_code", "20 labels -1, the only negative ones: taken"),
        ([k % 3 - 1 for k in range(60)], "classification", "far_code", "20 labels -1, the only negative ones"),
        ([99 if k % 6 == 0 else k % 4 for k in range(60)], "classification", "far_code", "10 labels 99, far from all"),
        ([["cat", "dog", "unknown"][k % 3] for k in range(60)], None, "missing_word", "20 labels such as 'unknown'"),
    ],
)
def test_labels_that_stand_for_no_label_are_reported(labels, task, kind, words):
    """Fifty labels of -999 were learned as numbers, and -1 as a third class."""
    (finding,) = target_report(labels, task).of(kind)
    assert finding.where == "target" and words in str(finding)
    assert "leave them empty if they stand for no label" in str(finding)


@pytest.mark.parametrize("labels", [[-1, 1] * 30, [-2, -1, 0, 1, 2] * 12, [0, 1, 2] * 20, [97, 98, 99] * 20])
def test_classes_that_are_numbers_are_no_missing_ones(labels):
    assert not target_report(labels, "classification").of("far_code")
    assert not target_report(labels).of("far_code")


def test_categories_beyond_the_commonest_are_reported():
    def report(values):
        table = pl.DataFrame({"id": [f"i{k}" for k in range(len(values))], "city": values})
        return hc.HetData({"t": table}).report

    assert report([f"city{k % 64:02d}" for k in range(640)]).count("rare_values") == 0
    found = report([f"city{k % 100:02d}" for k in range(1000)]).of("rare_values")
    assert [each.count for each in found] == [36] and found[0].examples[0] == "city64"
    # each comes ten times: "twice" would not be true
    assert "100 values that occur more than once" in str(found[0])
    assert "of each, other methods tell the 64 commonest apart" in str(found[0])
    # ids, which occur once, are no categories that could be told apart
    assert report([f"note {k} of one" for k in range(200)]).count("rare_values") == 0
