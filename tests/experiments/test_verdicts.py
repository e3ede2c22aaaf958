"""Verdicts: rules that can be read and can fail, which the cells and nothing else decide."""

import numpy as np
import polars as pl
import pytest

from experiments import experiment, info, names, outcome, run, tables, verdicts
from tests.experiments.toy import TOY


def _verdict(cells):
    return verdicts.claims(info("gbc-figure-99"), cells)[0].verdict


def test_the_verdict_follows_the_cells(toy):
    found = run("gbc-figure-99", "full", toy)
    assert found.verdict == verdicts.HOLDS
    good, first = pl.col("method") == "good", pl.col("level") == 0.1
    turned = found.cells.with_columns(error=pl.when(good).then(pl.col("error") + 9.0).otherwise("error"))
    assert _verdict(turned) == verdicts.NO
    mixed = found.cells.with_columns(error=pl.when(good & first & (pl.col("data") == "d")).then(9.0).otherwise("error"))
    assert _verdict(mixed) == verdicts.IN_PART
    assert outcome("gbc-figure-99", "page", toy / "elsewhere").verdict == verdicts.NOT_RUN


def test_noise_is_not_seen(toy):
    """Differences that are within two standard errors of zero count neither for nor against."""
    cells = run("gbc-figure-99", "full", toy).cells
    noise = np.random.default_rng(0).normal(size=cells.height)
    found = verdicts.compare(info("gbc-figure-99"), cells.with_columns(error=pl.lit(noise)),
                             {"ours": "good", "theirs": "bad", "says": "below"})  # fmt: skip
    assert found.held == found.against == 0 and found.places == 4 and abs(found.difference) < 2 * found.standard_error
    assert verdicts.verdict([found]) == verdicts.NO


def test_one_seed_shows_nothing(toy):
    cells = run("gbc-figure-99", "full", toy).cells.filter(pl.col("seed") == 0)
    found = verdicts.claims(info("gbc-figure-99"), cells)[0]
    assert found.verdict == verdicts.NOT_RUN and found.comparisons == ()


def test_what_is_beside_the_claim_does_not_count(toy):
    found = run("gbc-figure-99", "full", toy)
    assert [each.beside for each in found.claims[0].comparisons] == [False, True]
    assert found.claims[0].comparisons[1].held == 0 and found.verdict == verdicts.HOLDS


KEYS = {"ours", "theirs", "than", "says", "or", "within", "factor", "better", "measure", "where", "chosen", "almost",
        "claim", "beside"}  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_every_sentence_of_a_claim_is_evaluated_by_rules_that_can_be_read(name):
    found, given = info(name), info(name).verdict["rules"]
    methods = set(found.cells["method"])
    assert {rule["claim"] for rule in ({"claim": 1} | rule for rule in given) if not rule.get("beside")} == set(
        range(1, len(found.claim) + 1)
    )
    for rule in given:
        assert rule["says"] in verdicts.RULES
        assert {rule["ours"], rule.get("theirs", rule["ours"]), *rule.get("or", ())} <= methods
        assert "theirs" in rule or "than" in rule
        assert set(rule) <= KEYS and ("within" in rule) == (rule["says"] == "about")
        for part, value in rule.get("where", {}).items():
            assert set(value if isinstance(value, list) else [value]) <= set(found.cells[part])
    seen = set(found.page.get("method", methods))
    assert any({rule["ours"], rule.get("theirs", rule["ours"])} <= seen for rule in given if not rule.get("beside"))


def _compared(rule, **lines):
    """Return the comparison of a rule on means at the levels 0.1 and 0.9, by method; two seeds, 0.002 apart."""
    cells = pl.DataFrame(
        [{"data": "d", "method": method, "level": level, "seed": seed,
          "error": value + 0.001 * seed * (method == "good")}
         for method, values in lines.items() for level, value in zip((0.1, 0.9), values) for seed in (-1, 1)]
    )  # fmt: skip
    return verdicts.compare(info("gbc-figure-99"), cells, {"ours": "good"} | rule)


@pytest.mark.parametrize(
    "rule, held, against",
    [
        ({"theirs": "bad", "says": "below"}, 2, 0),
        ({"theirs": "bad", "says": "above"}, 0, 2),
        ({"than": 0.2, "says": "below"}, 1, 1),
        ({"than": 0.25, "within": 0.07, "says": "about"}, 1, 1),
        ({"than": 0.25, "within": 0.06, "says": "about"}, 0, 1),  # 0.05 off, give or take 0.013
        ({"theirs": "bad", "says": "alike"}, 0, 2),
        ({"theirs": "bad", "says": "no more"}, 0, 0),  # two seeds show what is more, not what isn't
        ({"ours": "bad", "theirs": "good", "says": "no more"}, 0, 2),
        ({"theirs": "bad", "says": "narrows"}, 1, 0),
        ({"theirs": "bad", "says": "widens"}, 0, 1),
        ({"theirs": "bad", "says": "narrows", "better": "above"}, 0, 1),
        ({"theirs": "bad", "than": 0.8, "says": "cuts"}, 1, 0),
        ({"theirs": "bad", "than": 0.95, "says": "cuts"}, 0, 1),
        ({"theirs": "bad", "says": "below", "where": {"level": [0.9]}}, 1, 0),
        ({"theirs": "bad", "factor": 0.1, "says": "above"}, 1, 0),  # 0.01 apart at the left, give or take 0.013
        ({"than": 0.2, "says": "below", "almost": 0.5}, 1, 1),
        ({"or": ["bad"], "than": 0.35, "says": "below"}, 2, 0),
        ({"or": ["bad"], "than": 0.35, "says": "above"}, 2, 0),
        ({"than": 0.0, "says": "falls"}, 0, 0),  # at its best at the right end
        ({"ours": "bad", "than": 0.0, "says": "falls"}, 1, 0),
        ({"ours": "bad", "than": 0.6, "says": "falls"}, 0, 0),
    ],
)
def test_rules_by_hand(toy, rule, held, against):
    found = _compared(rule, good=(0.1, 0.3), bad=(0.9, 0.4))
    assert (found.held, found.against) == (held, against)


