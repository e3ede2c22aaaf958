"""The menu beside every page: the way to the others and back, closed behind who goes it on a phone; charts' tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import streamlit as st

from hetcore.figures.basic import CONFIG
from studio import state
from studio.views.common import glossary

__all__ = ["chart_config", "letters", "menu"]

CLOSES = """
// A phone, upright or on its side, where Streamlit opens the menu by itself.
const narrow = matchMedia("(max-width: 768px), (max-width: 960px) and (max-height: 500px)");
function close(sidebar) {
  const button = sidebar.querySelector("[data-testid='stSidebarCollapseButton'] button");
  if (button && sidebar.dataset.collapsed === "false") button.click();
}
// What starts a training, and where one is after it: Home's leads to another page.
const starts = [["train", "train"], ["stepwise", "stepwise"], ["train_home", "train"]];
function remember(event) {
  const pressed = starts.find(([name]) => event.target.closest(`.st-key-${name}`));
  window.studioPressed = pressed ? `st-key-${pressed[1]}` : null;
}
const RUNS = ["run", "before", "labels"];  // what a training that ended, or began, changes beside a control
// What two addresses say otherwise, but for how one looks at what there is.
function differing(one, other) {
  const [a, b] = [one, other].map(url => new URL(url, location).searchParams);
  return [...new Set([...a.keys(), ...b.keys()])].filter(name => !VIEW.includes(name) && a.get(name) !== b.get(name));
}
// What a page writes to its address before anything was moved is no step: to go back would open the page once more.
function watchSteps() {
  const steps = { moved: false, slider: false, name: "" }, push = history.pushState;
  // Who presses a link leaves, and what the page still writes is no step either.
  const moved = ({ target }) => {
    steps.moved = !target.closest?.("a[href]");
    steps.slider = Boolean(target.closest?.("[data-testid='stSlider']"));
  };
  document.addEventListener("pointerdown", moved, true);
  document.addEventListener("keydown", moved, true);
  addEventListener("popstate", () => { Object.assign(steps, { moved: false, name: "" }); });
  // Further movements of the slider that made the step before, unless a training ended between them.
  const further = names => {
    const others = names.filter(name => !RUNS.includes(name)), before = steps.name;
    steps.name = steps.slider && others.length === 1 ? others[0] : "";
    return steps.name && steps.name === before && names.every(name => name === before || name === "run");
  };
  history.pushState = function (state, title, url) {
    const same = url && new URL(url, location).pathname === location.pathname;
    if (!same) Object.assign(steps, { moved: false, name: "" });
    const names = same && steps.moved ? differing(url, location) : [];
    const step = !same || (names.length && !further(names));
    return (step ? push : history.replaceState).call(this, state, title, url);
  };
  return steps;
}
window.studioSteps ??= watchSteps();
// What a box or a large number has no room for is told by whoever points at it; Streamlit tells it of chips alone.
function whole({ target }) {
  const cut = target.closest?.("[data-testid='stSelectbox'] input, [data-testid='stMetricValue']");
  if (!cut) return;
  const narrow = [cut, ...cut.querySelectorAll("*")].some(each => each.scrollWidth > each.clientWidth + 1);
  cut.title = narrow ? cut.value ?? cut.textContent : "";
}
export default function (component) {
  for (const [name, heard] of [["focusin", remember], ["pointerover", whole]]) {
    document.removeEventListener(name, heard);
    document.addEventListener(name, heard);
  }
  const sidebar = component.parentElement.closest("[data-testid='stSidebar']");
  if (!sidebar || sidebar.dataset.closes) return;
  sidebar.dataset.closes = "on a phone";
  // Upright it is closed already, and this may be here only after somebody opened it.
  if (narrow.matches && matchMedia("(min-width: 769px)").matches) close(sidebar);
  sidebar.addEventListener("click", event => {
    if (narrow.matches && event.target.closest("a")) setTimeout(() => close(sidebar), 0);
  });
}
""".replace("VIEW", json.dumps(state.VIEW))
TOOLS = "chart tools"


def menu(pages: Sequence[tuple[str, str, str]]) -> None:
    """Draw the links to pages: file, name, icon; a click on one closes the menu where it covers the page."""
    for page, name, icon in pages:
        st.page_link(page, label=name, icon=icon)
    key = f"{TOOLS} switch"
    st.session_state[key] = st.session_state.get(TOOLS, False)
    text = "Zoom, pan and save buttons over each chart, where they may cover its legend."
    st.toggle("Chart tools", key=key, on_change=_remember, args=(key,), help=text)
    _closing()(key="menu closes", height=1)


def letters(title: str) -> None:
    """Draw the letters of a page, each with what it is and its equation for who hovers over it."""
    terms = glossary.of_page(title)
    if not terms:
        return
    st.caption("Letters on this page")
    with st.container(horizontal=True, key="letters"):
        for term in terms.values():
            st.markdown(term.name, help=glossary.hover(term), width="content")


def _remember(key: str) -> None:
    st.session_state[TOOLS] = st.session_state[key]


def _closing() -> Any:
    return st.components.v2.component("hetcore_menu", html="<span></span>", js=CLOSES, isolate_styles=False)


def chart_config() -> dict[str, Any]:
    """Return the settings of Plotly: without its toolbar, until it is asked for."""
    return CONFIG | {"displayModeBar": bool(st.session_state.get(TOOLS))}
