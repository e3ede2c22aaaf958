"""What one person's session works on: the data in use, the what-if operations on them, the files in hand.

Examples are loaded once for all sessions and never change; files of a person stay in their session.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

import datasets
from hetcore.data import HetData
from hetcore.data.text import counted
from hetcore.errors import DataError, ParameterError
from studio import recipes, scenarios, state
from studio.limits import MIB, UPLOADS
from studio.messages import escape, explained, shown
from studio.runs import kept_files, store
from studio.scans import allowed
from studio.scans.opening import SUMMARY, about
from studio.server import login_header, login_name, needs_login, person
from studio.server_uploads import browser_name

__all__ = [
    "CAME_BACK",
    "DEFAULT",
    "OPENING",
    "OWN_FILES",
    "Current",
    "add_operation",
    "asked_number",
    "asked_round",
    "asked",
    "changed",
    "current",
    "files_in_hand",
    "folders",
    "forget_file",
    "keep_file",
    "note",
    "notes",
    "operations",
    "owner",
    "states",
    "summary",
    "tell",
    "tell_round",
    "undo",
    "use_example",
    "use_kept",
    "use_upload",
]

# It has several sources, so that the first screen shows what the studio is about.
DEFAULT = "digits_views"
OPENING = {"known": "20", "noisy": "pix", "sd": "2.0"}
"""In the address that Home's Train leads to: controls under which the opening example has a table to be distrusted."""
OWN_FILES = {"open": "files"}
"""In the address of the Data page: that the tab of one's own files is open."""
OWN = "own-"
"""In an address before the name of kept files, in place of an example's name."""
CAME_BACK = "data came back"
"""In the session: that kept data are in use again, and the files page does not know yet what was chosen for them."""
WRITTEN = "address written"
"""In the session: the address as a page wrote it last."""
CONTROLS = "control values"
"""In the session: values of controls by key, which outlive a switch of pages."""
SHARES = "shares of labels"
"""In the session: keys of the controls that say how many of the labels train, and how many are flipped."""
TEACHING = ("lesson", "present")
"""In the address: what a teacher's link says of a page, whatever data it is about."""
NOTES = "sentences about the address"
"""In the session: the page, and what is to be said on it of its address until it or the data change, by what."""
SESSION_BYTES = UPLOADS.session_bytes
"""Bytes of files that one session keeps."""


@dataclass(frozen=True)
class Current:
    """The data in use, before what-if operations.

    Attributes
    ----------
    data : HetData
        Shared between sessions if it is an example.
    title, story : str
        What people read; not escaped.
    recipe : mapping
        How the data came about, see `studio.recipes`.
    example : str or None
        Name of the data set, None for files of the person.
    files : mapping of str to bytes
        The files of the recipe.
    kept : str
        Name under which the files are kept, see `studio.runs.kept_files`; empty for an example, or where they are not.
    """

    data: HetData
    title: str
    story: str
    recipe: Mapping[str, Any]
    example: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    kept: str = ""


# Shared by all sessions, for nobody changes an example; eight, as each has its tables in memory.
@st.cache_resource(max_entries=8, show_spinner="Loading the example …")
def _loaded(name: str) -> HetData:
    return datasets.load(name)


def current() -> Current:
    """Return the data in use: the person's own, else the example in the URL, else the opening example.

    An example that cannot be loaded, or files that are not kept, are answered by the opening one and a sentence on the
    page.
    """
    asked_for = asked().get("data") or ""
    # Only where nothing of the session's own is in use, or an old address would replace newer data.
    if st.session_state.get("uploaded") is None and asked_for.startswith(OWN):
        _bring_back(asked_for.removeprefix(OWN))
    if (uploaded := st.session_state.get("uploaded")) is not None:
        _name_in_url(f"{OWN}{uploaded.kept}" if uploaded.kept else None)
        return uploaded
    name = "" if asked_for.startswith(OWN) else asked_for
    # The address counts most, then what was used last, for switching pages empties the address.
    return _example(name or st.session_state.get("example") or DEFAULT)


