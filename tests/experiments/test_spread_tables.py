"""Tables of HGBM beside its peers: by hand."""

from __future__ import annotations

import polars as pl

from experiments.noise.spread_tables import classes_table, main, numbers_table


def _numbers(method, split, nll, rmse, coverage90=None):
    return {"data": "a", "method": method, "split": split, "nll": nll, "rmse": rmse, "coverage90": coverage90}


def test_numbers_by_hand_over_the_splits_that_both_have():
    cells = [_numbers("HGBM", 0, 1.0, 2.0, 0.9), _numbers("HGBM", 1, 3.0, 4.0, 0.96), _numbers("b", 1, 3.5, 9.0, 0.5)]
    table = numbers_table(pl.DataFrame([*cells, _numbers("CatBoost, squared error", 0, None, 1.9)]))
    assert "| a | 2 | 2.00 | +0.50 (1) | 1.053 | 0.930 |" in table
    assert (
        "lowest NLL of all 1 of 1; lowest or a tie 1 of 1; RMSE within 1% of CatBoost's or below 0 of 1; "
        "intervals within 3 points 1 of 1" in table
    )


def test_a_peer_ahead_within_two_standard_errors_is_a_tie():
    ours = [_numbers("HGBM", k, 1.0, 1.0, 0.9) for k in range(2)]
    for gaps, tied in (((-0.3, 0.1), 1), ((-0.3, -0.2), 0)):
        table = numbers_table(pl.DataFrame([*ours, *(_numbers("b", k, 1.0 + gap, 1.0) for k, gap in enumerate(gaps))]))
        assert f"| {sum(gaps) / 2:+.2f} ± {(gaps[1] - gaps[0]) / 2:.2f} (2) |" in table
        assert f"lowest NLL of all 0 of 1; lowest or a tie {tied} of 1" in table


def test_classes_by_hand_and_places_that_are_lost():
    rows = [("HGBM", 0, 0.8, 0.7), ("HGBM", 1, 0.9, 0.5), ("c", 0, 0.9, None), ("c", 1, 1.0, None), ("d", 1, 0.5, None)]
    names = ("method", "split", "score", "found")
    cells = pl.DataFrame([{"data": "a", "share": 0.2} | dict(zip(names, row)) for row in rows])
    table = classes_table(cells)
    assert "| a | 0.2 | 2 | 0.850 | -10.0 ± 0.0 |  | 0.60 |" in table
    assert "Average precision at 20% flipped 0.6 or more on 1 of 1 sets, 0.60 on average" in table
    assert "behind c at 1 of 1 places, beyond two standard errors at 1; behind d at 0 of 1 places" in table


def test_the_shell_prints_what_there_is(capsys, tmp_path):
    cell = '{"data": "iris", "method": "HGBM", "share": 0.2, "split": 0, "score": 0.5, "found": 0.5, "seconds": 1}\n'
    (tmp_path / "flips.jsonl").write_text(cell)
    assert main(["hgbm-classes", "--results", str(tmp_path)]) == 0
    assert "| iris | 0.2 | 1 | 0.500 | 0.50 |" in capsys.readouterr().out
