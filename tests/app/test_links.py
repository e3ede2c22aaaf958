"""A link opens the screen that it was copied from: every control, the what-ifs, and no run of other data."""

import json
from pathlib import Path

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest

import datasets
from hetcore.events import RoundEnd
from studio.jobs import manager
from studio.jobs.job import Setting
from studio.runs import restoring, store
from studio.views.common import widgets_controls
from studio.views.common.training import run_of
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "2_Consensus.py",
    pytest.param("3_Collective.py", marks=pytest.mark.slow),
    "5_Noise.py",
    pytest.param("6_Two_learners.py", marks=pytest.mark.slow),
]


def opened(page="2_Consensus.py", **query):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.run()
    app.switch_page(f"pages/{page}")
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


OF_THE_EYE = ("hold", "chart tools switch")
"""What a person sets for looking, and no link holds."""


def controls(page):
    kinds = ("slider", "number_input", "toggle", "multiselect", "selectbox", "button_group")
    return {each.key: each.value for kind in kinds for each in page.get(kind) if each.key not in (None, *OF_THE_EYE)}


def address(page):
    return {name: values[0] if isinstance(values, list) else values for name, values in page.query_params.items()}


def test_a_slider_at_its_least_is_in_the_link():
    page = opened()
    page.slider(key="l0").set_value(0.0)
    page.slider(key="known").set_value(5).run()
    assert address(page)["l0"] == "0.0" and address(page)["known"] == "5"
    other = opened(**address(page))
    assert other.slider(key="l0").value == 0.0 and other.slider(key="known").value == 5


def test_what_ifs_of_the_data_page_are_in_its_link_and_a_step_back_takes_back_the_last(monkeypatch):
    monkeypatch.setattr(widgets_controls, "SETTLED", -1.0)
    page = opened("1_Data.py", open="files")
    assert address(page) == {"open": "files"}
    page.button(key="what_if_apply").click().run()
    one = address(page)
    page.button(key="what_if_apply").click().run()
    assert [each["op"] for each in json.loads(address(page)["whatif"])] == ["noise", "noise"]
    assert opened("1_Data.py", **address(page)).session_state["operations"] == page.session_state["operations"]
    for before, left in ((one, 1), ({"open": "files"}, 0)):
        page.query_params.clear()
        page.query_params.update(before)
        page.run()
        assert not page.exception and address(page) == before and len(page.session_state["operations"]) == left


@pytest.mark.slow
def test_a_step_back_in_the_browser_takes_back_what_was_moved_and_trained(monkeypatch):
    page = opened(data="planted", rounds="10")
    page.button(key="train").click().run()
    first = page.session_state["live Consensus"].runs["Consensus"]
    assert manager.manager().wait(first, timeout=PATIENCE).state == "finished"
    before = address(page.run())
    page.slider(key="rounds").set_value(12).run()
    page.session_state["live Consensus"].durations.clear()
    moved = controls(page)

    def back():
        page.query_params.clear()
        page.query_params.update(before)
        return page.run()

    # An address of before that comes at once is a late word of the browser, and takes back nothing; a training that
    # ends by then has more controls.
    late = controls(back())
    assert {key: late[key] for key in moved} == moved
    monkeypatch.setattr(widgets_controls, "SETTLED", -1.0)
    back()
    assert not page.exception and page.slider(key="rounds").value == 10 and address(page) == before
    assert page.session_state["live Consensus"].runs == {"Consensus": first}
    # Another page's address has none of this one's controls.
    assert "l0" not in address(page.switch_page("pages/3_Collective.py").run())


def trainings():
    import streamlit as st

    from studio import session
    from studio.views.common.widgets_training import LiveTrainings

    live = LiveTrainings("Consensus", session.current(), "anna")
    live.controls(live.settings)
    before = {label: (setting.params, len(events)) for label, (setting, events) in live.before.items()}
    st.session_state["seen"] = live.runs, before


