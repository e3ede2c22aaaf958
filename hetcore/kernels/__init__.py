"""The only package with numba: arrays in, arrays out."""

from hetcore.kernels.cache import cache_folder, kernel
from hetcore.kernels.parts import seconds_compiling
from hetcore.kernels.warm import prepare_beside, warm_up

__all__ = ["cache_folder", "kernel", "prepare_beside", "seconds_compiling", "warm_up"]
