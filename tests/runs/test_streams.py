"""Tables as bytes: they come back equal, and two threads with one table never wait for each other."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from studio.jobs.worker import child_environment
from studio.readers.parsed import from_stream, to_stream

TOGETHER = """
import threading
import numpy as np, polars as pl
from studio.readers.parsed import to_stream

frame = pl.DataFrame({"number": np.arange(20_000.0), "text": [str(i) for i in range(20_000)]})
both = threading.Barrier(2)

def again(work):
    both.wait()
    for _ in range(60):
        work()

threads = [threading.Thread(target=again, args=(work,), daemon=True) for work in (
    lambda: to_stream(frame, "zstd"), lambda: [frame.filter(frame["number"] > 5.0) for _ in range(20)])]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("done")
"""


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_a_table_comes_back(compression):
    frame = pl.DataFrame({"id": ["a", None], "x": [1.5, float("nan")]})
    assert_frame_equal(from_stream(to_stream(frame, compression)), frame)


def test_a_table_is_written_while_another_thread_reads_it():
    done = subprocess.run(
        [sys.executable, "-c", TOGETHER], env=child_environment(), capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "done\n", done.stderr
