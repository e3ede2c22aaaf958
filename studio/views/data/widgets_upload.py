"""The part of the Data page where files become data: read, looked at, put together, used."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from pathlib import PurePosixPath
from typing import Any

import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from hetcore.data import HetData
from hetcore.data.kinds import KINDS
from hetcore.data.spelling import WAYS, WORDS
from hetcore.data.text import counted, listed
from hetcore.errors import DataError
from studio import recipes, session
from studio.limits import MIB, UPLOADS
from studio.messages import explained
from studio.readers import excel, upload_problems, upload_schema
from studio.readers.domain_tables import domain_column, domains_within
from studio.readers.upload_problems import Problems
from studio.readers.upload_schema import Label
from studio.uploads import ROLES, TABULAR, Upload, file_name, read
from studio.views.common.widgets import escape
from studio.views.data import choices
from studio.views.data.choices import NO_LABELS

__all__ = ["EMPTIED", "upload_panel"]

UPLOADER = "uploader"
EMPTIED = "uploader emptied"
"""In the session: how often other files than those that it names came into hand, and it began anew."""
SHOWN_COLUMNS = 30
MOST_SHEETS = 6
ROLE_WORDS = {"table": "a table", "graph": "a graph", "labels": "labels only", "images": "images"}
TASK_WORDS = {"classification": "classes", "regression": "numbers"}
FILES = {NO_LABELS: NO_LABELS, upload_schema.EACH: "each table: its own rows and labels"}
NUMBERED = "row numbers"
FIRST_ROW = {True: "names of columns", False: "data"}
TEXT = "text"
"""Not None, of which a list shows that nothing is chosen."""
DATES = {TEXT: TEXT, True: "day first, 3 April", False: "month first, 4 March"}
LEAD = {False: "both ways", True: "one way, from source to target"}


def upload_panel() -> None:
    """Take files, let the person correct what was guessed, and use them."""
    _recall()
    _take_files()
    refused = st.container()
    files = session.files_in_hand()
    first = {name: _of_sheet(name, content) for name, content in files.items()}
    edges = upload_schema.edge_lists([upload for upload in first.values() if isinstance(upload, Upload)])
    uploads = [upload for name, content in files.items() if (upload := _file(name, content, edges.get(name)))]
    if not uploads:
        st.caption("One row an instance, one column its id: the same ids in every table. A graph is a list of edges.")
    else:
        _alignment(uploads)
    # The last, for once the others are in use it is of no file in hand.
    with refused:
        for sentence in st.session_state.get("refused", {}).values():
            st.error(escape(sentence))


def _recall() -> None:
    """Choose again what data that came back were made with: a session that begins knows nothing of it."""
    now = session.current()
    back = st.session_state.pop(session.CAME_BACK, False)
    if not back or now.files != session.files_in_hand():
        return
    found = choices.made(now.recipe, now.files)
    for name, values in (("chosen", found.chosen), ("kind_log", found.kinds), ("left_out", found.left_out)):
        st.session_state.setdefault(name, {}).update(values)
    st.session_state["spelling_log"] = found.spelling
    # Drawn anew from what was chosen.
    for key in found.kinds:
        st.session_state.pop(key, None)
    st.session_state["kind_bases"] = {}


def _take_files() -> None:
    key = f"{UPLOADER} {st.session_state.get(EMPTIED, 0)}"
    fresh = key not in st.session_state
    given = st.file_uploader(
        f"Tables, graphs and zips of images, up to {UPLOADS.file_bytes // MIB} MB each",
        accept_multiple_files=True,
        key=key,
        help="CSV, TSV, XLSX, Parquet, Arrow, JSON; graphs also as GraphML, GEXF, GML, MatrixMarket; PNG or JPEG "
        "images named by id in a zip. Larger files: sample them, or save them as Parquet.",
    )
    seen = {} if fresh else st.session_state.get("uploader_seen", {})
    now = {file.file_id: file_name(file.name) for file in given}
    for name in {name for file_id, name in seen.items() if file_id not in now} - set(now.values()):
        session.forget_file(name)
    new = [file for file in given if file.file_id not in seen]
    if new or len(seen) != len(now):
        st.session_state["refused"] = {}
    for file in new:
        _take(now[file.file_id], file.getvalue())
    st.session_state["uploader_seen"] = now


def _take(name: str, content: bytes) -> None:
    """Keep a file if it can be read; else note the sentence, and leave the files in hand as they are."""
    try:
        with st.spinner(f"Reading {escape(name)} …"):
            _read(name, content, None)
        session.keep_file(name, content)
    except DataError as error:
        st.session_state.setdefault("refused", {})[name] = explained(error)


def _read(
    name: str,
    content: bytes,
    role: str | None,
    header: bool | None = None,
    day_first: bool | None = None,
    *,
    sheet: str | None = None,
) -> Upload:
    """Read a file once for each role and what is said of it."""
    kept, how = st.session_state.setdefault("previews", {}), (name, role, header, day_first, sheet)
    known = kept.get(how)
    if known is None or known[0] is not content:
        kept[how] = known = (content, read(name, content, role, header, day_first, sheet=sheet))
    return known[1]


def _of_sheet(name: str, content: bytes) -> Upload | DataError:
    """Read a file as it suggests, of a workbook the chosen sheet; return why not where that one can't be read."""
    try:
        return _read(name, content, None, sheet=_sheet(name, content))
    except DataError as error:
        return error


