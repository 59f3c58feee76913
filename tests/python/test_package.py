"""The package around the functions: submodules, the list of names, what an absent one says."""
import importlib
import inspect
import os
import subprocess
import sys

import braze as T
from support import error

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_coverage_is_up_to_date():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "frontend", "python", "coverage.py"), "--check"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout


MODULES = ("cuda", "distributions", "distributions.constraints", "linalg", "nn", "nn.functional", "nn.init", "nn.modules", "nn.parameter", "nn.utils",
           "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.rnn", "optim", "optim.lr_scheduler", "random", "return_types",
           "serialization", "special", "storage", "utils", "utils.data")


def test_submodules():
    for name in MODULES:
        module = importlib.import_module("braze." + name)
        assert module.__doc__ and all(hasattr(module, n) for n in getattr(module, "__all__", ())), name
        at = T
        for part in name.split("."):
            at = getattr(at, part)
        assert at is module
    assert error(importlib.import_module, "braze.no_such_module")[0] == "ModuleNotFoundError"


def test_absent_names_say_where_to_look():
    for module in (T, T.nn, T.nn.functional, T.utils, T.utils.data, T.linalg, T.cuda, T.random, T.serialization, T.special, T.storage,
                   T.distributions):
        kind, text = error(getattr, module, "no_such_name")
        assert kind == "AttributeError" and text.startswith(f"module '{module.__name__}' has no attribute 'no_such_name'"), text
        assert "docs/coverage.md" in text and not hasattr(module, "__no_such__")
    # Of a tensor only the names that PyTorch documents: a __getattr__ would slow every method call down.
    kind, text = error(getattr, T.ones(1), "stft")
    assert (kind, text) == ("AttributeError", "'Tensor' object has no attribute 'stft'; docs/coverage.md lists what of PyTorch is there")
    assert error(getattr, T.ones(1), "no_such_name") == ("AttributeError", "'Tensor' object has no attribute 'no_such_name'")
    assert not hasattr(T.Tensor, "stft") and not hasattr(T.ones(1), "stft") and "stft" not in dir(T.ones(1))


def explanation(owner, name, value):
    """What a docstring says beside signatures."""
    if isinstance(getattr(owner, "__slots__", None), dict) and name in owner.__slots__:
        return owner.__slots__[name]
    # What overrides a method that is explained needs no words of its own.
    text = (value.__doc__ or (inspect.getdoc(value) if inspect.isclass(owner) else None) or "").strip()
    for signature, _, _ in getattr(value, "__rows__", ()):
        text = text.replace(signature.partition("->")[0].strip(), "")
    return len(text.replace("-> Tensor", "").strip()) > 3


def test_everything_is_explained():
    silent = []
    for path in ("", *MODULES):
        module = importlib.import_module("braze" + ("." + path if path else ""))
        assert module.__doc__, path
        for name in getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]:
            value = getattr(module, name)
            if inspect.ismodule(value) or not callable(value):
                continue
            if not explanation(module, name, value):
                silent.append(f"{module.__name__}.{name}")
            if inspect.isclass(value) and value.__module__.partition(".")[0] == "braze":
                silent += [f"{module.__name__}.{name}.{n}" for n, member in vars(value).items() if not n.startswith("_") and (
                    callable(member) or inspect.isdatadescriptor(member)) and not explanation(value, n, member)]
    assert not silent, silent


def test_a_docstring_has_signature_shapes_and_page():
    assert T.cat.__doc__.startswith("cat(Tensor[] tensors, int dim=0)") and "pytorch.org" in T.cat.__doc__
    assert T.Tensor.exp_.__doc__.count("exp(Tensor input)") >= 1 and "In place" in T.Tensor.index_fill_.__doc__
    assert T.dtype.__module__ == "braze" and T.float32.__module__ == "braze" and T.Generator.__module__ == "braze"
