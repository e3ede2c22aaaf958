"""Data on their way to a worker, while a page looks at them."""

from __future__ import annotations

import pickle

import pytest

from studio.jobs import protocol
from studio.jobs.protocol import DataRef, FunctionTask


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
    packed = protocol.Packer().pack(FunctionTask("f", {"data": Busy(3), "name": "g"}))
    reference = packed.task.kwargs["data"]
    assert isinstance(reference, DataRef) and packed.task.kwargs["name"] == "g"
    assert pickle.loads(packed.payload(reference.digest)).content == 1


@pytest.mark.parametrize("busy", [Busy(10**6), Busy(1, "another reason")])
def test_what_does_not_pass_is_reported(busy):
    with pytest.raises(RuntimeError, match=busy.words):
        protocol.Packer().pack(FunctionTask("f", {"data": busy}))