def _sheet(name: str, content: bytes) -> str | None:
    """Return the sheet of a workbook that the person chose now, or when the data in use were put together."""
    now = session.current()
    recipe = now.recipe if (now.files or {}).get(name) == content else {}
    used = next((sheet for part in recipes.parts(recipe) if part["file"] == name and (sheet := _named(part))), None)
    sheet = st.session_state.setdefault("chosen", {}).get(f"sheet {name}", used)
    return sheet if sheet in _read(name, content, None).sheets else None


def _named(part: Mapping[str, Any]) -> str | None:
    return part.get("options", {}).get("sheet")


def _choice(label: str, options: Sequence[Any], guess: Any, key: str, **more: Any) -> Any:
    """Show a choice that follows the guess until the person chooses, and remembers the choice over page switches."""
    chosen = st.session_state.setdefault("chosen", {})
    st.session_state[key] = chosen[key] if key in chosen and chosen[key] in options else guess
    return st.selectbox(label, options, key=key, on_change=_remember, args=(key,), **more)


def _remember(key: str) -> None:
    st.session_state["chosen"][key] = st.session_state[key]


def _remove(name: str) -> None:
    """Forget a file, and empty the uploader, which would go on naming it: all files in hand stand below it."""
    session.forget_file(name)
    st.session_state[EMPTIED] = st.session_state.get(EMPTIED, 0) + 1


def _file(name: str, content: bytes, edges: bool | None) -> Upload | None:
    """Show a file with the switches of its role and header and a button that removes it; return it if it can be read.

    Parameters
    ----------
    name : str
    content : bytes
    edges : bool or None
        Whether it has a header, of a table that holds edges by its ids; None of any other.
    """
    guessed = _of_sheet(name, content)
    with st.container(border=True):
        title, first, switch, remove = st.columns([4, 2, 2, 1], vertical_alignment="bottom")
        remove.button("Remove", key=f"remove {name}", on_click=_remove, args=(name,), width="stretch")
        sheet = _with_sheet(name, content)
        if isinstance(guessed, DataError):
            return _unread(title, name, guessed)
        with switch:
            guess = guessed.role if edges is None else "graph"
            role = _choice(
                "Use as", ROLES, guess, f"role {name}", format_func=ROLE_WORDS.get,
                help="Guessed from the file's name and columns, and from ids of the other files.",
            )  # fmt: skip
        try:
            known = edges if role == "graph" else None
            as_it_is = role == guessed.role and known is None
            upload = guessed if as_it_is else _read(name, content, role, known, sheet=sheet)
            with first:
                upload = _with_header(name, content, upload)
        except DataError as error:
            return _unread(title, name, error)
        title.markdown(f"**{escape(name)}** · {_size(upload)}")
        if upload.role == "graph":
            upload = _with_direction(upload)
        upload = _with_sheets_left(content, _with_dates(content, upload))
        _preview(upload)
        if upload.role == "table" and (column := domain_column(upload.frame)):
            text = f"Split into domains: {escape(listed(upload.frame[column].unique(maintain_order=True), 4))}"
            help_ = "One table a domain, so that the Transfer page can learn for one from the others."
            st.button(text, key=f"split {name}", on_click=_split, args=(name, upload.frame), help=help_)
    return upload


