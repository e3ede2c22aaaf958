"""What an address may do: show a training, never control it; no number in it harms a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from studio.jobs import manager
from studio.runs import store
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).parents[2]


def opened(page, **query):
    """Open a page with an address."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run().switch_page(page)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def labels(app):
    return {button.label for button in app.button}


def test_an_address_shows_a_training_and_does_not_control_it():
    mine = opened("pages/2_Consensus.py")
    mine.button(key="stepwise").click().run()
    run = mine.session_state["live Consensus"].runs["Consensus"]
    assert "Stop training" in labels(mine)
    theirs = opened("pages/2_Consensus.py", run=run)
    assert not theirs.exception and theirs.session_state["live Consensus"].runs == {"Consensus": run}
    assert "somebody else started" in theirs.info[0].value
    assert not {"Play", "Pause", "One round", "Stop training"} & labels(theirs)
    theirs.slider(key="l0").set_value(1.0).run()  # under other controls than it was trained with
    assert "trained with other settings: λ0 0" in theirs.info[1].value
    assert theirs.session_state["live Consensus"].runs == {"Consensus": run}
    theirs.button(key="back").click().run()
    assert theirs.slider(key="l0").value == 0.3 and not any("other settings" in each.value for each in theirs.info)
    theirs.button(key="train").click().run()
    own = theirs.session_state["live Consensus"].runs["Consensus"]
    assert own != run and manager.manager().status(run).active
    assert "Stop training" in labels(mine.run())
    for each in (own, run):
        manager.manager().stop(each)
        manager.manager().wait(each, timeout=PATIENCE)


def test_a_run_is_in_the_list_while_it_trains_and_gone_if_it_never_began():
    app = opened("pages/2_Consensus.py")
    app.button(key="stepwise").click().run()
    run = app.session_state["live Consensus"].runs["Consensus"]
    (listed,) = store.shared().list(app.session_state["owner"])
    assert listed.status == "training" and listed.settings["params"]
    manager.manager().stop(run)
    manager.manager().wait(run, timeout=PATIENCE)


@pytest.mark.parametrize("value", ["1e999", "9" * 400, "-1e999", "nan", "1e10", "99999", "x", ""])
def test_no_number_in_an_address_ends_a_page(value):
    app = opened("pages/2_Consensus.py", seed=value)
    assert not app.exception
    assert app.number_input[0].value == (9999 if value in ("9" * 400, "1e10", "99999") else 0)  # as far as it goes


def test_a_number_that_fits_is_taken():
    assert opened("pages/2_Consensus.py", seed="7").number_input[0].value == 7
