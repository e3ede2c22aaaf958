"""Many people at one studio: how long a click waits for its answer, what a session costs, how fast a training stops.

    python -m benchmarks.reliability.load [--only click|class|stop|memory] [--seconds 30]

A studio of its own is started on this machine, with its files in a temporary folder. The people are websocket sessions
(`benchmarks.reliability.load_session`), and beside them, where Playwright and Chromium are
installed, one browser that looks.

| name | what |
|---|---|
| click | six people open, nobody trains; then two train over and over and four look |
| class | thirty people open, eight of them train over and over |
| stop | trainings of three kinds are stopped at 25 moments each: order to end (`benchmarks.reliability.stops`) |
| memory | the server after a hundred more sessions that opened, trained and left |

Who looks, clicks every two seconds, in a class every five: a slider of Consensus, Data, Runs, Home in turn. An
answer is the end of the page's run at the server (for the browser: the new page in the document). Run it on a quiet
machine; the people take a share of the processors too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

import psutil

from benchmarks.reliability.load_session import Visitor
from benchmarks.reliability.load_studio import Browser, Server
from benchmarks.reliability.stops import TASKS, measured

CLICK_EVERY = {"click": 2.0, "class": 5.0}
"""Seconds."""
CYCLES = 100
WARM_CYCLES = 70
"""More than the runs that the studio keeps in memory (64)."""
REST = 150.0
"""Seconds after which Streamlit has let go of sessions whose browser left: it keeps 128 of them for two minutes."""
TRAINING = {"rounds": 40}


@dataclass
class Seen:
    """What the people of one scenario saw: seconds of each click, by who clicked, and what went wrong."""

    looks: list[float] = field(default_factory=list)
    trains: list[float] = field(default_factory=list)
    browser: list[float] = field(default_factory=list)
    trained: int = 0
    errors: list[str] = field(default_factory=list)


async def look(visitor: Visitor, seen: Seen, until: float, rng: random.Random, every: float) -> None:
    """Click now here, now there."""
    await asyncio.sleep(rng.uniform(0.0, every))
    await visitor.open("Consensus")
    turn = 0
    while time.monotonic() < until:
        started = time.monotonic()
        turn += 1
        page = ("Consensus", "Consensus", "Data", "Runs", "")[turn % 5]
        if page == "Consensus" and visitor.widgets.keys() >= {"Labels known, per cent"}:
            seen.looks.append(await visitor.move("Labels known", 5.0 * rng.randint(1, 20)))
        else:
            seen.looks.append(await visitor.open(page))
        await asyncio.sleep(max(0.0, every - (time.monotonic() - started)))


async def train(visitor: Visitor, seen: Seen, until: float, rng: random.Random, every: float) -> None:
    """Train, look on until it has ended, train again with another seed."""
    await asyncio.sleep(rng.uniform(0.0, every))
    while time.monotonic() < until:
        seen.trains.append(await visitor.open("Consensus", seed=rng.randint(0, 9999), **TRAINING))
        if visitor.can_press("Train"):  # a small change of the settings trains by itself
            seen.trains.append(await visitor.press("Train"))
        while time.monotonic() < until and not visitor.can_press("Train"):
            await asyncio.sleep(0.5)
        seen.trained += visitor.can_press("Train")


async def watch(browser: Browser, seen: Seen, until: float, every: float) -> None:
    """Look on in a real browser, which is asked for in a thread."""
    while time.monotonic() < until:
        started = time.monotonic()
        seen.browser.append(await asyncio.to_thread(browser.click))
        await asyncio.sleep(max(0.0, every - (time.monotonic() - started)))


async def crowd(
    server: Server, looking: int, training: int, seconds: float, browser: Browser | None, every: float
) -> Seen:
    """Let so many people look and train for some seconds."""
    seen, rng = Seen(), random.Random(0)  # noqa: S311 - who clicks when
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(Visitor(server.url)) for _ in range(looking + training)]
        until = time.monotonic() + seconds
        doings = [train(person, seen, until, rng, every) for person in people[looking:]]
        doings += [look(person, seen, until, rng, every) for person in people[:looking]]
        doings += [watch(browser, seen, until, every)] if browser else []
        for done in await asyncio.gather(*doings, return_exceptions=True):
            seen.errors += [f"{type(done).__name__}: {done}"[:200]] if isinstance(done, BaseException) else []
        seen.errors += [error for person in people for error in person.errors]
    return seen


def line(name: str, seconds: Sequence[float], bar: str = "") -> str:
    """Return count, median, p95 and p99 of some seconds as a row of the table."""
    if len(seconds) < 2:
        return f"| {name} | {len(seconds)} | | | | {bar} |"
    cuts = quantiles(seconds, n=100, method="inclusive")
    return f"| {name} | {len(seconds)} | {cuts[49] * 1e3:.0f} | {cuts[94] * 1e3:.0f} | {cuts[98] * 1e3:.0f} | {bar} |"


def head() -> None:
    """Print the head of the table of clicks."""
    print("| who | clicks | median, ms | p95, ms | p99, ms | to hold |\n|---|---|---|---|---|---|")


def report(name: str, seen: Seen, bar: str = "") -> None:
    """Print the rows of a scenario."""
    print(line(f"{name}: who looks", seen.looks, bar))
    for who, seconds in (("who trains", seen.trains), ("a browser", seen.browser)):
        if seconds:
            print(line(f"{name}: {who}", seconds))
    print(f"| {name}: trainings finished, errors | {seen.trained}, {len(seen.errors)} | | | | no error |", flush=True)
    for error in seen.errors[:5]:
        print(f"    {error}")


def clicks(server: Server, seconds: float, browser: Browser | None) -> None:
    """R8, first half."""
    head()
    every = CLICK_EVERY["click"]
    idle = asyncio.run(crowd(server, 6, 0, seconds, browser=browser, every=every))
    report("6 look, nobody trains", idle)
    report(
        "2 train, 4 look",
        asyncio.run(crowd(server, 4, 2, seconds, browser=browser, every=every)),
        "p95 ≤ 600 ms, ≤ 1.25 × idle",
    )


def a_class(server: Server, seconds: float, browser: Browser | None) -> None:
    """R8, second half, and the memory of a session."""
    before = server.memory()
    head()
    report(
        "8 train, 22 look",
        asyncio.run(crowd(server, 22, 8, seconds, browser=browser, every=CLICK_EVERY["class"])),
        "p95 ≤ 1200 ms",
    )
    grown = server.memory() - before
    print(f"\nServer: {before:.0f} MB before, {grown:+.0f} MB with thirty sessions: {grown / 30:.1f} MB a session.\n")


async def _cycles(server: Server, count: int) -> None:
    for _ in range(count):
        async with Visitor(server.url) as visitor:
            await visitor.open("Consensus", rounds=5)
            await visitor.press("Train")
            while not visitor.can_press("Train"):
                await asyncio.sleep(0.1)


def memory(server: Server, *_: object) -> None:
    """R10: the server's memory after many sessions that opened, trained and left."""
    asyncio.run(_cycles(server, WARM_CYCLES))
    before, threads = _at_rest(server), server.threads()
    asyncio.run(_cycles(server, CYCLES))
    at_once, after = server.memory(), _at_rest(server)
    grown = after / before - 1
    print(f"Threads of the server: {threads}, after {CYCLES} more sessions {server.threads()}.")
    print(f"Server: {before:.0f} MB, after {CYCLES} more trainings {after:.0f} MB: {grown:+.1%} (to hold: +10%).")
    print(f"The moment after the last one, with the sessions that may come back, {at_once:.0f} MB.\n")


