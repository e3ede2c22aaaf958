"""What the theme leaves too pale or too small for WCAG 2.2 AA, mended for all pages.

Captions have 60% of the text's opacity, 3.9 to 1 on white; white on the dark theme's primary colour is 3.1 to 1; the
field of a choice of several, once filled, is 20 pixels wide. The aims are 4.5 to 1, and 24 pixels.
"""

from __future__ import annotations

import streamlit as st

__all__ = ["style", "styled"]

EVERYWHERE = """
[data-testid="stCaptionContainer"] { color: inherit !important; opacity: 0.82; }
[data-testid="stPageLink-NavLink"]:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
[data-testid="stMultiSelect"] input { min-width: 24px; min-height: 24px; }
"""
DARK = """
[data-testid="stBaseButton-primary"], [data-testid="stBaseButton-primaryFormSubmit"],
[data-testid="stMultiSelectTagsContainer"] [data-tag] { color: #0B1A24 !important; }
[data-testid="stMultiSelectTagsContainer"] [data-tag] button { color: inherit !important; }
[data-testid="stBaseButton-primary"]:is(:hover, :active, :focus),
[data-testid="stBaseButton-primaryFormSubmit"]:is(:hover, :active, :focus) { background: #6CB6E6 !important; }
"""


def style(dark: bool) -> str:
    """Return the rules of a scheme."""
    return EVERYWHERE + (DARK if dark else "")


def styled() -> None:
    """Mend the page that is begun, in the scheme that it is looked at in."""
    st.html(f"<style>{style(st.context.theme.type == 'dark')}</style>")