def _unread(title: DeltaGenerator, name: str, error: DataError) -> None:
    title.markdown(f"**{escape(name)}**")
    st.error(escape(explained(error)))


def _with_sheet(name: str, content: bytes) -> str | None:
    """Let the person say which sheet of a workbook is read, where several have a table, and use others beside it."""
    sheets = _read(name, content, None).sheets
    if not sheets:
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sheet = _choice("Sheet", sheets, _sheet(name, content) or sheets[0], f"sheet {name}", width=320)
        twins = _sheets_in_hand(content, sheets[0])
        rest = [other for other in sheets if other not in twins.values()] if name == next(iter(twins)) else []
        for other in rest[:MOST_SHEETS]:
            st.button(f"Use {escape(other)} too", key=f"add {name} {other}", on_click=_add_sheet, args=(name, other))
    return sheet


def _sheets_in_hand(content: bytes, first: str) -> dict[str, str]:
    """Return the sheet that is read of each file that is this workbook; `first` is read unless another is chosen."""
    # The same bytes under another name, so that it is a file as any other from here on.
    twins = [each for each, twin in session.files_in_hand().items() if twin == content]
    return {each: _sheet(each, content) or first for each in twins}


def _with_sheets_left(content: bytes, upload: Upload) -> Upload:
    """Take sheets that are used beside this one out of what is said to be left out."""
    if not upload.sheets:
        return upload
    used = set(_sheets_in_hand(content, _read(upload.name, content, None).sheets[0]).values())
    findings = []
    for finding in upload.findings:
        # Of very many the names are not all there.
        known = finding.kind == "other_sheet" and len(finding.examples) == finding.count
        others = [sheet for sheet in finding.examples if sheet not in used]
        tables = [sheet for sheet in upload.sheets if sheet in others]
        findings += excel.left_out(upload.sheets[0], others, tables) if known else [finding]
    return upload._replace(findings=findings)


def _add_sheet(name: str, sheet: str) -> None:
    """Take a workbook once more, under a name with the sheet in it, for that sheet."""
    files, path = session.files_in_hand(), PurePosixPath(name)
    # Short enough that the number is not cut off: a name is of 120 signs at most.
    twin = _free_name(f"{path.stem[:40]} {sheet[:40]}", path.suffix)
    st.session_state["chosen"][f"sheet {twin}"] = sheet
    session.keep_file(twin, files[name])


def _split(name: str, frame: pl.DataFrame) -> None:
    """Take each domain of a table as a file of its own, in place of that table."""
    try:
        for domain, table in domains_within(frame).items():
            content = io.BytesIO()
            table.write_parquet(content)
            session.keep_file(_free_name(domain[:80], ".parquet"), content.getvalue())
        _remove(name)
    except DataError as error:
        st.session_state.setdefault("refused", {})[name] = explained(error)


def _free_name(stem: str, suffix: str) -> str:
    """Return the name of a file that is not in hand, with a number if need be."""
    named = (file_name(f"{stem}{number}{suffix}") for number in chain([""], map(" {}".format, count(2))))
    return next(each for each in named if each not in session.files_in_hand())


def _with_direction(upload: Upload) -> Upload:
    """Let the person say whether the edges of a graph lead one way; what the file says of it is the guess."""
    guess = any(finding.kind == "directed" for finding in upload.findings)
    text = "One way keeps who points to whom: Consensus then looks at either side, and Collective offers both."
    key = f"lead {upload.name}"
    choice = _choice("Edges lead", [False, True], guess, key, format_func=LEAD.get, help=text, width=320)
    return upload._replace(directed=choice)


def _with_dates(content: bytes, upload: Upload) -> Upload:
    """Let the person say what dates such as 3/4/2015 are, where all of a column may be either; text is the guess."""
    if not any(finding.kind == "ambiguous_date" for finding in upload.findings):
        return upload
    key = f"dates {upload.name} {upload.role}"
    choice = _choice("Dates such as 3/4/2015 are", [*DATES], TEXT, key, format_func=DATES.get, width=320)
    if choice == TEXT:
        return upload
    sheet = next(iter(upload.sheets), None)
    return _read(upload.name, content, upload.role, upload.header, choice, sheet=sheet)


