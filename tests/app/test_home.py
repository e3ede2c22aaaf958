"""The Home page: what is loaded, one button, the last runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from studio.runs import store
from studio.runs.run import Run
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
OWNER = "home-tests"


def opened(**state) -> AppTest:
    """Open Home in a session with this state."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.session_state["owner"] = state.pop("owner", OWNER)
    for name, value in state.items():
        app.session_state[name] = value
    return app.run()


def words(app: AppTest) -> str:
    """Return all the text of a page."""
    return "\n".join(element.value for element in [*app.markdown, *app.caption])


def test_opens_with_the_example_in_one_sentence():
    app = opened()
    assert not app.exception
    assert "five tables and two graphs about 1,797 instances" in words(app)
    assert "one of 10 classes (0 to 9)" in words(app)


def test_the_opening_example_says_what_its_training_shows_and_other_data_say_nothing_of_it():
    text = words(opened())
    # Not that a fifth is known: beside it stands how many labels the data have.
    assert "hides all but a fifth of the labels and makes **pix** noisy" in text and "100% of 1,797" in text
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.query_params["data"] = "planted"
    assert "all but a fifth" not in words(app.run())


def test_has_one_primary_button_and_three_cards():
    app = opened()
    assert [button.label for button in app.button if button.proto.type == "primary"] == ["Train"]
    assert [title in words(app) for title in ("Explore", "Teach", "Use your data")] == [True] * 3


def test_says_how_ready_it_is():
    app = opened()
    assert any(text in words(app) for text in ("Ready to train", "Compiling, first run only", "Starting the training"))


def test_names_other_data_from_the_address():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.query_params["data"] = "planted"
    app.run()
    assert not app.exception and "1,797" not in words(app)


def test_no_runs_is_a_designed_state():
    assert "No runs yet" in words(opened(owner="nobody"))


def test_lists_the_newest_runs_of_the_session_only():
    store.shared().add(Run(owner=OWNER, page="Consensus", method="GBCClassifier", dataset="digits_views", name="mine"))
    store.shared().add(Run(owner="other", page="Consensus", method="GBCClassifier", dataset="digits_views", name="not"))
    app = opened()
    assert "No runs yet" not in words(app)
    assert "mine" in list(app.dataframe[0].value["name"]) and "not" not in list(app.dataframe[0].value["name"])
    assert app.dataframe[0].proto.placeholder == "–"  # and not None, where a cell has nothing


@pytest.mark.parametrize("label", ["0", "[x](http://evil.example)"])
def test_class_names_are_shown_as_they_are(label):
    import numpy as np

    from hetcore.data import HetData, Source
    from studio.session import Current

    ids = [f"i{k}" for k in range(6)]
    data = HetData({"a": Source(ids, np.eye(6))}, target=(ids, [label, "b"] * 3))
    app = opened(uploaded=Current(data, "Your data", "", {}))
    assert not app.exception
    assert "](http" not in words(app)
