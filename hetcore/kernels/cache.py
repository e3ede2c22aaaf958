"""The one decorator of the project's compiled code, and where compiled code is kept.

Compiled kernels are cached in ``<user cache>/hetcore/kernels/<key>``; the key is a hash of numba's version and the
processor. The name of a kernel's cache file holds a hash of its own file and of the kernel files that it imports,
directly or not, because numba alone does not notice that a helper in another file has changed. ``HETCORE_CACHE`` names
another folder. A folder that cannot be written costs a compilation per process and one log line; a torn cache file is
dropped and compiled anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from hetcore.kernels.parts import Kernel, packed, unpacked
from hetcore.kernels.threads import PREPARING, cache_root

__all__ = ["cache_folder", "is_missing", "kernel"]

OFTEN = 0.02  # seconds between looks at the cache
_log = logging.getLogger("hetcore.kernels")
_IMPORTS = re.compile(r"^from hetcore\.kernels\.(\w+) import", re.MULTILINE)


def kernel(
    function: Callable[..., Any],
    allocates: bool = True,
    reorders: bool = False,
    inlined: bool = False,
    shared: bool = False,
) -> Callable[..., Any]:
    """Compile `function` at its first call, without the GIL, with NumPy's rules for division by zero.

    Written as ``name = kernel(_name)``. Arrays, scalars and NamedTuples go in; no Python object, no function.

    Parameters
    ----------
    function : callable
    allocates : bool, default=True
        Whether it makes arrays. One that makes none, nor calls one that does, is spared the counting of references,
        which costs more than the work where a kernel is called for each column of each node.
    reorders : bool, default=False
        Whether sums may be taken in another order and products added without rounding between, which vector code
        needs. NaN and infinity keep their meaning.
    inlined : bool, default=False
        Whether each kernel that calls it has a copy of it. A NamedTuple of ten arrays is handed over as seventy words,
        which takes longer than a node of few rows; a copy takes longer to compile.
    shared : bool, default=False
        Whether what its callers need of it is cached too, so that another process can prepare it for them.
    """
    if config.DISABLE_JIT:
        return function
    # nothing calls a kernel from C, so a way in would be compiled for nobody
    options = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, "_nrt": allocates}
    # NumPy's division: Python's raises at zero, which needs a branch and an exception in each loop
    options["error_model"] = "numpy"
    # NaN stays NaN: of fast mathematics only what reorders sums, for missing values are tested for by isnan
    options["fastmath"] = {"reassoc", "contract", "nsz"} if reorders else False
    options["forceinline"] = inlined
    compiled = Kernel(function, targetoptions=options)
    # numba's own attribute, there is no public way to another place for the cache
    compiled._cache = _KernelCache(function)
    if shared:
        compiled.part._cache = _PartCache(function)
    return compiled


def is_missing(part: Any) -> bool:
    """Tell whether nobody has cached the part of a `shared` kernel yet, in a folder where another process could."""
    if part._cache.file().exists():
        return False
    try:
        cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(cache_folder(), os.W_OK)


@cache
def cache_folder() -> Path:
    """Return the folder that holds this version's compiled kernels (it may not exist yet)."""
    return cache_root() / _key()


def _key() -> str:
    """Hash what every compiled kernel depends on."""
    # the processor's name, for code compiled for one with wider vectors dies on another that shares the folder
    made_by = f"{numba.__version__} {binding.get_host_cpu_name()}"
    return hashlib.sha256(made_by.encode()).hexdigest()[:20]


@cache
def _stamp(file: Path) -> str:
    """Hash a kernel's file and the kernel files that it imports."""
    digest = hashlib.sha256()
    # by name, so that the hash is the same wherever the project lies
    for path in sorted(_with_imports(file), key=lambda path: path.name):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


def _with_imports(file: Path) -> set[Path]:
    found, open_ = {file}, [file]
    while open_:
        imported = {Path(__file__).with_name(f"{name}.py") for name in _IMPORTS.findall(open_.pop().read_text("utf-8"))}
        open_ += imported - found
        found |= imported
    return found


@cache
def _log_once(message: str) -> None:
    _log.warning(message)


class _Locator(_CacheLocator):
    """Tell numba to keep a function's code in `cache_folder()`, under a name that says how fresh it is."""

    def __init__(self, line: int, stamp: str) -> None:
        self._line, self._stamp = line, stamp

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        # numba asks by the file, and by the line so that two functions of one name do not share code
        return cls(py_func.__code__.co_firstlineno, _stamp(Path(py_file)))

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        # the same for ever: the name of the file tells already what is stale, and times of files change with every
        # checkout
        return "fresh"

    def get_disambiguator(self) -> str:
        return f"{self._line}-{self._stamp}"


class _Files(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _KernelCache(FunctionCache):
    """numba's file cache, for which no state of the disk is an error."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError:  # not there, or not ours to read; saving will say so
            return None
        except Exception as error:  # a torn pickle can raise anything
            _log.info("Compiling %s anew: its cache file is torn (%r).", self._name, error)
            self._drop()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            # for its owner alone: numba unpickles what it finds there
            cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
            super().save_overload(sig, data)
        except Exception as error:
            _log_once(f"Compiled kernels stay in memory: {cache_folder()} cannot be written ({error!r}).")

    def _drop(self) -> None:
        try:
            self.flush()
        except OSError as error:
            _log_once(f"Torn compiled kernels cannot be removed: {cache_folder()} cannot be written ({error!r}).")


class _PartLocator(_Locator):
    """As of the kernel, which is also a part, beside it."""

    def get_disambiguator(self) -> str:
        return f"{super().get_disambiguator()}-part"


class _PartFiles(CompileResultCacheImpl):
    """A part as its callers take it: LLVM's code."""

    _locator_classes = [_PartLocator]

    def reduce(self, data: Any) -> tuple[Any, ...]:
        return packed(data)

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        return unpacked(target_context, payload)


class _PartCache(_KernelCache):
    """The same of a part, which another process may be compiling just now."""

    _impl_class = _PartFiles
    patience = 5.0  # seconds left to wait, of all parts: that process takes three or four, but may be held up

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._wait()
        return super().load_overload(sig, target_context)

    def _wait(self) -> None:
        # the thread, not the process: in a fork it is none that lives
        while any(each.is_alive() for each in PREPARING) and not self.file().exists() and _PartCache.patience > 0:
            PREPARING[0].join(OFTEN)
            _PartCache.patience -= OFTEN

    def file(self) -> Path:
        """Return where the code is that was cached first: the last that numba writes."""
        return Path(self._cache_file._data_path(self._cache_file._data_name(1)))
