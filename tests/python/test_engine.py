"""Laziness on demand: compile, eager, explain, dump, as_torch."""
import subprocess
import sys
import tempfile

import braze as T


def test_compile():
    calls = []

    @T.compile
    def f(x, y, *, scale=2):
        calls.append(1)
        return {"sum": x + y, "list": [x * scale]}
    a, b = T.arange(3.), T.ones(3)
    first = f(a, b)
    again = f(a + 1, b)
    assert first["sum"].tolist() == [1.0, 2.0, 3.0] and again["list"][0].tolist() == [2.0, 4.0, 6.0] and len(calls) == 1
    assert f(a, b, scale=3)["list"][0].tolist() == [0.0, 3.0, 6.0] and len(calls) == 2


def test_needing_a_value_while_recording():
    @T.compile
    def f(x):
        return x + x.sum().item()
    try:
        f(T.ones(2))
    except RuntimeError as e:
        assert "traced" in str(e)
    else:
        raise AssertionError("nothing was raised")


def test_eager():
    with T.eager():
        x = T.ones(3) + 1
        before = T._braze.statistics()["evaluations"]
        x = x * 2
        assert T._braze.statistics()["evaluations"] == before + 1
    before = T._braze.statistics()["evaluations"]
    y = x * 3
    assert T._braze.statistics()["evaluations"] == before and y.tolist() == [12.0] * 3


def test_explain_and_dump():
    with T.explain() as notes:
        (T.ones(5) * 3 + 1).tolist()
    assert "flush" in notes.text
    assert "mul" in (T.ones(5) * T.ones(5)).dump()


def run_script(text, *command):
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(text)
        f.flush()
        return subprocess.run([sys.executable, *command, f.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def test_script_that_imports_torch():
    out = run_script("import torch\nimport torch.nn.functional as F\nfrom torch import linalg\nprint(torch.ones(2) + 1, torch.__name__, F.__name__)\n",
                     "-m", "braze", "run")
    assert out == "tensor([2., 2.]) braze braze.nn.functional\n", out


def test_real_torch_is_refused():
    out = run_script("import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\nimport braze\n"
                     "try:\n    braze.as_torch()\nexcept RuntimeError as e:\n    print('refused')\n")
    assert out == "refused\n", out


def test_submodules_of_torch_are_ours_or_say_what_is_missing():
    out = run_script("""
import sys
import torch, torch.utils.data, torch.distributions, torch.linalg
from torch import nn
from torch.utils import data
from torch.distributions import Normal
assert sys.modules["torch.utils.data"] is torch.utils.data is data and torch.nn is nn and torch.linalg.__name__ == "braze.linalg"
for name in ("torch.onnx", "torch.nn.no_such_module", "torch.fft"):
    try:
        __import__(name)
    except ModuleNotFoundError as e:
        print(e)
print(sys.argv[1:], __name__, torch.tensor([1.5]).dtype)
""", "-m", "braze", "run")
    assert out == ("No module named 'torch.onnx': braze has no braze.onnx; docs/coverage.md lists what is there\n"
                   "No module named 'torch.nn.no_such_module': braze has no braze.nn.no_such_module; docs/coverage.md lists what is there\n"
                   "No module named 'torch.fft': braze has no braze.fft; docs/coverage.md lists what is there\n"
                   "[] __main__ braze.float32\n"), out


def test_a_script_gets_its_arguments_and_neighbours():
    import os
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "neighbour.py"), "w", encoding="utf-8") as file:
            file.write("import torch\nvalue = torch.arange(3).sum().item()\n")
        with open(os.path.join(folder, "script.py"), "w", encoding="utf-8") as file:
            file.write("import sys\nimport neighbour\nif __name__ == '__main__':\n    print(neighbour.value, sys.argv[1:])\n")
        done = subprocess.run([sys.executable, "-m", "braze", "run", os.path.join(folder, "script.py"), "--epochs", "3"], stdout=subprocess.PIPE,
                              text=True)
        assert done.stdout == "3 ['--epochs', '3']\n" and done.returncode == 0, done.stdout
    assert subprocess.run([sys.executable, "-m", "braze"], stderr=subprocess.PIPE, text=True).stderr.startswith("usage:")


def test_a_compiled_function_may_return_nothing():
    x = T.ones(2)
    for function in (lambda x: None, lambda x, y=None: y):
        compiled = T.compile(function)
        assert [compiled(x) for _ in range(3)] == [None] * 3


def test_a_call_with_tensors_alone_stays_recorded_beside_many_with_numbers():
    traced = []

    def f(x, by=1):
        traced.append(by)
        return x * by
    compiled, x = T.compile(f), T.ones(2)
    for number in range(200):
        assert compiled(x).tolist() == [1, 1]
        assert compiled(x, number).tolist() == [number] * 2
    assert traced.count(1) == 2  # f(x), and f(x, 1)
