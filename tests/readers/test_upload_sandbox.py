"""Changed uploads are answered in words, and the sandbox that reads them outlives what they do to it."""

from __future__ import annotations

import os
import signal

import numpy as np
import polars as pl
import psutil
import pytest

from hetcore.errors import DataError
from studio import uploads
from studio.limits import UPLOADS
from studio.readers import sandbox
from studio.uploads import Options, preview_graph, preview_table, read_table
from tests import hostile
from tests.hostile.disguised import VALID
from tests.readers.test_uploads import refused

GUESS = Options()


# Mutations ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("want", "name"), [key for key in VALID if key[0] != "images"])
def test_damaged_files_are_read_or_refused_in_a_sentence(want, name, seed):
    rng = np.random.default_rng(seed)
    content = bytearray(VALID[want, name])
    for _ in range(1 + seed % 3):
        at, length = int(rng.integers(len(content))), int(rng.integers(1, 8))
        content[at : at + length] = [b"", rng.bytes(length), b"\x00", b'"', b"[" * length][int(rng.integers(5))]
    if seed % 4 == 0:
        del content[int(rng.integers(1, len(content))) :]
    read = preview_graph if want == "graph" else preview_table
    try:
        assert read(name, bytes(content))[0].width > 1
    except DataError as error:
        assert name in str(error) and len(str(error)) < 300 and "\n" not in str(error)


# The sandbox ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_sandbox(monkeypatch):
    """Return a function that puts a sandbox with other limits in place of the usual, and has every file parsed."""
    made = []
    monkeypatch.setattr(uploads, "_parsed", uploads.ParsedFiles(0))

    def make(**limits):
        made.append(sandbox.Sandbox(UPLOADS._replace(**limits)))
        monkeypatch.setattr(sandbox, "_shared", made[-1])
        return made[-1]

    yield make
    for box in made:
        box.close()


def big_table(rows: int = 200_000) -> bytes:
    """Return a CSV that takes a while to read."""
    return b"id,x\n" + b"a,1.25\n" * rows


def test_a_reader_that_takes_too_long_is_ended_and_the_next_one_works(small_sandbox):
    small_sandbox(parser_seconds=0.01)
    with pytest.raises(DataError, match="big.csv takes longer than"):
        read_table("big.csv", big_table())
    small_sandbox()
    assert read_table("a.csv", b"id,x\na,1\n").height == 1


def test_a_reader_that_wants_too_much_memory_is_ended(small_sandbox):
    box = small_sandbox(parser_memory=2**30)
    with pytest.raises(DataError, match="memory"):
        read_table("big.csv", b"id,x\n" + b'"a",1\n' * 6_000_000)
    assert read_table("a.csv", b"id,x\na,1\n").height == 1
    assert box._process.poll() is None


def test_a_killed_server_is_replaced(small_sandbox):
    box = small_sandbox()
    read_table("a.csv", b"id,x\na,1\n")
    os.kill(box._process.pid, signal.SIGKILL)
    box._process.wait()
    assert read_table("a.csv", b"id,x\na,1\n").height == 1


def test_a_file_is_parsed_once_however_often_it_is_read(small_sandbox, monkeypatch):
    box, asked = small_sandbox(), []
    ask = box.ask
    monkeypatch.setattr(box, "ask", lambda name, request, content: asked.append(name) or ask(name, request, content))
    monkeypatch.setattr(uploads, "_parsed", uploads.ParsedFiles(1_000))
    first = uploads.preview_table("a.csv", b"id,x\na,1\n")
    first.guesses.append("by a page")
    assert uploads.preview_table("a.csv", b"id,x\na,1\n").guesses == first.guesses[:-1]
    assert read_table("a.csv", b"id,x\na,1\n").equals(first.frame) and asked == ["a.csv"]
    assert read_table("a.csv", b"id,x\na,2\n")["x"].to_list() == [2]
    assert read_table("a.csv", b"id,x\na,1\n", Options(text_columns=("x",)))["x"].to_list() == ["1"]
    assert read_table("b.csv", b"id,x\na,1\n").height == 1 and len(asked) == 4
    read_table("big.csv", b"id,x\n" + b"a,1\n" * 500)  # over the limit by itself: not kept, and nothing else is
    read_table("big.csv", b"id,x\n" + b"a,1\n" * 500)
    assert len(asked) == 6


def test_children_do_not_stay(small_sandbox):
    box = small_sandbox()
    for _ in range(3):
        read_table("a.csv", b"id,x\na,1\n")
    children = psutil.Process(box._process.pid).children()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive


def test_the_studio_does_not_grow_with_hostile_files():
    read_table("a.csv", b"id,x\na,1\n")
    before = psutil.Process().memory_info().rss
    for case in hostile.TABLES[:25]:
        refused(case.name, case.content())
    assert psutil.Process().memory_info().rss - before < 50 * 2**20


def test_numbers_survive_reading_to_the_last_bit():
    values = np.random.default_rng(0).normal(size=200)
    content = "id,x\n" + "".join(f"r{k},{value!r}\n" for k, value in enumerate(values.tolist()))
    assert read_table("a.csv", content.encode())["x"].to_numpy().tolist() == values.tolist()


def test_wide_tables_are_typed():
    header = ",".join(["id", *(f"c{k}" for k in range(3000))])
    rows = "\n".join(",".join(["r", *["1.5"] * 3000]) for _ in range(3))
    frame = uploads.read_table("a.csv", f"{header}\n{rows}\n".encode())
    assert frame.width == 3001 and set(frame.dtypes[1:]) == {pl.Float64}