def _at_rest(server: Server) -> float:
    """Return the server's memory once the sessions that ended are gone, in MiB."""
    time.sleep(REST)
    asyncio.run(_cycles(server, 2))  # sessions that are over time go when another one ends
    time.sleep(REST / 2)  # freed memory goes back to the system
    return server.memory()


def stops(*_: object) -> None:
    """R9: from the order to the end of the rounds."""
    print("| stop of | stops | median, ms | p95, ms | p99, ms | to hold |\n|---|---|---|---|---|---|")
    for kind in TASKS:
        found = measured(kind)
        print(line(f"{kind}: until no more rounds are made", found.rounds, "p99 ≤ 250 ms"))
        print(f"| {kind}: until the model is there too | 1 | {found.all * 1e3:.0f} | | | |", flush=True)


SCENARIOS = {"click": clicks, "class": a_class, "memory": memory}


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[*SCENARIOS, "stop"])
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    busy = psutil.cpu_percent(1.0)
    print(f"{os.cpu_count()} processors, {busy:.0f}% busy with other work before the start.\n", flush=True)
    if given.only in (None, "stop"):
        stops()
        print()
    asked = {name: run for name, run in SCENARIOS.items() if given.only in (None, name)}
    if asked:
        with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
            asyncio.run(_cycles(server, 2))  # every worker warm
            for run in asked.values():
                with Browser.there(server.url) as browser:
                    run(server, given.seconds, browser)
                print()


if __name__ == "__main__":
    main()