def test_few_seeds_decide_nothing_that_chance_does(toy):
    """Two seeds show a difference beyond 12.7 standard errors, and none at two: noise would be taken for one."""
    hits = {2: 0, 4: 0}
    for trial in range(60):
        noise = np.random.default_rng(trial).normal(size=(4, 8))
        for n in hits:
            cells = pl.DataFrame([{"data": "d", "method": method, "level": level, "seed": seed,
                                   "error": noise[seed, 4 * (method == "good") + place]}
                                  for method in ("good", "bad") for place, level in enumerate((0.1, 0.3, 0.6, 0.9))
                                  for seed in range(n)])  # fmt: skip
            rule = {"ours": "good", "theirs": "bad", "says": "below"}
            found = verdicts.compare(info("gbc-figure-99"), cells, rule)
            hits[n] += found.held + found.against
    assert max(hits.values()) < 0.1 * 240  # 5% of 240; by two standard errors two seeds would see 30%


def _noisy(values, says, **rule):
    """Return the comparison of one place with these values, against 0.5 as a number or as another method's."""
    cells = pl.DataFrame([{"data": "d", "method": method, "level": 0.1, "seed": seed, "error": float(value)}
                          for method, of in (("good", values), ("bad", [0.5] * len(values)))
                          for seed, value in enumerate(of)])  # fmt: skip
    other = {"theirs": "bad"} if says in ("alike", "no more", "cuts") else {"than": 0.5}
    found = verdicts.compare(info("gbc-figure-99"), cells, {"ours": "good", "says": says} | other | rule)
    return found.held, found.against


@pytest.mark.parametrize(
    "values, says, rule, found",
    [
        ([0.2, 0.8], "about", {"within": 0.1}, (0, 0)),  # right on average, by chance
        ([0.49, 0.5, 0.51, 0.5], "about", {"within": 0.1}, (1, 0)),
        ([0.89, 0.9, 0.91, 0.9], "about", {"within": 0.1}, (0, 1)),
        ([0.2, 0.8], "alike", {}, (0, 0)),
        ([0.2, 0.8, 0.4, 0.6, 0.5], "alike", {}, (1, 0)),
        ([0.2, 0.8, 0.4, 0.6, 0.5], "no more", {}, (1, 0)),
        ([0.1, 0.11, 0.09, 0.1, 0.1], "no more", {}, (1, 0)),  # less is as good, and no difference that counts against
        ([0.0, 0.3], "cuts", {"than": 0.7}, (0, 0)),  # 70% on average, which two runs don't show
        ([0.2, 0.5], "cuts", {"than": 0.8}, (0, 0)),  # 30%: nothing refutes 80%, and nothing reaches it
        ([0.1, 0.11, 0.09], "cuts", {"than": 0.7}, (1, 0)),
        ([0.3, 0.31, 0.29], "cuts", {"than": 0.7}, (0, 1)),
    ],
)
def test_noise_is_neither_near_nor_a_cut(toy, values, says, rule, found):
    assert _noisy(values, says, **rule) == found


@pytest.mark.parametrize(
    "times, seeds, found",
    [(4.0, 10, (1, 0)), (0.25, 10, (0, 1)), (1.0, 10, (0, 0)), (9.0, 4, (0, 0))],  # four seeds show no spread
)
def test_what_varies_more_over_the_seeds_is_seen_in_pairs(toy, times, seeds, found):
    hard, own, other = np.random.default_rng(0).normal(size=(3, seeds))
    cells = pl.DataFrame([{"data": "d", "method": method, "level": 0.1, "seed": seed, "error": float(value)}
                          for method, of in (("good", times * (hard + own)), ("bad", 5.0 + hard + other))
                          for seed, value in enumerate(of)])  # fmt: skip
    rule = {"ours": "good", "theirs": "bad", "says": "varies"}
    compared = verdicts.compare(info("gbc-figure-99"), cells, rule)
    assert (compared.held, compared.against) == found
    spread = times * (hard + own).std(ddof=1) - (hard + other).std(ddof=1)
    assert compared.difference == pytest.approx(spread) and "deviation over the seeds: " in tables.in_numbers(compared)