@pytest.mark.parametrize("data, known", [("planted", True), ("digits_views", False)])
def test_the_training_before_is_in_the_link_and_one_of_other_data_is_not_taken(data, known):
    runs = []
    for lambda0, name in ((0.0, data), (1.0, "planted")):
        setting, digest = Setting("GBCRegressor", {"lambda0": lambda0}), datasets.load(name).digest()
        run = run_of("Consensus", setting, {"example": name}, name, "anna", digest=digest)
        runs.append(store.shared().add(run, rounds=restoring.to_bytes([RoundEnd("GBC", 0, 1, {}, {})])))
    page = AppTest.from_function(trainings, default_timeout=PATIENCE)
    for key, value in {"data": "planted", "run": runs[1], "before": f"{runs[0]},{runs[1]}"}.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception and page.session_state["seen"][0] == {"Consensus": runs[1]}
    assert page.session_state["seen"][1] == ({"Consensus": ({"lambda0": 0.0}, 1)} if known else {})
    assert address(page).get("before") == (runs[0] if known else None)


def test_sources_graphs_noise_and_changes_of_the_data_are_in_the_link():
    change = [{"op": "sample", "fraction": 0.5, "seed": 0}]
    page = opened(sources='["fac","kar"]', graphs="[]", noisy="kar", sd="2.5", whatif=json.dumps(change))
    assert not page.exception
    title = "Digits, five views"
    chosen = {each.label: each.value for each in page.multiselect}
    assert chosen == {"Sources in use": ["fac", "kar"], "Graphs in use": []}, title
    assert page.slider(key="sd").value == 2.5 and page.session_state["operations"] == change
    other = opened(**address(page))
    assert controls(other) == controls(page) and other.session_state["operations"] == change


def test_edits_of_the_network_are_in_the_link_and_those_of_other_data_are_left_out():
    data = datasets.load("autocorrelated")
    (name,), (a, b) = data.graph_names, next(iter(data.graphs.values())).indices[:2]
    edits = [
        {"op": "forget_labels", "ids": [str(data.ids[a])]},
        {"op": "edges", "name": name, "add": [[str(data.ids[a]), str(data.ids[b])]], "cut": []},
    ]
    page = opened("3_Collective.py", data="autocorrelated", edits=json.dumps(edits), edited="1")
    other = opened("3_Collective.py", **address(page))
    for each in (page, other):
        assert not each.exception and not each.warning
        texts = [one.value for one in each.markdown if "without the label of" in one.value]
        assert len(texts) == 1 and f"with 1 edge added in {name}" in texts[0]
        assert json.loads(address(each)["edits"]) == edits and address(each)["edited"] == "1"
    nonsense = [{"edits": text} for text in ("[{}]", "[", '[{"op": "drop_graph", "name": "x"}]')]
    for query in ({"data": "digits_views"}, *nonsense):
        refused = opened("3_Collective.py", **(address(page) | query))
        assert not refused.exception and "The edits of the network are left out" in refused.warning[0].value
        assert address(refused)["edits"] == "[]"


@pytest.mark.slow
def test_the_way_back_to_a_training_without_a_source_leaves_it_out_though_a_what_if_did_so_too():
    page = opened(data="planted")
    name = page.multiselect[0].options[-1]
    page.multiselect[0].set_value(page.multiselect[0].options[:-1]).run()
    page.button(key="train").click().run()
    run = page.session_state["live Consensus"].runs["Consensus"]
    assert manager.manager().wait(run, timeout=PATIENCE).state == "finished"
    page.session_state["live Consensus"].durations.clear()  # no estimate: it does not train by itself
    gone = {"op": "drop_source", "name": name}
    page.session_state["operations"] = [gone, {"op": "sample", "fraction": 0.5, "seed": 0}]
    page.run()
    assert not page.exception and name not in page.multiselect[0].options
    next(each for each in page.button if each.label == "Back to what was trained").click().run()
    assert not page.exception and name in page.multiselect[0].options and name not in page.multiselect[0].value


