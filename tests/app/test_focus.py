"""Where the keyboard's focus goes: the pages' own scripts, run with a stand-in for what they know of the browser."""

from __future__ import annotations

import subprocess

import pytest
from playwright._impl._driver import compute_driver_executable

from studio.views.common import widgets_controls, widgets_menu

FAKES = """
const heard = {}, focused = [];
const node = (name, more) => ({ focus: () => focused.push(name), dataset: {}, closest: () => null, ...more });
globalThis.window = globalThis;
globalThis.matchMedia = () => ({ matches: false });
globalThis.history = { pushState: () => null };
globalThis.addEventListener = () => null;
globalThis.document = {
  body: node("body"), querySelector: name => name === ".st-key-train button" ? node("Train") : null,
  addEventListener: (event, then) => { heard[event] = then; }, removeEventListener: () => null,
};
document.activeElement = document.body;
const { default: run } = await import("data:text/javascript," + encodeURIComponent(process.argv[1]));
"""
SHARE = """
let loaded = false;
const body = { querySelector: name => loaded && name === "[data-testid='stCode']" ? node("link") : null };
const inside = node("component", { closest: () => body });
run({ parentElement: inside });
setTimeout(() => { loaded = true; }, 50);
setTimeout(() => run({ parentElement: inside }), 300);
setTimeout(() => console.log(focused.join()), 600);
"""
UNDO = """
run({ parentElement: node("component") });
const button = node("undo", { isConnected: true });
heard.click({ target: { closest: name => name === ".st-key-undo-what-if button" ? button : null } });
setTimeout(() => { button.isConnected = STAYS; if (STAYS) document.activeElement = button; }, 50);
setTimeout(() => { console.log(focused.join()); process.exit(); }, 400);
"""


def focused(script: str, steps: str) -> str:
    """Return what got the focus, in turn, while the steps are done with a script of the pages."""
    node = compute_driver_executable()[0]
    command = [node, "--input-type=module", "--eval", FAKES + steps, script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_who_opens_share_by_the_keyboard_is_at_the_link_once():
    assert focused(widgets_controls.REACHED, SHARE) == "link"


@pytest.mark.parametrize("stays, expected", [("false", "Train"), ("true", "")])
def test_who_undoes_the_last_change_is_at_train_and_before_that_stays(stays, expected):
    assert focused(widgets_menu.CLOSES, UNDO.replace("STAYS", stays)) == expected
