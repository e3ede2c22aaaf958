"""The process of `benchmarks.mutants` that has the tests of a group collected and runs them on faulty code.

It first runs every test once and says which lines of the group's modules each has been on. Then it takes one fault
after the other: it gives the living functions the faulty code, runs the given tests until one fails, and puts the code
back. A test that still fails after that has been spoilt by the fault: then the fault is tried again in a new process.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, TextIO

from benchmarks.mutant_faults import Fault, faulty_code

ROOT = Path(__file__).resolve().parent.parent
MEMORY = 4 * 2**30
"""Bytes of address space beyond those of the start."""


class Late(BaseException):
    """A test that takes longer than it may."""


class Worker:
    """A pytest plugin that runs the collected tests as it is told.

    Parameters
    ----------
    task : dict
        "group", and its "modules" by name.
    asked, answers : text files
        Where requests come from and answers go to, a line of JSON each.
    """

    def __init__(self, task: dict[str, Any], asked: TextIO, answers: TextIO) -> None:
        self._task, self._asked, self._answers = task, asked, answers
        self._failed = self._skipped = self.late = False
        self._seen: set[tuple[str, int]] = set()

    def pytest_collection(self) -> None:
        """Load and prepare what is tested, after conftest.py and before the tests; let hypothesis shrink nothing."""
        import hypothesis

        modules = [importlib.import_module(module) for module in self._task["modules"]]
        self._files = {module.__file__ for module in modules}
        PREPARED[self._task["group"]]()
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile(
            "quick", derandomize=True, deadline=None, database=None, phases=phases, report_multiple_bugs=False
        )
        hypothesis.settings.load_profile("quick")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note how a test went."""
        self._failed |= report.failed
        self._skipped |= report.skipped

    def pytest_runtestloop(self, session: Any) -> bool:
        """Survey the tests, or do what is asked."""
        items = {item.nodeid: item for item in session.items}
        signal.signal(signal.SIGPROF, self._too_late)
        room = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
        for line in self._asked:
            request = json.loads(line)
            if "survey" in request:
                self._say({name: self._surveyed(item, request["survey"]) for name, item in items.items()})
            else:
                tests = [(items[name], seconds) for name, seconds in request["tests"]]
                self._say(self._tried(Path(request["file"]), Fault(*request["fault"]), tests))
        return True

    def _say(self, what: object) -> None:
        self._answers.write(json.dumps(what) + "\n")
        self._answers.flush()

    def _too_late(self, number: int, frame: FrameType | None) -> None:
        self.late = True
        raise Late

    def _surveyed(self, item: Any, seconds: float) -> tuple[float, list[tuple[str, int]]] | None:
        """Run a test; return its seconds and the lines it has been on, None if it does not pass in time."""
        self._seen = set()
        sys.settrace(self._called)
        threading.settrace(self._called)
        try:
            took = self._run(item, None, seconds)
        finally:
            sys.settrace(None)
            threading.settrace(None)
        return None if self._failed or self._skipped or took > seconds else (took, sorted(self._seen))

    def _called(self, frame: FrameType, event: str, _: object) -> Any:
        return self._on_line if frame.f_code.co_filename in self._files else None

    def _on_line(self, frame: FrameType, event: str, _: object) -> Any:
        self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._on_line

    def _run(self, item: Any, following: Any, seconds: float) -> float:
        """Run a test; return the processor time it took, that of its child processes too."""
        self._failed = self._skipped = self.late = False
        before = sum(os.times()[:4])
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
        try:
            item._initrequest()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        except Late:
            self._failed = True
        finally:
            with contextlib.suppress(Late):
                signal.setitimer(signal.ITIMER_PROF, 0)
        self._failed |= self.late
        return sum(os.times()[:4]) - before

    def _tried(self, file: Path, fault: Fault, tests: list[tuple[Any, float]]) -> str:
        """Return "found", "not found", or "spoilt" after a test that fails even when the fault is gone."""
        with _in_place(file, fault):
            failing = self._first_failing(tests)
        if failing is None:
            return "not found"
        self._run(failing[0], None, 10.0 + 10.0 * failing[1])
        return "spoilt" if self._failed else "found"

    def _first_failing(self, tests: list[tuple[Any, float]]) -> tuple[Any, float] | None:
        following = [item for item, _ in tests[1:]] + [None]
        for (item, seconds), after in zip(tests, following):
            self._run(item, after, 3.0 + 5.0 * seconds)
            if self._failed:
                with contextlib.suppress(BaseException):
                    item.session._setupstate.teardown_exact(None)
                return item, seconds
        return None


@contextlib.contextmanager
def _in_place(file: Path, fault: Fault) -> Iterator[None]:
    """Let the functions of a file run the faulty code."""
    place = fault.function, fault.begins
    living = [each for each in _functions(str(file)) if _place(each.__code__) == place]
    assert living, f"{file.name}: {fault.function} is not there"
    old = living[0].__code__
    for function in living:
        function.__code__ = faulty_code(file, fault)[place]
    try:
        yield
    finally:
        for function in living:
            function.__code__ = old


@functools.cache
def _functions(file: str) -> list[FunctionType]:
    functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
    return [each for each in functions if each.__code__.co_filename == file]


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _parse_here() -> None:
    """Let uploads be read in this process, so that a fault in the readers' code is there."""
    from hetcore.errors import DataError
    from studio import parsing_images, sandbox, sandbox_server  # noqa: F401 - the first is loaded for images only

    def ask(self: object, name: str, request: dict, content: bytes) -> sandbox.Reply:
        words, blocks = sandbox_server._outcome(json.loads(json.dumps(request)), content)
        if _WORKER and _WORKER[0].late:
            raise Late
        words = json.loads(json.dumps(words))
        if "error" in words:
            raise DataError(words["error"])
        return sandbox.Reply(words, blocks)

    sandbox.Sandbox.ask = ask


def _plain_kernels() -> None:
    """Let kernels run as plain Python: records give their fields as attributes, and `add_row` is no machine code."""
    import numpy as np

    import hetcore
    from hetcore.kernels import histogram, layout

    np.seterr(all="ignore")  # as in compiled code
    types = {id(layout.NODE_DTYPE): layout.NODE_DTYPE, id(layout.LEAF_DTYPE): layout.LEAF_DTYPE}
    records = {key: np.dtype((np.record, kind)) for key, kind in types.items()}
    for module in [each for name, each in sys.modules.items() if name.startswith(hetcore.__name__)]:
        for name, value in list(vars(module).items()):
            if id(value) in records:
                setattr(module, name, records[id(value)])

    def add_row(target: np.ndarray, at: int, source: np.ndarray, i: int) -> None:
        assert target.shape[-1] % 4 == 0  # as it works on vectors of four
        target[at] += source[i]

    histogram.add_row = add_row


def _without_servers() -> None:
    """Let tests that start a PostgreSQL server skip themselves: an ended worker would leave it behind."""
    from tests import postgres

    postgres.programs = lambda: None


PREPARED = {"kernels": _plain_kernels, "parsers": _parse_here, "loader": lambda: None, "store": _without_servers}
_WORKER: list[Worker] = []


def main() -> None:
    """Serve the group that standard input names first, with its modules and tests."""
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(quiet, number)
    task = json.loads(asked.readline())
    import pytest

    _WORKER.append(Worker(task, asked, answers))
    options = ["-q", "-s", "-p", "no:cacheprovider", "--tb=no", "--rootdir", str(ROOT), f"--basetemp={task['folder']}"]
    pytest.main([*options, *task["tests"]], plugins=_WORKER)


if __name__ == "__main__":
    main()
