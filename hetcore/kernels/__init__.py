"""The only package with numba: arrays in, arrays out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hetcore.kernels.cache import cache_folder, kernel
    from hetcore.kernels.parts import seconds_compiling
    from hetcore.kernels.warm import prepare_beside, warm_up

__all__ = ["cache_folder", "kernel", "prepare_beside", "seconds_compiling", "warm_up"]

_LAZY = {"cache_folder": "cache", "kernel": "cache", "seconds_compiling": "parts"}

if not TYPE_CHECKING:  # to a type checker a name that is not there would be one of any type

    def __getattr__(name: str) -> Any:
        # what starts a second process (`threads`) is imported before numba
        if name not in __all__:
            raise AttributeError(f"module 'hetcore.kernels' has no attribute {name!r}")
        return getattr(import_module(f"hetcore.kernels.{_LAZY.get(name, 'warm')}"), name)
