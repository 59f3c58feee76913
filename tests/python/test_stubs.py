"""The type stubs against the module, by stubtest, and what a type checker makes of a program that uses them."""
import importlib.util
import os
import subprocess
import sys
import tempfile

import braze as T

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.dirname(os.path.dirname(T.__file__))


def run(*command, **environment):
    return subprocess.run([sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "MYPYPATH": FOLDER, "PYTHONPATH": FOLDER, **environment})


def has_mypy():
    if importlib.util.find_spec("mypy"):
        return True
    print("skipped: the type stubs, for want of mypy")
    return False


def test_stubs_are_the_module():
    if not has_mypy():
        return
    with tempfile.TemporaryDirectory() as cache:
        done = run("mypy.stubtest", "braze", "--concise", "--allowlist", os.path.join(HERE, "stubtest_allow.txt"), "--mypy-config-file",
                   os.path.join(HERE, "mypy.ini"), MYPY_CACHE_DIR=cache)
    assert done.returncode == 0, done.stdout


PROGRAM = """
from typing import assert_type
import braze as torch
import braze.nn.functional as F
x = torch.zeros(2, 3, dtype=torch.float64)
assert_type(x.max(1).values, torch.Tensor)
assert_type(x.shape, torch.Size)
assert_type(x.shape[0], int)
assert_type(torch.linalg.svd(x).Vh, torch.Tensor)
assert_type(F.relu(x).sum(dim=[0, 1], keepdim=True), torch.Tensor)
assert_type(x.add_(1, alpha=2).view(-1), torch.Tensor)
assert_type(x + 1, torch.Tensor)
assert_type(x.split(1), tuple[torch.Tensor, ...])
assert_type(torch.Generator().manual_seed(1), torch.Generator)
values, indices = torch.sort(x, 1)
assert_type(indices, torch.Tensor)
torch.zeros("2")      # error
x.sum(dims=1)         # error
torch.exp(1)          # error
x.shape = (1,)        # error
"""


def test_a_type_checker_sees_types():
    if not has_mypy():
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        done = run("mypy", path, "--no-error-summary", "--hide-error-context", MYPY_CACHE_DIR=folder)
    wrong = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    wanted = {i for i, line in enumerate(PROGRAM.splitlines(), 1) if "# error" in line}
    assert wrong == wanted, done.stdout