@pytest.mark.parametrize("name", PAGES)
def test_every_page_comes_back_from_its_own_address(name):
    page = opened(name)
    for slider in page.slider:
        slider.set_value(slider.min)
    for toggle in page.toggle:
        if toggle.key not in (None, *OF_THE_EYE) and not toggle.key.endswith("printed"):
            toggle.set_value(True)
    page.run()
    assert not page.exception
    assert controls(opened(name, **address(page))) == controls(page)


@pytest.mark.parametrize(
    "query",
    [{"seed": "1e999"}, {"seed": "9" * 400}, {"l0": "nan"}, {"known": "-7"}, {"sources": "[" * 9999}, {"noisy": "<b>"},
     {"whatif": "[{}]"}, {"whatif": "{"}, {"state": "../x"}, {"printed": "maybe"}],
)  # fmt: skip
def test_an_address_of_nonsense_opens_the_page(query):
    page = opened(**query)
    assert not page.exception and 0 <= page.number_input(key="seed").value <= 9999


@pytest.mark.slow
def test_a_run_of_other_data_is_not_shown():
    page = opened(data="planted")
    page.button(key="train").click().run()
    run = page.session_state["live Consensus"].runs["Consensus"]
    assert manager.manager().wait(run, timeout=PATIENCE).state == "finished"
    again = opened(**address(page.run()))
    assert again.session_state["live Consensus"].runs == {"Consensus": run}
    other = opened(**(address(page) | {"data": "autocorrelated"}))
    assert "live Consensus" not in other.session_state and "run" not in address(other)


def warned(page):
    return [each.value.replace("\\", "") for each in page.warning]


@pytest.mark.slow
def test_a_link_to_a_training_that_is_not_kept_says_so_until_one_is_begun():
    page = opened(data="planted", run="nosuch")
    sentence = "This training is not kept here any more: press Train to make it again."
    assert warned(page) == warned(page.run()) == [sentence] and "run" not in address(page)
    page.button(key="train").click().run()
    manager.manager().wait(page.session_state["live Consensus"].runs["Consensus"], timeout=PATIENCE)
    assert warned(page.run()) == []


def test_of_several_trainings_those_that_are_kept_are_shown_and_the_others_named():
    page = opened(data="planted")
    page.button(key="train").click().run()
    run = page.session_state["live Consensus"].runs["Consensus"]
    assert manager.manager().wait(run, timeout=PATIENCE).state == "finished"
    sentence = "Other is not kept here any more: press Train to make what is missing again."
    linked = opened(**(address(page.run()) | {"run": f"{run},nosuch", "labels": "Consensus|Other"}))
    live = page.session_state["live Consensus"]
    live.runs["Other"], live.settings["Other"] = "nosuch", live.settings["Consensus"]  # deleted on the page of runs
    for each in (linked, page.run()):
        assert not each.exception and warned(each) == [sentence]
        assert each.session_state["live Consensus"].runs == {"Consensus": run} and address(each)["run"] == run
    page.session_state["live Consensus"].runs["Consensus"] = "gone"  # all that there was, deleted in another window
    page.query_params["run"] = "gone"
    sentence = "This training is not kept here any more: press Train to make it again."
    assert warned(page.run())[-1] == sentence
    page.query_params["run"] = "gone"  # as the browser has it that moved a control meanwhile
    assert warned(page.run()) == [sentence] and not page.exception and "run" not in address(page)


@pytest.mark.parametrize("name", ["2_Consensus.py", "3_Collective.py"])
def test_the_sentence_about_an_unknown_example_stays_until_the_page_changes(name):
    page = opened(name, data="nosuch")
    (sentence,) = warned(page)
    assert sentence.startswith("There is no example of the name in the address")
    assert warned(page.run()) == [sentence]
    assert warned(page.switch_page("pages/1_Data.py").run()) == []


