"""eta over three sets of domains: what is drawn, and the table of a row by hand."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.eta import __main__ as printed
from experiments.eta import domains, path


def test_fewer_labels_are_the_first_of_more_and_are_dealt_by_class():
    few, many = domains.drawn("planted_domains", 3, 0), domains.drawn("planted_domains", 40, 0)
    own = many.sample_domain < 0
    np.testing.assert_array_equal(few.X[few.sample_domain < 0], many.X[own][:3])
    assert many.y[own].sum() == 20 and abs(few.y[few.sample_domain < 0].sum() - 1.5) == 0.5
    assert np.bincount(many.sample_domain[~own])[1:].tolist() == [domains.MOST_SOURCE] * 4
    rest = {tuple(row) for row in many.X_test}
    assert not rest & {tuple(row) for row in many.X}


@pytest.mark.slow
def test_a_cell_has_the_error_of_an_eta_and_what_auto_chose():
    fixed, auto = (path.run_cell("planted_domains", 3, method, 0) for method in ("0.5", "auto"))
    assert fixed["eta"] == 0.5 and fixed["chosen"] == "boosting" and 0.0 < fixed["error"] < 1.0
    assert auto["eta"] in (0.0, 0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def test_a_row_of_the_table_by_hand():
    errors, auto = np.array([[0.5, 0.1, 0.4], [0.3, 0.3, 0.4]]), np.array([0.2, 0.3])
    cells = printed.rows("made up", 10, errors, auto)
    assert cells[:6] == ["made up", "10", "0.400", "**0.200**", "0.400", "0.250"]
    assert cells[6:] == ["0.200 ± 0.200", "0.200 ± 0.100", "0.050 ± 0.050", "0.100"]


@pytest.mark.slow
def test_two_of_three_sources_of_the_pictures_are_hostile():
    from hetcore.errors import DataError

    try:
        X, y, domain = domains.one_class(domains.FIRST)
    except DataError:
        pytest.skip("the files are not here and can't be downloaded")
    given = domains.drawn("office_caltech", 10, 0)
    agree = []
    for k in (1, 2, 3):
        held = {tuple(row): label for row, label in zip(X[domain == k], y[domain == k])}
        rows = given.sample_domain == k
        agree.append(np.mean([held[tuple(row)] == label for row, label in zip(given.X[rows], given.y[rows])]))
    assert sorted(agree) == [0.0, 0.0, 1.0]
