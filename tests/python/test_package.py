"""The package around the functions: submodules, the list of names, what an absent one says."""
import importlib
import os
import subprocess
import sys

import braze as T

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def error(function, *args):
    try:
        function(*args)
    except Exception as e:
        return type(e).__name__, str(e)
    raise AssertionError("nothing was raised")


def test_coverage_is_up_to_date():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "frontend", "python", "coverage.py"), "--check"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout


def test_submodules():
    for name in ("cuda", "distributions", "linalg", "nn", "nn.functional", "random", "serialization", "special", "storage", "utils", "utils.data"):
        module = importlib.import_module("braze." + name)
        assert module.__doc__ and all(hasattr(module, n) for n in module.__all__), name
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
    kind, text = error(getattr, T.ones(1), "no_such_name")
    assert kind == "AttributeError" and "docs/coverage.md" in text
