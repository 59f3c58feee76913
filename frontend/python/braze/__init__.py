"""Braze: tensors with PyTorch's names and semantics, lazily compiled.

`import braze as torch` is meant to do for what docs/coverage.md lists.
"""
import importlib as _importlib
import math as _math
import os as _os

from . import _braze
from ._absent import absent as _make_absent
from ._braze import Generator, Size, Tensor, default_generator, dtype, initial_seed, manual_seed, seed
from ._types import (bfloat16, bool, channels_last, channels_last_3d, complex64, complex128, contiguous_format, device, float16, float32,
                     float64, int8, int16, int32, int64, layout, memory_format, preserve_format, sparse_coo, strided, uint8)

half, float, double, short, int, long = float16, float32, float64, int16, int32, int64
cfloat, cdouble = complex64, complex128

_functions = _braze._functions
globals().update(_functions[""])
_braze.set_package_folder(_os.path.dirname(_os.path.abspath(__file__)) + _os.sep)

from . import _tensor
from . import cuda, linalg, random, special
from ._creation import as_tensor, asarray, from_dlpack, from_numpy, frombuffer
from ._engine import as_torch, compile, eager, explain
from ._products import chain_matmul, einsum
from ._grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from ._info import finfo, iinfo, is_storage, is_tensor, typename
from ._shaping import (atleast_1d, atleast_2d, atleast_3d, block_diag, broadcast_shapes, broadcast_tensors, cartesian_prod, eval,
                       meshgrid)
from .random import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

globals().update(_tensor.typed_constructors)
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None
__version__ = "0.1.0"


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True) -> None:
    """Writes `obj`, tensors and nests of them, to a path or a file. https://pytorch.org/docs/stable/generated/torch.save.html"""
    from . import _serialization
    return _serialization.save(obj, f, pickle_module, pickle_protocol, _use_new_zipfile_serialization)


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args):
    """Reads what save (or torch.save) wrote. Unknown globals are refused and never executed; weights_only=False allows them.
    https://pytorch.org/docs/stable/generated/torch.load.html"""
    from . import _serialization
    return _serialization.load(f, map_location, pickle_module, weights_only=weights_only, mmap=mmap, **pickle_load_args)


_absent = _make_absent(__name__)
_lazy = ("autograd", "distributions", "func", "nn", "optim", "return_types", "serialization", "storage",
         "utils")  # imported when they are asked for


def __getattr__(name):
    if name in _lazy:
        try:
            return _importlib.import_module("." + name, __name__)
        except ModuleNotFoundError:
            pass
    if name == "vmap":
        return _importlib.import_module(".func", __name__).vmap
    return _absent(name)


def __dir__():
    return sorted(set(globals()) | {*_lazy, "vmap"})
