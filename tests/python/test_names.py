"""C++ first: what the Python module has, the public C++ headers have too, but for what only Python needs. And tests/cpp/calls.txt calls
every public C++ operation."""
import os
import sys

import braze

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cpp"))
import calls  # noqa: E402
import public_names  # noqa: E402

# Python's name -> C++'s, where the language asks for another one.
SPELT = {
    "": {"bool": "bool_", "float": "float_", "double": "double_", "short": "short_", "int": "int_", "long": "long_", "Size": "SizesView",
         "device": "Device", "complex64": "cfloat", "complex128": "cdouble", "eager": "EagerScope", "no_grad": "NoGradGuard", "enable_grad": "EnableGradGuard",
         "inference_mode": "InferenceMode",
         "explain": "set_log_sink"},
    "random": {"fork_rng": "ForkRng"},
    "Tensor": {"bool": "bool_", "char": "char_", "float": "float_", "double": "double_", "short": "short_", "int": "int_", "long": "long_",
               "cfloat": "to", "cdouble": "to",
               "tolist": "to_vector", "numpy": "export_memory"},
}
# What only Python needs, and why.
PYTHON = {
    "": {
        "objects of other libraries": "as_tensor asarray from_numpy frombuffer",
        "types and constants as Python objects": "dtype layout memory_format strided sparse_coo contiguous_format preserve_format channels_last "
                                                 "channels_last_3d e inf nan pi newaxis is_tensor is_storage typename return_types",
        "PyTorch's old constructors": "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
                                      "ShortTensor",
        "pickles": "save load serialization",
        "modules": "autograd cuda distributions func linalg nn optim random special storage utils",
        "scripts": "as_torch",
        "views that Braze has not": "is_neg",
    },
    "Tensor": {
        "views that Braze has not": "is_neg",
        "Python's objects": "names to_numpy",
        "memory of processes and devices that no tensor has": "is_shared share_memory_ is_pinned pin_memory is_mkldnn is_nested to_device",
    },
    "linalg": {"an exception class": "LinAlgError"},
    "nn.functional": {"a function of Python's is its parameter": "triplet_margin_with_distance_loss"},
}


def without_reason(space, module, has):
    excused = {name for names in PYTHON.get(space, {}).values() for name in names.split()}
    spelt = SPELT.get(space, {})
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_") and hasattr(module, n)]
    missing = [n for n in names if n not in excused and not has(spelt.get(n, n))]
    idle = sorted(n for n in excused | set(spelt) if n not in names)
    needless = sorted(n for n in excused if has(n))
    return missing, idle, needless


def test_no_name_is_pythons_alone():
    public = public_names.names()
    modules = {"": braze, "random": braze.random, "Tensor": braze.Tensor, "linalg": braze.linalg, "special": braze.special, "nn.functional": braze.nn.functional}
    for space, module in modules.items():
        prefix = {"": "", "random": "", "Tensor": "Tensor."}.get(space, space.replace(".", "::") + "::")
        missing, idle, needless = without_reason(space, module, lambda n, prefix=prefix: prefix + n in public)
        assert not missing, f"{space or 'braze'}: only Python has {missing}; write them in C++, or give the reason in this file"
        assert not idle, f"{space or 'braze'}: {idle} are excused and not there"
        assert not needless, f"{space or 'braze'}: {needless} are excused, and C++ has them"


def test_each_public_operation_is_called():
    missing, stale = calls.uncalled()
    assert not missing, f"too few rows of tests/cpp/calls.txt (rows, overloads): {missing}"
    assert not stale, f"tests/cpp/calls.txt excuses {stale}, which are not public"