def test_values_of_a_link_that_cannot_be_taken_are_named():
    page = opened(data="planted", sources='["nope"]', known="999", l0="-5", l1="0.4", noisy="zzz")
    (sentence,) = warned(page)
    assert sentence.startswith("Not as the link says, for that cannot be here: ")
    for word in ("Sources", "Labels known, per cent", "λ0", "Noise in a source"):
        assert word.lower() in sentence.lower()
    assert "λ1" not in sentence and warned(page.run()) == [sentence]
    assert warned(opened(**address(page))) == []


def test_changes_of_the_data_that_do_not_fit_are_left_out_and_the_reason_is_a_sentence_of_its_own():
    page = opened(whatif=json.dumps([{"op": "drop_source", "name": "gone"}]))
    (words,) = [each for each in warned(page) if "left out" in each]
    assert "don't fit these data. There is no source 'gone'" in words and "whatif" not in address(page)


def test_what_is_shown_under_other_settings_says_so():
    page = opened(data="planted")
    page.button(key="train").click().run()
    run = page.session_state["live Consensus"].runs["Consensus"]
    assert manager.manager().wait(run, timeout=PATIENCE).state == "finished"
    page.session_state["live Consensus"].durations.clear()  # no estimate: it does not train by itself
    page.run()
    page.session_state["live Consensus"].durations.clear()
    page.slider(key="rounds").set_value(200).run()
    words = " ".join(each.value for each in page.info)
    retrained = page.session_state["live Consensus"].runs["Consensus"] != run
    assert retrained or "trained with other settings: rounds 100 → 200" in words


def test_the_way_back_to_what_was_trained_sets_every_control_and_the_what_ifs():
    page = opened(data="planted", known="45", sources='["source_1","source_2"]')
    page.button(key="stepwise").click().run()  # stays at its first round, so that nothing retrains by itself
    run = page.session_state["live Consensus"].runs["Consensus"]
    before = controls(page)
    assert "back" not in [each.key for each in page.button]
    manager.manager().stop(run)
    manager.manager().wait(run, timeout=PATIENCE)
    page.slider(key="rounds").set_value(200)
    page.toggle(key="l1auto").set_value(False)
    page.session_state["operations"] = [{"op": "sample", "fraction": 0.5, "seed": 0}]
    page.run()
    assert controls(page) != before and "trained with other settings" in " ".join(each.value for each in page.info)
    page.button(key="back").click().run()
    assert not page.exception and controls(page) == before and page.session_state["operations"] == []
    assert "back" not in [each.key for each in page.button]


def test_a_control_moved_while_a_training_is_paused_is_reported_and_followed_when_pressed():
    page = opened(data="planted")
    page.button(key="stepwise").click().run()
    run = page.session_state["live Consensus"].runs["Consensus"]
    assert manager.manager().wait(run, ["paused"], PATIENCE).state == "paused"
    assert page.run().button(key="train").disabled and "back" not in [each.key for each in page.button]
    page.slider(key="l0").set_value(1.0).run()
    words = " ".join(each.value for each in page.info)
    assert "What goes on has other settings: λ0 0.3 → 1. Press Train to stop it" in words
    page.button(key="back").click().run()
    assert page.slider(key="l0").value == 0.3 and page.button(key="train").disabled
    page.slider(key="l0").set_value(1.0).run()
    page.button(key="train").click().run()
    new = page.session_state["live Consensus"]
    assert not page.exception and new.runs["Consensus"] != run and new.settings["Consensus"].params["lambda0"] == 1.0
    assert manager.manager().wait(run, timeout=PATIENCE).state == "stopped"
    manager.manager().stop(new.runs["Consensus"])


def test_a_link_opens_a_lesson_at_its_first_step_and_another_page_has_its_own():
    page = opened(lesson="noise")
    assert not page.exception and any("**A noisy source** · step 1 of 3" in each.value for each in page.markdown)
    assert address(page)["lesson"] == "noise"
    other = opened("3_Collective.py", lesson="noise")
    assert not any("step 1 of" in each.value for each in other.markdown)