def _bring_back(name: str) -> None:
    """Use the kept files of the address; say why where that can't be."""
    try:
        use_kept(name)
    except (LookupError, DataError) as error:
        st.query_params.pop("data", None)
        note("data", f"{error.args[0]} The opening example is shown.")


def _example(name: str) -> Current:
    """Return an example, the opening one and a sentence where it cannot be loaded."""
    if (failure := _failure(name)) is not None:
        note("data", failure)
        name = DEFAULT
    _remember(name)
    about = datasets.info(name)
    return Current(_loaded(name), about.title, about.story, {"example": name}, name)


def _failure(name: str) -> str | None:
    """Return why an example cannot be used, None if it can."""
    if name not in datasets.names():
        return "There is no example of the name in the address: the opening example is shown, choose another."
    try:
        _loaded(name)
    except (DataError, OSError) as error:
        return f"{explained(error)} The opening example is shown."
    return None


def _remember(name: str) -> None:
    """Keep the example over page switches, which empty the URL; another one starts without operations."""
    # Operations name sources of the former example.
    if st.session_state.get("example", name) != name:
        st.session_state["operations"] = []
    st.session_state["example"] = name
    _name_in_url(None if name == DEFAULT else name)


def _name_in_url(name: str | None) -> None:
    if name is None:
        st.query_params.pop("data", None)
    elif st.query_params.get("data") != name:
        st.query_params["data"] = name


def note(about: str, sentence: str) -> None:
    """Say a sentence about the address, now and in what is drawn after: the address that it is about is soon another.

    An empty one takes back what was said about it.
    """
    _, kept = st.session_state.setdefault(NOTES, ("", {}))
    # On the page already, with what is to be said of its address.
    if sentence and kept.get(about) == sentence:
        return
    kept.pop(about, None)
    if sentence:
        kept[about] = sentence
        _draw_note(sentence)


def notes(page: str) -> None:
    """Begin a page with what is to be said of its address; that of another page is forgotten."""
    before, kept = st.session_state.get(NOTES, ("", {}))
    if before not in ("", page):
        kept = {}
    st.session_state[NOTES] = page, kept
    for sentence in kept.values():
        _draw_note(sentence)


def _draw_note(sentence: str) -> None:
    st.warning(escape(sentence), icon=":material/link_off:")


def _forget_notes() -> None:
    st.session_state.pop(NOTES, None)


def use_example(name: str) -> None:
    """Use an example of `datasets` from now on, without operations.

    Raises
    ------
    ParameterError
        If there is no such example.
    """
    datasets.info(name)
    leave_own()
    _forget_notes()
    st.session_state["example"] = name
    taught = {key: value for key, value in st.query_params.to_dict().items() if key in TEACHING}
    st.query_params.from_dict(taught | ({} if name == DEFAULT else {"data": name}))  # the rest was about other data


def use_upload(recipe: Mapping[str, Any], files: Mapping[str, bytes], data: HetData) -> None:
    """Use data made of the person's files from now on, without operations.

    Parameters
    ----------
    recipe : mapping
        See `studio.recipes`.
    files : mapping of str to bytes
        The files of the recipe.
    data : HetData
        What `studio.recipes.build` made of them.
    """
    title, story = _sample_words(recipe, files, data) if "scan" in recipe else ("Your data", _story(data, recipe))
    try:
        kept = kept_files.shared().keep(owner(), recipe, files, data.digest())
    except OSError:  # a full or read-only disk: they stay in the session
        kept = ""
    st.session_state["uploaded"] = Current(
        data, title, story, recipe=dict(recipe), example=None, files=dict(files), kept=kept
    )
    st.session_state["operations"] = []
    _forget_notes()
    _forget_shares()
    st.query_params.from_dict({"data": f"{OWN}{kept}"} if kept else {})  # the rest was about other data


def leave_own() -> None:
    """Use the person's files no longer, and no operations."""
    if st.session_state.get("uploaded") is not None:
        _forget_shares()
    st.session_state["uploaded"] = None
    st.session_state["operations"] = []


def _forget_shares() -> None:
    # Chosen for other data: an example's labels may be hidden by the hundred, of one's own a model needs most.
    for key in st.session_state.get(SHARES, ()):
        for values in (st.session_state, st.session_state.get(CONTROLS, {})):
            values.pop(key, None)


