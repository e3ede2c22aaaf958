"""The cache of compiled kernels: keyed by the sources, harmless when it is torn, read-only or not there."""

import importlib.util
import logging
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core.errors import TypingError

from hetcore.base import boost
from hetcore.kernels import cache, kernel, parts, warm_up

SOURCE = """
from hetcore.kernels.cache import kernel

def _double(x):
    return 2.0 * x

double = kernel(_double)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder of this test's own."""
    monkeypatch.setenv("HETCORE_CACHE", str(tmp_path / "cache"))
    cache.cache_folder.cache_clear()
    cache._log_once.cache_clear()
    yield cache.cache_folder()
    monkeypatch.undo()
    cache.cache_folder.cache_clear()


@pytest.fixture
def fresh(tmp_path):
    """Make a kernel that no call has compiled yet."""
    path = tmp_path / "module.py"
    path.write_text(SOURCE)

    def make():
        spec = importlib.util.spec_from_file_location("module_of_a_kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.double

    return make


def hits(dispatcher):
    return sum(dispatcher.stats.cache_hits.values())


def test_a_second_process_finds_the_code(folder, fresh):
    first, second = fresh(), fresh()
    assert first(2.0) == second(2.0) == 4.0
    assert (hits(first), hits(second)) == (0, 1)
    assert oct(folder.stat().st_mode)[-3:] == "700"


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("kept", [0, 10, 200])
def test_a_torn_file_is_compiled_anew(folder, fresh, suffix, kept):
    fresh()(2.0)
    for path in folder.glob(f"*.{suffix}"):
        path.write_bytes(path.read_bytes()[:kept])
    again, third = fresh(), fresh()
    assert again(2.0) == 4.0
    assert hits(again) == 0
    assert third(2.0) == 4.0
    assert hits(third) == 1


def test_a_folder_that_cannot_be_written_costs_one_line(folder, fresh, caplog):
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    folder.parent.write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING, "hetcore.kernels"):
        assert fresh()(2.0) == fresh()(3.0) - 2.0 == 4.0
    assert len(caplog.records) == 1
    assert "cannot be written" in caplog.text and str(folder) in caplog.text


def test_torn_files_that_cannot_be_removed_do_no_harm(folder, fresh, monkeypatch):
    fresh()(2.0)
    for path in folder.glob("*.nbi"):
        path.write_bytes(b"torn")

    def refuse(*args, **kwargs):
        raise PermissionError("read-only file system")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_index", refuse)
    assert fresh()(2.0) == 4.0


def test_kernels_follow_numpy_in_divisions():
    def quotient(a, b):
        return a / b

    assert kernel(quotient)(1.0, 0.0) == np.inf


def test_a_kernel_that_kernels_call_is_compiled_once_and_into_them():
    def f(values, power):
        return values[0] ** power

    part = kernel(f)

    def caller(values, power):
        return part(values, 1) + part(values, 2) + part(values, power)

    assert kernel(caller)(np.full(1, 3.0), 3) == 39.0
    # of the literals 1 and 2 and of a number one form is made, and none that Python could call
    assert len(part.part.overloads) == 1 and not part.signatures
    assert part(np.full(1, 3.0), 3) == 27.0 and len(part.signatures) == 1


@pytest.mark.parametrize("collects", [True, False])
def test_compiling_leaves_the_garbage_collector_as_it_was(fresh, monkeypatch, collects):
    switched = []
    monkeypatch.setattr("hetcore.kernels.parts.gc.isenabled", lambda: collects)
    for name in ("disable", "enable"):
        monkeypatch.setattr(f"hetcore.kernels.parts.gc.{name}", lambda name=name: switched.append(name))
    with pytest.raises(TypingError):
        fresh()("no number")
    assert switched == (["disable", "enable"] if collects else ["disable"])


def test_warm_up_reports_its_steps():
    steps = []
    warm_up(lambda done, total: steps.append((done, total)))
    total = steps[0][1]
    assert steps == [(done, total) for done in range(total + 1)]


def test_warm_up_leaves_nothing_to_compile():
    from hetcore.kernels import grower, medians, packed_sums, predictor
    from hetcore.trees import BinMapper, Forest, grow, set_leaf_medians

    warm_up()
    entries = [packed_sums.pack_rows, grower.grow_tree, predictor.find_leaves, predictor.add_leaf_values]
    entries += [predictor.predict_forest, medians.leaf_medians]
    before = [len(entry.signatures) for entry in entries]
    X = np.random.default_rng(0).normal(size=(100, 3))
    mapper = BinMapper().fit(X)
    binned = mapper.transform(X)
    for n_outputs, hessians in ((1, None), (3, np.ones(100)), (3, np.ones((100, 3)))):
        tree = grow(binned, np.tile(X[:, :1], n_outputs), hessians, np.arange(0, 100, 2), np.array([0, 2]))
        set_leaf_medians(tree, binned, np.tile(X[:, :1], n_outputs))
        tree.add_to(np.zeros((100, n_outputs)), binned, 1)
        forest = Forest(n_outputs)
        forest.append(tree, 1)
        forest.predict(binned, np.arange(5))
    assert [len(entry.signatures) for entry in entries] == before


def test_weights_and_whole_numbers_of_a_model_file_compile_nothing_anew():
    from hetcore import HGBMRegressor
    from hetcore.collective import predictor
    from hetcore.kernels.members import grow_members

    X = np.random.default_rng(0).normal(size=(60, 3))
    HGBMRegressor(n_iterations=1).fit(X, X[:, 0])
    before = len(grow_members.signatures)
    HGBMRegressor(n_iterations=1).fit(X, X[:, 0], sample_weight=np.arange(1.0, 61.0))
    assert before and len(grow_members.signatures) == before
    whole = dict.fromkeys(predictor.Aggregation._fields, 1) | {"median": True}
    assert [type(each) for each in predictor._aggregation(whole)] == [bool, float, float, float]


def test_a_change_compiles_the_kernels_that_import_it_and_no_others(tmp_path, monkeypatch):
    files = {"cache": "", "low": "from hetcore.kernels.cache import kernel", "other": ""}
    files |= {"middle": "from hetcore.kernels.low import f", "high": "from hetcore.kernels.middle import (\n    g,\n)"}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))

    def stamps():
        cache._stamp.cache_clear()
        return {name: cache._stamp(tmp_path / f"{name}.py") for name in files}

    before = stamps()
    (tmp_path / "low.py").write_text("from hetcore.kernels.cache import kernel  # changed")
    changed = {name for name, stamp in stamps().items() if stamp != before[name]}
    cache._stamp.cache_clear()
    assert changed == {"low", "middle", "high"}


def test_kernels_import_one_another_in_the_form_that_the_cache_reads():
    for path in (cache.Path(cache.__file__).parent).glob("*.py"):
        if path.name not in ("__init__.py", "warm.py"):
            text = path.read_text()
            assert "import hetcore" not in text and "from hetcore.kernels import" not in text, path.name


def test_what_a_round_compiles_is_in_its_event_once(folder, fresh, monkeypatch):
    double, events = fresh(), []
    state = SimpleNamespace(round=lambda: double(2.0) and None)
    model = SimpleNamespace(n_iterations=2, _view=lambda state: {"losses": {}}, _finish=lambda state: None)
    boost(model, lambda: state, [events.append])
    first, second = events
    assert 0 < first.compiling == second.compiling <= first.seconds <= second.seconds
    boost(model, lambda: state, [events.append])
    assert events[-1].compiling == 0
    now = iter(range(9))
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    watch = parts._Stopwatch()
    with watch, watch:
        assert watch.seconds() == 1
    assert watch.seconds() == 2