def _with_header(name: str, content: bytes, upload: Upload) -> Upload:
    """Let the person say whether the first row of a text names the columns; return the file read so."""
    guess = upload_schema.first_row(upload)
    if guess is None:
        return upload
    key = f"first row {name} {upload.role}"
    choice = _choice("First row", [True, False], guess, key, format_func=FIRST_ROW.get, help="Guessed from its cells.")
    return upload if choice == guess else _read(name, content, upload.role, choice)


def _size(upload: Upload) -> str:
    height, width = upload.frame.shape
    if upload.role == "images":
        return counted(height, "image")
    return (
        counted(height, "edge") if upload.role == "graph" else f"{counted(height, 'row')}, {counted(width, 'column')}"
    )


def _preview(upload: Upload) -> None:
    if upload.guesses:
        st.caption(f"Read with {escape(', '.join(upload.guesses))}.")
    for finding in upload.findings:
        st.caption(f":material/info: {escape(finding)}")
    if upload.pixels is not None:
        st.image(list(upload.pixels[:12].squeeze(-1) if upload.pixels.shape[-1] == 1 else upload.pixels[:12]), width=64)
        return
    with st.expander("First rows", icon=":material/table_rows:"):
        st.dataframe(upload.frame[:5, :SHOWN_COLUMNS], hide_index=True, alt="The first rows of the file")
    if upload.role == "table":
        with st.expander("Column kinds", icon=":material/category:"):
            _kinds(upload)


def _kinds(upload: Upload) -> None:
    """Show each column's kind, to be changed: a base that stays and a log of what differs from the guess."""
    key, bases = choices.kinds_key(upload.name, upload.digest), st.session_state.setdefault("kind_bases", {})
    log = st.session_state.setdefault("kind_log", {})
    if key not in st.session_state or key not in bases:
        changed = log.get(key, {})
        rows = [(column, changed.get(column, kind), why) for column, (kind, why) in upload.kinds.items()]
        bases[key] = pl.DataFrame(rows, schema=["column", "kind", "why"], orient="row")
    kinds = st.column_config.SelectboxColumn("kind", options=KINDS, required=True, help="How the column is learned.")
    edited = st.data_editor(
        bases[key], key=key, hide_index=True, disabled=["column", "why"], column_config={"kind": kinds},
        alt="The kind of each column and why it was guessed",
    )  # fmt: skip
    pairs = zip(edited["column"], edited["kind"])
    log[key] = {column: kind for column, kind in pairs if kind != upload.kinds[column][0]}


def _kinds_changed(uploads: Sequence[Upload]) -> dict[str, dict[str, str]]:
    log = st.session_state.get("kind_log", {})
    return {upload.name: log.get(choices.kinds_key(upload.name, upload.digest), {}) for upload in uploads}


def _alignment(uploads: Sequence[Upload]) -> None:
    """Choose what the files have in common, and the labels; the main button uses them."""
    st.subheader("How they fit together")
    ids = _ids(uploads)
    label, task = _label(uploads, ids)
    # Rows of two domains may have one number: they are different things in any case.
    each = label is not None and label.file == upload_schema.EACH
    odd = (upload_schema.ids_of_domains, upload_schema.repeated_ids) if each else (upload_schema.row_numbers,)
    for sentence in filter(None, [*(check(uploads, ids) for check in odd), upload_schema.nearly_domains(uploads)]):
        st.caption(f":material/info: {escape(sentence)}")
    without, spelling = _left_out(uploads), _spelling()
    clicked = st.button("Use this data", type="primary", icon=":material/check:")
    clicked = st.session_state.pop("again", False) or clicked

    def compose() -> dict[str, Any]:
        recipe = recipes.recipe_of(uploads, ids, label, task=task, kinds=_kinds_changed(uploads), without=without)
        return recipe | ({"spelling": spelling} if spelling else {})

    files = [(u.name, u.role, u.digest) for u in uploads]
    stamp = json.dumps([ids, label, task, _kinds_changed(uploads), files, without, spelling])
    if clicked:
        _attempt(compose, stamp, {upload.name: upload.digest for upload in uploads})
    if not _outcome(stamp):
        _say_not_in_use(compose)


