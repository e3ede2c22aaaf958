"""How a kernel is compiled: for Python with a way in, and as a part of the kernels that call it.

Left to itself, numba makes machine code of every function that a kernel calls, with a way in from Python, once for each
set of literal arguments, and then compiles its callers with a copy in each. Here a called kernel is brought to LLVM's
language once and is optimised and made machine code of in its callers alone. Measured on trees of several members: 6 of
12 seconds of compiling are saved, and the trees grow in .85 of the time, for LLVM sees more at once.
"""

from __future__ import annotations

import gc
import time
from threading import Lock
from typing import Any

from llvmlite.binding import parse_bitcode
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder, Flags, compile_result
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

__all__ = ["Kernel", "packed", "seconds_compiling", "unpacked"]


class _Stopwatch:
    """Seconds during which at least one of what is begun goes on: nested, or on other threads, they count once."""

    def __init__(self) -> None:
        self._lock, self._going, self._since, self._seconds = Lock(), 0, 0.0, 0.0

    def __enter__(self) -> None:
        with self._lock:
            self._since = self._since if self._going else time.perf_counter()
            self._going += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._going -= 1
            self._seconds += 0.0 if self._going else time.perf_counter() - self._since

    def seconds(self) -> float:
        with self._lock:
            return self._seconds + (time.perf_counter() - self._since if self._going else 0.0)


_COMPILING = _Stopwatch()


def seconds_compiling() -> float:
    """Return the seconds that this process has spent compiling kernels, or loading them from the cache."""
    return _COMPILING.seconds()


class _Code(JITCodeLibrary):
    """LLVM's code of a part, with its own parts, to be linked into callers: no machine code."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    @classmethod
    def read(cls, codegen: Any, name: str, bitcode: bytes) -> _Code:
        """Return the code that another process has brought to bits."""
        code = cls(codegen, name)
        code._final_module, code._finalized = parse_bitcode(bitcode), True
        return code


class _ReorderedCode(_Code):
    """The same, optimised by itself: sums that may be reordered keep one order, whatever they are inlined into."""

    def finalize(self) -> None:
        super().finalize()
        self._optimize_final_module()


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Write LLVM's code into a library of `_Code`, and make it known to callers without an address."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        kind = _ReorderedCode if state.flags.fastmath else _Code
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # numba finds a called function by its entry point, of which a part has none: any object of its own will do
        key = object()
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


def packed(result: Any) -> tuple[Any, ...]:
    """Return what callers need of a compiled part, for a file."""
    # as numba does before it pickles them: large, of no more use, and some can't be pickled
    result.fndesc.typemap = result.fndesc.calltypes = None
    return result.library.serialize_using_bitcode(), result.fndesc, result.signature


def unpacked(target_context: Any, payload: tuple[Any, ...]) -> Any:
    """Return the compiled part of which `packed` made the payload."""
    (name, _, bitcode), fndesc, signature = payload
    return compile_result(
        typing_context=target_context.typing_context,
        target_context=target_context,
        library=_Code.read(target_context.codegen(), name, bitcode),
        entry_point=object(),
        fndesc=fndesc,
        signature=signature,
        objectmode=False,
    )


class _PartCompiler(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes = [(_PartLowering if step is NativeLowering else step, why) for step, why in steps.passes]
        steps.finalize()
        return [steps]


class _Flags(Flags):
    """numba's, which asks for their hash tens of thousands of times, and sorts all of their values for it."""

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values


class _Part(CPUDispatcher):
    """A kernel as other kernels see it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._compiler._customize_flags = _Flags

    def get_call_template(self, args: Any, kws: Any) -> Any:
        # f(x, 0) and f(x, i) are one: LLVM puts a constant in where it inlines
        return super().get_call_template([types.unliteral(kind) for kind in args], kws)

    def add_overload(self, cres: Any) -> None:
        # not to the table of what Python may call
        self.overloads[tuple(cres.signature.args)] = cres


class Kernel(CPUDispatcher):
    """A kernel as Python sees it, compiled at its first call from there.

    Parameters
    ----------
    py_func, locals, targetoptions, pipeline_class
        As numba's own: it makes dispatchers anew from these where one is unpickled.
    """

    def __init__(
        self, py_func: Any, locals: Any = None, targetoptions: Any = None, pipeline_class: Any = Compiler
    ) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self._compiler._customize_flags = _Flags
        options = {**(targetoptions or {}), "no_cpython_wrapper": True}
        self.part = _Part(py_func, locals, options, _PartCompiler)

    def compile(self, sig: Any) -> Any:
        """Return the code for the types `sig`, compiled if need be, while the garbage collector waits."""
        # a compilation makes millions of objects and keeps them: looking through them for garbage, again and again, is
        # a fifth of its time
        collects = gc.isenabled()
        gc.disable()
        try:
            with _COMPILING:
                return super().compile(sig)
        finally:
            if collects:
                gc.enable()

    @property
    def _numba_type_(self) -> types.Dispatcher:
        # asked by a kernel that calls this one
        return types.Dispatcher(self.part)
