"""Braze: tensors with PyTorch's names and semantics, lazily compiled."""
from . import _braze
from ._braze import Generator, Size, Tensor, default_generator, dtype, initial_seed, manual_seed, seed
from ._types import (bfloat16, bool, channels_last, channels_last_3d, contiguous_format, device, float16, float32, float64, int8, int16,
                     int32, int64, layout, memory_format, preserve_format, sparse_coo, strided, uint8)

half, float, double, short, int, long = float16, float32, float64, int16, int32, int64

_functions = _braze._functions
globals().update(_functions[""])

from . import random
