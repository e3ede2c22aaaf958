"""The glossary's equations are whole, and every page's letters are there; what is presented hides the rest."""

from __future__ import annotations

import pytest

import hetcore as hc
from studio.views.common import glossary, widgets_present, widgets_style
from studio.views.common.glossary import TERMS
from studio.views.common.widgets import PAGES

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


def test_captions_are_dark_enough_and_dark_buttons_have_dark_words():
    light, dark = widgets_style.style(False), widgets_style.style(True)
    assert "stCaptionContainer" in light and "opacity: 0.82" in light and "stBaseButton-primary" not in light
    assert light in dark and "stBaseButton-primary" in dark and "[data-tag]" in dark
