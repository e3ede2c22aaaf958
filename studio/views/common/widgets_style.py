"""What the theme leaves too pale or too small for WCAG 2.2 AA, mended for all pages.

Captions have 60% of the text's opacity, 3.9 to 1 on white; white on the dark theme's primary colour is 3.1 to 1; the
field of a choice of several, once filled, is 20 pixels wide, or has an empty line of its own below the choices, which
it lies behind here until it is written in; the cross of a choice is 15 by 7 pixels and the question mark of a help 16;
words in charts that stand still are 3.9 to 1; “Press Enter to submit form” lies over what is written in a narrow field,
and the form has a button that says as much. The aims are 4.5 to 1, and 24 pixels.
What a page has not drawn anew yet pales in one step, not over a second: a fade is painted
over all charts sixty times a second, and takes a third of the processor that a training beside it needs.
"""

from __future__ import annotations

import streamlit as st

__all__ = ["cards", "styled"]

EVERYWHERE = """
[data-testid="stCaptionContainer"] { color: inherit !important; opacity: 0.82; }
[data-testid="stSidebar"][data-collapsed="true"] * { visibility: hidden !important; }
[data-testid="stPageLink-NavLink"]:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
[data-testid="stMultiSelect"] input { min-width: 24px; min-height: 24px; }
[data-testid="stMultiSelectTagsContainer"] [data-tag] button,
[data-testid="stTooltipHoverTarget"] > [aria-label^="Help"], [role="group"] > button[aria-label="Open"] {
  justify-content: center; min-width: 24px; min-height: 24px; }
[data-testid="stTooltipHoverTarget"] > [aria-label^="Help"] { margin: -4px; }
[data-testid="stMultiSelectTagsContainer"] [data-tag] button { margin-inline: -4px -5px; }
[data-testid="stForm"] [data-testid="InputInstructions"] { display: none; }
.st-key-letters p { position: relative; }
.st-key-letters :is(label, p > span) { position: static; transform: none; }
.st-key-letters button::after { content: ""; position: absolute; inset: 0; }
[data-testid="stMultiSelectTagsContainer"] { position: relative; }
[data-testid="stMultiSelectTagsContainer"] [data-tag] { position: relative; z-index: 1; }
[data-testid="stMultiSelect"]:not(:focus-within) [data-testid="stMultiSelectTagsContainer"]:has([data-tag]) input {
  position: absolute; inset: 0; width: 100%; height: 100%; }
[data-stale="true"] { opacity: 0.5 !important; transition: opacity 0s 0.4s !important; }
[data-testid="stMainBlockContainer"] { padding-top: 4rem; }
.st-key-headline { position: relative; }
[data-testid="stMetricValue"] { font-size: 1.75rem; }
:is(.st-key-headline, [class*="st-key-of-the-last-round"])[data-late="true"]::before { content: "Of the last round:";
  font-size: 0.875rem; font-style: italic; }
.st-key-headline[data-late="true"]::before { content: "Of the latest model:"; position: absolute; top: -1rem; }
.stPlotlyChart :is(.xtick, .ytick, .xtitle, .ytitle, .legendtext, .cbaxis) { fill: currentColor !important; }
.stPlotlyChart :is(.xtick, .ytick, .cbaxis) text { fill: currentColor !important; }
.stPlotlyChart text[style*="rgb(128, 132, 149)"] { fill: currentColor !important; }
"""
PANES = """
.stColumn:has(:is(.live-chart, .stPlotlyChart)) { min-width: min(100%, 17rem); }
@media (min-width: 1100px) {
  .st-key-panes > * > .stHorizontalBlock > .stColumn { min-width: 0; }
  .st-key-panes > * > .stHorizontalBlock > .stColumn:last-child { position: sticky; top: 4rem; align-self: flex-start;
    max-height: calc(100vh - 4.5rem); overflow: hidden auto; }
}
@media (max-width: 1099px) {
  .st-key-panes > * > .stHorizontalBlock > .stColumn { min-width: 100%; }
  .st-key-panes :has([class*="st-key-details"]) { display: contents; }
  .st-key-panes .stHorizontalBlock { gap: 1rem; }
  .st-key-panes > * > .stHorizontalBlock > .stColumn:last-child { order: 1; width: 100%; }
  .st-key-panes [class*="st-key-details"] { order: 2; }
  .stMain:has(.st-key-back) .st-key-train { position: fixed; bottom: 1rem; left: 1rem; z-index: 9; }
  .st-key-panes :has(> .st-key-state [data-testid="stProgress"]) { position: sticky; top: 3.75rem; z-index: 9;
    padding-bottom: 0.5rem; background: light-dark(#FFFFFF, #171614); }
}
"""
"""Charts and controls: beside each other the controls stay in view, below each other they come before the details.

Below each other on tablets too, and on a phone that lies on its side: beside the menu and the controls a chart would be
narrower than its words. Where two charts would be, the second goes below the first. How far a training is stays in
view there: whoever moves a control below the charts would not see that it began.
"""
CARDS = """
.st-key-LIST [data-testid="stRadio"], .st-key-LIST [data-testid="stRadio"] > div { width: 100%; }
.st-key-LIST [role="radiogroup"] { display: grid; gap: 0.6rem; width: 100%;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); }
.st-key-LIST [role="radiogroup"] > div { position: relative; margin: 0; padding: 0.6rem 0.75rem;
  border: 1px solid rgba(128, 128, 128, 0.45); border-radius: 0.5rem; }
.st-key-LIST [role="radiogroup"] > div[data-selected="true"] { border-color: var(--st-primary-color, #0072B2);
  box-shadow: inset 0 0 0 1px var(--st-primary-color, #0072B2); }
.st-key-LIST [role="radiogroup"] > div:focus-within { outline: 2px solid currentColor; outline-offset: 2px; }
.st-key-LIST [role="radiogroup"] label { position: static; }
.st-key-LIST [role="radiogroup"] label::after { content: ""; position: absolute; inset: 0; z-index: 1;
  cursor: pointer; }
.st-key-LIST [data-testid="stRadioCaption"] { margin-left: 0; padding-left: 0; }
.st-key-LIST img { height: auto; max-height: 48px; max-width: 100%; margin: 0.35rem 0; }
"""
"""Of a list of choices, drawn as cards that are pressed anywhere."""
SCHEMES = """
[data-testid^="stBaseButton-primary"]:enabled,
[data-testid="stMultiSelectTagsContainer"] [data-tag] { color: light-dark(#FFFFFF, #0B1A24) !important; }
[data-testid="stMultiSelectTagsContainer"] [data-tag] button { color: inherit !important; }
[data-testid^="stBaseButton-primary"]:enabled:is(:hover, :active, :focus) {
  background: light-dark(#005A8C, #6CB6E6) !important; }
"""
"""By the scheme that the page is in now: the system's may change while it is open, and no script runs then."""


def cards(key: str) -> None:
    """Draw the choices in the container of a key as cards."""
    st.html(f"<style>{CARDS.replace('LIST', key)}</style>")


def styled() -> None:
    """Mend the page that is begun."""
    st.html(f"<style>{EVERYWHERE}{PANES}{SCHEMES}</style>")