def _story(data: HetData, recipe: Mapping[str, Any]) -> str:
    parts = [counted(len(data.sources), "table"), *([counted(len(data.graphs), "graph")] if data.graphs else [])]
    labels = f"{int(data.labelled.sum()):,} with a label{recipes.label_of(recipe)}"
    return f"{' and '.join(parts)} about {counted(data.n, 'instance')}, {labels}."


def _sample_words(recipe: Mapping[str, Any], files: Mapping[str, bytes], data: HetData) -> tuple[str, str]:
    """Return title and story of data by path."""
    facts, scan = json.loads(files[SUMMARY]), recipe["scan"]
    folder = Path(next(iter(scan["sources"].values()))).parent.name
    parts = [counted(len(scan["sources"]), "table"), counted(len(scan["graphs"]), "graph")]
    known = facts["share"] >= 1
    count = f"{facts['instances']:,}" if known else f"about {about(facts['instances']):,}"
    story = f"{' and '.join(parts)} of {count} instances; pages show a sample of {data.n:,}."
    return f"Folder {folder}", story


def summary() -> dict[str, Any] | None:
    """Return the statistics of all rows where the data in use are a sample of data by path, else None."""
    now = current()
    return json.loads(now.files[SUMMARY]) if "scan" in now.recipe else None


def folders() -> list[str]:
    """Return the folders of the server whose data the person may open by path."""
    return [str(folder) for folder in allowed.folders(login_name())]


def use_kept(name: str) -> None:
    """Use data again that were uploaded before, with the what-ifs of the address.

    Raises
    ------
    LookupError
        If the person has no kept data of the name.
    DataError
        If they can't be read any more.
    """
    recipe, files = kept_files.shared().get(owner(), name)
    with st.spinner("Reading your files again …"):
        data = recipes.build(recipe, files.__getitem__)
    # use_upload writes the address anew; what it says beside the data is put back below.
    query = st.query_params.to_dict()
    st.session_state.pop("operations", None)
    use_upload(recipe, files, data)
    # The files page shows them, unless others are in hand; of data by path they are a sample that nobody brought.
    if "scan" not in recipe:
        # In the order in which the recipe has them, so that the same choices make the same data.
        st.session_state.setdefault("files", {each: files[each] for each in recipes.files(recipe)})
        st.session_state[CAME_BACK] = True
    del st.session_state["operations"]  # those of the address are read once the data are there
    st.query_params.from_dict(query | {"data": f"{OWN}{st.session_state['uploaded'].kept}"})


def operations() -> list[dict[str, Any]]:
    """Return the what-if operations on the data in use, in their order, as `studio.scenarios` has them.

    A session begins with those of the address, as far as they can be done on the data.
    """
    if "operations" not in st.session_state:
        st.session_state["operations"] = []
        if "whatif" in asked():
            _operations_of_the_address()
    return list(st.session_state["operations"])


def _operations_of_the_address() -> None:
    try:
        log = scenarios.checked(json.loads(asked()["whatif"]))
        # Applied once before it is taken: an address may be of other data.
        scenarios.apply(current().data, log)
        # In the session only afterwards, so that a log that fails leaves none.
        st.session_state["operations"] = log
    except (ValueError, TypeError, RecursionError) as error:
        why = explained(error) if isinstance(error, DataError | ParameterError) else ""
        st.warning(escape(f"The changes to the data in the address are left out, for they don't fit these data. {why}"))


def asked() -> dict[str, str]:
    """Return what the address says that nobody has read yet, and what is kept under the id that it has."""
    given = st.query_params.to_dict()
    if given == st.session_state.get(WRITTEN):  # our own words, about controls that are there already
        return {name: value for name, value in given.items() if name in state.SHOWN}
    if name := given.get("state"):
        # Remembered by its id, for the page runs again at every click and the file need not be read again.
        if st.session_state.get("kept state", (None,))[0] != name:
            try:
                st.session_state["kept state"] = name, state.kept(name, states())
            except ValueError as error:
                st.session_state["kept state"] = name, {}
                st.warning(escape(error), icon=":material/link_off:")
        given = st.session_state["kept state"][1] | {key: value for key, value in given.items() if key != "state"}
    return state.of_today(given)


