"""The glossary's equations are whole, and every page's letters are there; what is presented hides the rest."""

from __future__ import annotations

import re
import tomllib

import pytest

import hetcore as hc
from studio.views.common import glossary, widgets_present, widgets_style
from studio.views.common.glossary import TERMS
from studio.views.common.widgets import PAGES
from tests.house.test_house import ROOT

mathtext = pytest.importorskip("matplotlib.mathtext", reason="Matplotlib is not installed")


@pytest.mark.parametrize("key", TERMS)
def test_a_term_has_a_sentence_an_equation_that_can_be_set_and_pages(key):
    term = TERMS[key]
    assert term.text.endswith(".") and set(term.pages) <= {name for _, name, _ in PAGES}
    assert term.equation in glossary.hover(term) and term.source in glossary.hover(term)
    plain = term.equation.replace(r"\tfrac", r"\frac").replace(r"\arg\min", r"\min")
    mathtext.MathTextParser("path").parse(f"${plain}$")


@pytest.mark.parametrize(
    "page, names",
    [
        ("Consensus", {"λ0", "λ1", "Learning rate η"}),
        ("Collective", {"Moran's I", "Rf1", "Rf2", "Rf3", "Rf4"}),
        ("Transfer", {"η", "ε"}),
        ("Two learners", {"ε", "δ", "w", "w̃", "R"}),
        ("Home", set()),
    ],
)
def test_letters_stand_on_the_pages_that_have_them(page, names):
    assert {term.name for term in glossary.of_page(page).values()} == names


def test_a_slider_that_begins_with_a_letter_has_its_equation_and_others_keep_their_help():
    label = hc.GBCClassifier.lambda0.slider[0]
    assert TERMS["lambda0"].equation in glossary.with_equation(label, "Pull.")
    assert glossary.with_equation(hc.GBCClassifier.max_depth.slider[0], "Depth.") == "Depth."


def test_a_presented_page_hides_what_was_not_chosen():
    names = {"l0": "l0", "sources Digit images": "sources", "hold": "hold"}
    style = widgets_present.style(names, ["sources"])
    hidden = style.splitlines()[-1]
    assert ".st-key-l0" in hidden and ".st-key-hold" in hidden and "sources" not in hidden
    assert ".stExpander:not(:has(.st-key-sources-Digit-images))" in style and "135%" in style
    assert ":has(.nothing)" in widgets_present.style(names, [])


def test_numbers_above_the_charts_are_of_the_latest_model():
    # That of the model which is kept need not be it.
    words = re.findall(r'([^\n]*)\[data-late="true"\]::before \{ content: "([^"]*)"', widgets_style.EVERYWHERE)
    assert dict(words)[".st-key-headline"] == "Of the latest model:"


def test_captions_are_dark_enough_and_words_on_the_primary_colour_are_of_the_scheme_of_the_page():
    assert "stCaptionContainer" in widgets_style.EVERYWHERE and "opacity: 0.82" in widgets_style.EVERYWHERE
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    words, hovered = re.findall(r"light-dark\((#\w{6}), (#\w{6})\)", widgets_style.SCHEMES)
    for k, scheme in enumerate(("light", "dark")):
        for ground in (config[scheme]["primaryColor"], hovered[k]):
            assert contrast(words[k], ground) >= 4.5


def test_no_hint_lies_over_what_is_written_in_the_field_of_a_form():
    hidden = r'\[data-testid="stForm"\] \[data-testid="InputInstructions"\] \{ display: none; \}'
    assert re.search(hidden, widgets_style.EVERYWHERE)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, by WCAG 2.2."""
    lights = sorted(lightness(each) for each in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def lightness(colour: str) -> float:
    shares = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares]
    return sum(share * each for share, each in zip((0.2126, 0.7152, 0.0722), linear))
