#!/usr/bin/env python3
"""Runs the tutorials' programs in C++: they print what those in Python do, and leave the picture of their curve."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from python_examples import build, gradient_descent  # noqa: E402

failed = 0
for name, expected in (("gradient_descent", gradient_descent), ("linear_regression", "模型参数 w：5.000, b: 3.000\n")):
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder, "curve.svg")
        done = subprocess.run([build / "examples" / name, picture], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL)
        problem = ""
        if done.returncode or done.stdout != expected:
            problem = f"ended with {done.returncode} and printed\n{done.stdout}{done.stderr}instead of\n{expected}"
        elif not picture.exists() or "<polyline" not in picture.read_text(encoding="utf-8"):
            problem = "left no picture"
        if problem:
            print(f"{name}: {problem}")
            failed += 1
sys.exit(failed > 0)
