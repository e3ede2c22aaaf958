"""Uploaded files are kept by content, per owner, within a quota; a stored run comes back with its rounds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hetcore.errors import DataError
from hetcore.events import RoundEnd
from studio.jobs import manager
from studio.runs import restoring, store
from studio.runs.kept_files import KeptFiles
from studio.runs.run import Run

RECIPE = {"sources": [{"name": "films", "file": "films.csv", "id": "film"}]}
FILES = {"films.csv": b"film,length\na,1\nb,2\n"}


@pytest.fixture
def kept(tmp_path) -> KeptFiles:
    return KeptFiles(tmp_path / "files", quota=1_000)


def contents(tmp_path) -> list[Path]:
    return list((tmp_path / "files").glob("*/contents/*"))


def test_files_come_back_as_they_came_to_their_owner_only(kept):
    name = kept.keep("anna", RECIPE, FILES, "digest")
    assert kept.get("anna", name) == (RECIPE, FILES)
    assert kept.find("anna", "digest") == name and kept.find("anna", "other") is None
    assert kept.find("bob", "digest") is None and kept.size("bob") == 0
    for owner, which in [("bob", name), ("anna", "0" * 24), ("anna", "../../anna"), ("anna", "")]:
        with pytest.raises(LookupError, match="upload the files again"):
            kept.get(owner, which)


def test_equal_contents_lie_there_once(kept, tmp_path):
    first = kept.keep("anna", RECIPE, FILES, "digest")
    assert kept.keep("anna", RECIPE, FILES, "digest") == first
    second = kept.keep("anna", RECIPE | {"task": "regression"}, FILES, "digest")
    assert second != first and len(contents(tmp_path)) == 1 and kept.count("anna") == 2


def test_over_the_quota_the_longest_unused_go_and_the_newest_stays(kept):
    names = [kept.keep("anna", RECIPE | {"task": str(k)}, {"films.csv": bytes([k]) * 400}, str(k)) for k in range(2)]
    for age, name in enumerate(reversed(names)):
        os.utime(next(kept._data("anna").glob(f"{name}.json")), ns=(10**9, 10**9 * (age + 1)))
    kept.get("anna", names[0])  # used now
    third = kept.keep("anna", RECIPE, {"films.csv": b"x" * 400}, "new")
    assert [each.name for each in kept.listed("anna")] == [third, names[0]] and not kept.listed("bob")
    assert kept.listed("anna")[0].files == ["films.csv"] and kept.listed("anna")[0].recipe == RECIPE
    assert kept.size("anna") == 800
    assert [kept.find("anna", digest) is not None for digest in ("0", "1", "new")] == [True, False, True]
    huge = kept.keep("anna", RECIPE, {"films.csv": b"y" * 2_000}, "huge")
    assert kept.count("anna") == 1 and kept.get("anna", huge) and third


def test_a_damaged_file_counts_as_gone(kept, tmp_path):
    name = kept.keep("anna", RECIPE, FILES, "digest")
    contents(tmp_path)[0].write_bytes(b"film,length\na,9\n")
    with pytest.raises(LookupError):
        kept.get("anna", name)


def test_forgetting_takes_the_files_of_one_owner(kept):
    kept.keep("anna", RECIPE, FILES, "digest")
    name = kept.keep("bob", RECIPE, FILES, "digest")
    kept.forget("anna")
    assert kept.count("anna") == kept.size("anna") == 0
    assert kept.get("bob", name) == (RECIPE, FILES)


def _events() -> list[RoundEnd]:
    detail = {"metric": {"held_out": np.float64(0.25)}, "metric_name": "error", "steps": {"a": np.array([1.0, 2.0])}}
    return [
        RoundEnd("GBCClassifier", k, 3, {"train": 1 / (k + 1)}, source_weights={"a": 1.0}, detail=detail, seconds=0.5)
        for k in range(3)
    ]


def test_rounds_come_back_as_they_were_and_damage_is_reported():
    packed = restoring.to_bytes(_events())
    back = restoring.from_bytes(packed)
    assert [event.losses for event in back] == [event.losses for event in _events()]
    assert back[-1].detail["metric"] == {"held_out": 0.25} and back[-1].detail["steps"] == {"a": [1.0, 2.0]}
    assert restoring.to_bytes([]) is None
    for wrong in (packed[:-5], b"", b"x" * 30):
        with pytest.raises(DataError, match="damaged"):
            restoring.from_bytes(wrong)


def test_a_stored_run_is_known_again_with_its_model_to_its_owner_only():
    settings = {"params": {"lambda0": 1.0}}
    run = Run(
        "anna", "Consensus", "GBCClassifier", dataset="films", digest="digest", status="finished", settings=settings
    )
    adds = pl.DataFrame({"id": ["a"], "films": [0.5]})
    more = {"contributions": adds, "additions": adds, "rounds": restoring.to_bytes(_events())}
    store.shared().add(run, None, adds, b"model", **more)
    assert not restoring.restore("bob", run.id)
    assert restoring.restore("anna", run.id)
    studio = manager.manager()
    assert studio.status(run.id, "anna").state == "finished" and len(studio.events(run.id)) == 3
    assert studio.result(run.id).model == b"model" and studio.result(run.id).contributions.equals(adds)
    assert studio.result(run.id).additions.equals(adds)
    assert studio.task(run.id).params == {"lambda0": 1.0} and studio.task(run.id).digest == "digest"
    assert restoring.restore("anna", run.id)


def test_a_run_without_rounds_or_end_does_not_come_back():
    run = Run("anna", "Consensus", "GBCClassifier", "films", status="interrupted")
    store.shared().add(run, rounds=restoring.to_bytes(_events()))
    old = Run("anna", "Consensus", "GBCClassifier", "films")
    store.shared().add(old, model=b"model")
    assert not restoring.restore("anna", run.id) and not restoring.restore("anna", old.id)