def test_only_cells_that_chose_a_term_speak_of_it(toy):
    def held(chosen):
        cells = pl.DataFrame([{"data": "d", "method": "good", "level": 0.1, "seed": seed, "error": 0.1,
                               "chosen": {"lambda0": each}} for seed, each in enumerate(chosen)])  # fmt: skip
        rule = {"ours": "good", "than": 0.5, "says": "below", "chosen": "lambda0"}
        found = verdicts.compare(info("gbc-figure-99"), cells, rule)
        return found.held, found.places

    assert held([0.1, 0.1, 0.0]) == (1, 1)
    assert held([0.0, 0.0, 0.0]) == held([0.1, 0.0, 0.0]) == (0, 0)


def test_almost_every_place_may_miss_some(toy):
    good, bad = (0.1, 0.3), (0.2, 0.2)
    found = _compared({"theirs": "bad", "says": "below", "almost": 0.5}, good=good, bad=bad)
    assert (found.held, found.places, found.spared) == (1, 2, 1)
    assert verdicts.verdict([found]) == verdicts.HOLDS
    assert verdicts.verdict([found._replace(spared=0)]) == verdicts.NO
    # A fifth of two places is none of them.
    assert _compared({"theirs": "bad", "says": "below", "almost": 0.2}, good=good, bad=bad).spared == 0


def test_the_count_has_papers_and_ours_apart_and_nothing_that_can_not_fail(toy):
    path = toy.parent / "gbc-figure-99.toml"
    text = path.read_text().replace('claim = ["Good is better than bad."]',
                                    'claim = ["Good is better.", "Good is good."]\nby_construction = [2]')  # fmt: skip
    rule = '{ ours = "good", theirs = "good", says = "above", claim = 2 }'
    path.write_text(text.replace("rules = [", f"rules = [\n  {rule},"))
    (toy.parent / "gbc-beyond.toml").write_text(TOY.replace("Figure 99", "Beyond 1").replace('"below"', '"above"'))
    experiment._all.cache_clear()
    run("gbc-figure-99", "full", toy)
    printed = tables.claimed([outcome(name, "full", toy) for name in names()])
    # One seed, of which nothing can be said.
    few = tables.claimed([outcome("gbc-figure-99", "full", toy / "elsewhere")])
    assert "Of what the papers claim, not run: 1." in few
    assert "Of what the papers claim, holds: 1." in printed
    assert "Not counted, for nothing that runs could refute them: 1 that hold by construction." in printed
    assert "Of what goes beyond the papers, no: 1." in printed
    assert "**no** by construction" in printed and outcome("gbc-figure-99", "full", toy).verdict == verdicts.HOLDS


def test_a_cut_is_reported_as_a_share_and_another_measure_by_its_name(toy):
    found = _compared({"theirs": "bad", "than": 0.8, "says": "cuts"}, good=(0.1, 0.3), bad=(0.9, 0.4))
    assert tables.in_numbers(found) == "good, share of bad cut off, 80% asked: 88.9% ± 0.11%, 1 for, 0 against of 1"
    other = found._replace(says="below", measure="cpu_seconds", difference=-0.5, standard_error=0.01)
    assert tables.in_numbers(other) == "good − bad (cpu seconds): -0.5 ± 0.01, 1 for, 0 against of 1"


def test_a_comparison_is_reported_as_numbers(toy):
    found = _compared({"theirs": "bad", "says": "below"}, good=(0.1, 0.2), bad=(0.2, 0.4))
    assert (found.difference, found.relative) == pytest.approx((-0.15, -0.5))
    # Each place has differences that are 0.002 apart, a standard error of 0.001; two places have 0.001 / sqrt 2.
    assert found.standard_error == pytest.approx(0.001 / np.sqrt(2))
    assert tables.in_numbers(found) == "good − bad: -0.15 ± 0.00071 (-50.0%), 2 for, 0 against of 2"
    assert _compared({"theirs": "worse", "says": "below"}, good=(0.1, 0.2)).places == 0


def test_claims_are_a_row_each_with_their_place_and_number(toy):
    text = (toy.parent / "gbc-figure-99.toml").read_text()
    text = text.replace('claim = ["Good is better than bad."]',
                        'claim = ["Good is better.", "Bad is better."]\n'
                        'place = ["Section 9"]\nnumber = ["1 < 2"]\nstand_in = "toys for data"')  # fmt: skip
    text = text.replace("rules = [", 'rules = [\n  { ours = "bad", theirs = "good", says = "below", claim = 2 },')
    (toy.parent / "gbc-figure-99.toml").write_text(text)
    experiment._all.cache_clear()
    run("gbc-figure-99", "full", toy)
    first, second = (
        line for line in tables.claimed([outcome("gbc-figure-99", "full", toy)]).splitlines() if "better." in line
    )
    assert first.startswith("| Section 9 | Good is better. | 1 < 2 |") and "**holds**; toys for data |" in first
    assert second.startswith("| Figure 99 | Bad is better. | – |") and "**no**" in second