def _say_not_in_use(compose: Callable[[], dict[str, Any]]) -> None:
    """Say so where own data are in use, and these are others or were put together otherwise."""
    now, files = session.current(), session.files_in_hand()
    if now.example is not None or "scan" in now.recipe:
        return
    try:
        same = compose() == now.recipe and all(files.get(name) == content for name, content in now.files.items())
    except DataError:
        same = False
    if not same:
        st.caption(":material/info: The data in use were put together otherwise: press “Use this data” for these.")


def _left_out(uploads: Sequence[Upload]) -> dict[str, list[str]]:
    """Let the person take back what is left out; return it by file: columns of a table, or the file itself."""
    log, chosen = st.session_state.setdefault("left_out", {}), {}
    for upload in uploads:
        options = upload.frame.columns if upload.role == "table" else [upload.name]
        columns = [column for column in log.get(upload.digest, ()) if column in options]
        if columns:
            key = f"left out {upload.name}"
            st.session_state[key] = columns
            st.multiselect(
                f"Left out of {escape(upload.name)}", options, key=key,
                on_change=_leave_out, args=(upload.digest, key),
                help="What is not learned from. Take one away to learn from it.",
            )  # fmt: skip
            chosen[upload.name] = columns
    return chosen


def _leave_out(digest: str, key: str) -> None:
    st.session_state["left_out"][digest] = list(st.session_state[key])


def _leave_out_leaks(names: dict[str, list[str]]) -> None:
    """Leave columns or whole files out, by the digest of their file, and use the data without them."""
    log = st.session_state["left_out"]
    for digest, some in names.items():
        log[digest] = list(dict.fromkeys([*log.get(digest, ()), *some]))
    st.session_state["again"] = True


def _leaks(found: Problems, recipe: dict[str, Any], data: HetData) -> tuple[dict[str, list[str]], str]:
    """Return what gives the label away, by file as it is left out, and how much that is in words."""
    part = {part["name"]: part for part in recipe["sources"]}
    # Of tables with labels of their own, one that is left out takes its labels with it.
    tables = [] if any("label" in each for each in part.values()) else found.tables
    names = {part[name]["file"]: columns for name, columns in found.leaks.items()}
    for name in tables:
        # Of images there are no columns that a person chooses among.
        file = part[name]["file"]
        names[file] = [file] if part[name].get("images") else data.sources[name].columns
    graphs = {each["name"]: each["file"] for each in recipe.get("graphs", ())}
    names |= {graphs[name]: [graphs[name]] for name in found.graphs}
    counts = {"column": sum(map(len, found.leaks.values())), "table": len(tables), "graph": len(found.graphs)}
    return names, " and ".join(counted(count, what) for what, count in counts.items() if count)


def _spelling() -> list[str]:
    """Let the person take back that ids and classes are written the same way; return the ways."""
    ways = st.session_state.get("spelling_log", [])
    if not ways:
        return []
    st.session_state["spelling"] = ways
    st.multiselect(
        "Ids and classes are made the same in", WAYS, key="spelling", on_change=_spell, format_func=WORDS.get,
        help="Ids that differ in these only are one. Take one away to keep them apart.",
    )  # fmt: skip
    _say_rewritten(st.session_state.get("rewritten", ""))
    return ways


def _say_rewritten(example: str) -> None:
    if example:
        st.caption(escape(f"Written so everywhere, in predictions and files that you take away too: {example}."))


def _spell(ways: list[str] | None = None, example: str = "") -> None:
    if example:
        st.session_state["rewritten"] = example
    st.session_state["spelling_log"] = list(st.session_state["spelling"]) if ways is None else ways
    st.session_state["again"] = ways is not None


def _ids(uploads: Sequence[Upload]) -> dict[str, str]:
    guesses, chosen = upload_schema.guess_ids(uploads), {}
    numbers = [""] if upload_schema.domain_columns(uploads) or upload_schema.stands_alone(uploads) else []
    for upload in (upload for upload in uploads if upload.role in TABULAR):
        guess, why = guesses[upload.name]
        chosen[upload.name] = _choice(
            f"Id column of {escape(upload.name)}", [*upload.frame.columns, *numbers], guess, f"id {upload.name}",
            format_func=lambda column: column or NUMBERED, help=f"Guessed {escape(guess or NUMBERED)}: {escape(why)}.",
        )  # fmt: skip
    return chosen