def test_a_value_that_the_browser_never_got_is_sent_once_more():
    page = opened(known="45")
    assert page.slider(key="known").value == 45
    page = page._run(WidgetStates())  # of a browser whose first run was cut short: it sends nothing
    lost = page.slider(key="known")
    assert lost.value == 45 and lost.proto.set_value and lost.proto.value == [45.0]
    assert not page.run().slider(key="known").proto.set_value  # it knows now


def _two_tabs():
    import streamlit as st

    from studio.views.common.widgets_tabs import tabs

    tabs({"One": lambda: st.markdown("first"), "Two": lambda: st.markdown("second")}, "after")


@pytest.mark.parametrize(("asked", "made"), [(None, "first"), ("Two", "second"), ("Three", "first")])
def test_a_link_opens_its_tab_and_only_that_one_is_made(asked, made):
    page = AppTest.from_function(_two_tabs, default_timeout=PATIENCE)
    if asked is not None:
        page.query_params["after"] = asked
    page.run()
    assert not page.exception and [each.value for each in page.markdown] == [made]


def test_an_open_tab_that_is_no_more_gives_way_to_the_first():
    page = AppTest.from_function(_two_tabs, default_timeout=PATIENCE)
    page.session_state["after"] = "Steps"
    page.run()
    assert not page.exception and page.markdown[0].value == "first"


def _a_choice():
    import streamlit as st

    from studio.views.common.widgets_controls import asked_choice, in_link

    options = ["a", "b", "c"]
    st.selectbox("Node", options, asked_choice("node", options), **in_link("node"))


@pytest.mark.parametrize(("asked", "chosen"), [(None, "a"), ("b", "b"), ("gone", "a")])
def test_a_link_opens_what_was_chosen_to_be_looked_at(asked, chosen):
    page = AppTest.from_function(_a_choice, default_timeout=PATIENCE)
    if asked is not None:
        page.query_params["node"] = asked
    page.run()
    assert not page.exception and page.selectbox[0].value == chosen
    page.selectbox[0].set_value("c").run()
    assert address(page)["node"] == "c" and page.selectbox[0].value == "c"


def _a_choice_that_is_gone():
    from studio.views.common.widgets_controls import in_link

    in_link("mass", "mass_of")["on_change"]()


def test_a_choice_whose_value_was_taken_away_changes_nothing_in_the_link():
    page = AppTest.from_function(_a_choice_that_is_gone, default_timeout=PATIENCE)
    page.query_params["mass"] = "Blend"
    assert not page.run().exception and address(page)["mass"] == "Blend"


MOVED = {
    "2_Consensus.py": {"l0": 0.7, "known": 50}, "3_Collective.py": {"share": 60},
    "5_Noise.py": {"noise_rounds_classification": 20}, "6_Two_learners.py": {"two_rounds": 30},
    "4_Transfer.py": {"examples": 1},
}  # fmt: skip
DATA = {"3_Collective.py": "autocorrelated", "4_Transfer.py": "office_caltech"}


@pytest.mark.parametrize("name", [*PAGES, pytest.param("4_Transfer.py", marks=pytest.mark.slow)])
def test_a_link_of_a_moved_control_opens_with_the_way_back_to_what_was_trained(name):
    page = opened(name, data=DATA.get(name, "planted" if name.startswith("2") else "digits_views"))
    page.button(key="stepwise").click().run()
    before = controls(page)
    for run in address(page)["run"].split(","):
        manager.manager().stop(run)
        manager.manager().wait(run, timeout=PATIENCE)
    for key, value in MOVED[name].items():
        page.slider(key=key).set_value(value)
    page.run()
    other = opened(name, **address(page))
    words = " ".join(each.value for each in other.info)
    assert "trained with other settings" in words and controls(other) == controls(page) != before
    assert other.button(key="train").label == "Train with these settings"  # nothing is known of its seconds
    other.button(key="back").click().run()
    assert not other.exception and controls(other) == before
    assert "back" not in [each.key for each in other.button]