def tell(name: str, value: str) -> None:
    """Write one of `state.VIEW` to the address, as one of our own words; an empty value takes it from there."""
    if st.query_params.get(name, "") == value:
        return
    if value:
        st.query_params[name] = value
    else:
        st.query_params.pop(name, None)
    st.session_state[WRITTEN] = st.query_params.to_dict()


def tell_round(at: int) -> None:
    """Write the round that is looked at to the address, 0 for the last, which goes without saying."""
    tell(state.ROUND, str(at) if at else "")


def asked_round() -> int:
    """Return the round that the address asks for, 0 for the last."""
    return asked_number(state.ROUND)


def asked_number(name: str) -> int:
    """Return the whole number of one of `state.VIEW` in the address, 0 where there is none."""
    asked_for = asked().get(name, "")
    return int(asked_for) if asked_for.isdecimal() and len(asked_for) < 7 else 0


def states() -> Path:
    """Return the folder of the states that are kept because they are long for an address."""
    return store.home() / "states"


def add_operation(operation: Mapping[str, Any]) -> None:
    """Add a what-if operation.

    Raises
    ------
    ParameterError, DataError
        If it is not valid, or cannot be done after those before it; the log stays as it is.
    """
    log = scenarios.checked([*operations(), operation])
    # Tried before it is kept: an operation that fails leaves the log as it was.
    scenarios.apply(current().data, log)
    st.session_state["operations"] = log


def undo() -> None:
    """Take the last what-if operation back, if there is one."""
    st.session_state["operations"] = operations()[:-1]


def changed() -> HetData:
    """Return the data in use after the what-if operations; the same object as long as neither changes."""
    data, log = current().data, operations()
    if not log:
        return data
    kept = st.session_state.get("changed")
    # By identity: data are never changed in place.
    if kept is None or kept[0] is not data or kept[1] != log:
        kept = st.session_state["changed"] = (data, log, scenarios.apply(data, log).data)
    return kept[2]


def owner() -> str:
    """Return the browser's name towards the job manager and the store, which nobody else can guess.

    Where people log in it is made from who they are. Elsewhere it is made from the cookie that the server gives each
    browser against forged requests, so that a reload finds its runs again; without one it lasts as long as the session.
    """
    if needs_login() or login_header():
        # Nobody logged in: a name for this session alone, so that nothing is shared by accident.
        return person() or st.session_state.setdefault("nobody", secrets.token_urlsafe(24))
    if "owner" not in st.session_state:
        # The cookie outlives the session, so that a reload finds its runs; without one the session has to do.
        cookie = st.context.cookies.get("_streamlit_xsrf", "")
        st.session_state["owner"] = browser_name(cookie) if cookie else secrets.token_urlsafe(24)
    return st.session_state["owner"]


def files_in_hand() -> dict[str, bytes]:
    """Return the files that the session keeps, by name."""
    return dict(st.session_state.get("files", {}))


def keep_file(name: str, content: bytes) -> None:
    """Keep a file, in place of one of the same name.

    Raises
    ------
    DataError
        If the session would keep more than `SESSION_BYTES`.
    """
    # A file of the same name is replaced, so that it does not count.
    others = [kept for other, kept in files_in_hand().items() if other != name]
    in_use = st.session_state.get("uploaded")
    # By identity: the files in use are mostly those in hand, and are in memory once.
    used = {id(kept): len(kept) for kept in [*others, *(in_use.files.values() if in_use else ())]}
    if sum(used.values()) + len(content) > SESSION_BYTES:
        limit = SESSION_BYTES // MIB
        raise DataError(f"{shown(name)} takes your files over {limit} MB: remove some of the others first.")
    st.session_state["files"] = {**files_in_hand(), name: content}


def forget_file(name: str) -> None:
    """Forget a file; data made of it stay in use."""
    st.session_state["files"] = {other: kept for other, kept in files_in_hand().items() if other != name}