def _label(uploads: Sequence[Upload], ids: dict[str, str]) -> tuple[Label | None, str | None]:
    tables = {upload.name: upload.frame for upload in uploads if upload.role in TABULAR}
    guess = upload_schema.guess_label(uploads, ids)
    where, which, kind = st.columns(3)
    with where:
        shared = upload_schema.domain_columns(uploads)
        options = [NO_LABELS, *tables, *([upload_schema.EACH] if shared else [])]
        hint = "Each table: its rows are of its own, a domain. A file: its labels are for the same ids in all tables."
        first = guess.file if guess else NO_LABELS
        file = _choice("Labels in", options, first, "label file", format_func=lambda f: FILES.get(f, f), help=hint)
    if file == NO_LABELS:
        text = "No label is chosen: the data can be looked at, but nothing can be trained. Choose the file it is in."
        st.warning(text, icon=":material/label_off:")
        return None, None
    table = tables[file] if file else next(iter(tables.values()))
    with which:
        columns = table.columns if file else shared
        first = guess.column if guess and guess.file == file else columns[-1]
        column = _choice("Label", columns, first, f"label of {file}", help="What is to be predicted.")
    task, why = upload_schema.guess_task(table[column])
    with kind:
        options = list(TASK_WORDS)
        choice = _choice(
            "The labels are", options, task, f"task {file} {column}", format_func=TASK_WORDS.get,
            help=f"Guessed from {escape(why)}.",
        )  # fmt: skip
    # A table of one column may be one to learn from.
    if any(upload.name == file and upload.role == "table" for upload in uploads):
        if set(table.columns) == {ids[file], column}:
            text = f"Nothing of {escape(file)} is learned from, for it is labels alone"
            st.caption(f":material/info: {text}: choose another file of labels if it is not.")
    return Label(file, column), choice


def _attempt(compose: Callable[[], dict[str, Any]], stamp: str, digests: dict[str, str]) -> None:
    """Build the data of the files; note what is wrong, or what must be accepted, and use them if nothing is."""
    files = session.files_in_hand()
    attempt = {"stamp": stamp, "errors": [], "accept": None, "leaks": ({}, ""), "ways": [], "example": ""}
    st.session_state["attempt"] = attempt
    try:
        with st.spinner("Putting the files together …"):
            recipe = compose()
            data = recipes.build(recipe, files.__getitem__)
    except DataError as error:
        attempt["errors"] = [explained(error)]
        return
    found = upload_problems.problems(data)
    attempt["errors"], attempt["ways"] = found.hard or found.soft, found.spelling
    attempt["example"] = found.rewritten
    made = (recipe, {name: files[name] for name in recipes.files(recipe)}, data)
    if not attempt["errors"]:
        _use(made)
    elif not found.hard:
        attempt["accept"] = made
        names, words = _leaks(found, recipe, data)
        attempt["leaks"] = {digests[file]: some for file, some in names.items()}, words


def _use(made: tuple[Any, Any, Any]) -> None:
    session.use_upload(*made)
    st.session_state["attempt"], st.session_state["refused"] = None, {}
    st.toast("Your data are in use.", icon=":material/check:")


def _outcome(stamp: str) -> bool:
    """Say what kept these files from being used, and offer what can be done; return whether anything did."""
    attempt = st.session_state.get("attempt")
    if attempt is None or attempt["stamp"] != stamp:
        return False
    for sentence in attempt["errors"]:
        st.error(escape(sentence))
    st.caption("The data in use before stay.")
    names, words = attempt["leaks"]
    if names:
        text = f"Leave {words} out and use the rest"
        st.button(text, type="primary", on_click=_leave_out_leaks, args=(names,), key="leave_out")
    if attempt["ways"]:
        ways = list(dict.fromkeys([*st.session_state.get("spelling_log", []), *attempt["ways"]]))
        text = "Write ids and classes the same way"
        st.button(text, type="primary", on_click=_spell, args=(ways, attempt["example"]), key="spell")
        _say_rewritten(attempt["example"])
    if attempt["accept"] is not None:
        repeated = attempt["accept"][2].report.of("repeated_id")
        text = "Use them with the first row of each id" if repeated else "Use them as they are"
        st.button(text, on_click=_use, args=(attempt["accept"],))
    return True
