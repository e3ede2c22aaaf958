"""Data on their way to a worker, while a page looks at them."""

from __future__ import annotations

import pickle

import pytest

from studio.jobs.job import FunctionTask, data_of, with_data
from studio.jobs.packing import DataRef, Packer


class Busy:
    """Data that change while they are pickled, some times."""

    source_names = ("a",)

    def __init__(self, times: int, words: str = "dictionary changed size during iteration") -> None:
        self.times, self.words = times, words

    def __getstate__(self):
        """Fail as a dict does that grows meanwhile."""
        if self.times:
            self.times -= 1
            raise RuntimeError(self.words)
        return {"content": 1}


def test_data_that_a_page_looks_at_are_packed_again():
    packed = Packer().pack(Busy(3))
    assert pickle.loads(packed.payload()).content == 1


def test_only_what_may_be_large_is_taken_out_of_a_call():
    task = FunctionTask("f", {"data": {"X": 1}, "name": "g"})
    assert data_of(task) == {"data": {"X": 1}}
    sent = with_data(task, {"data": DataRef("digest")})
    assert sent.kwargs == {"data": DataRef("digest"), "name": "g"} and task.kwargs["data"] == {"X": 1}


@pytest.mark.parametrize("busy", [Busy(10**6), Busy(1, "another reason")])
def test_what_does_not_pass_is_reported(busy):
    with pytest.raises(RuntimeError, match=busy.words):
        Packer().pack(busy)
