#!/usr/bin/env python3
"""Runs the Python examples: what they print, how accurate they get, how long they take, and that each leaves the picture of its curve.

With the machine to itself: ./dev test runs scripts one after the other, when everything else is done.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[2]
build = pathlib.Path(os.environ.get("BRAZE_BUILD", root / "build")).resolve()
python = build / "venv/bin/python"

gradient_descent = """x.grad: None
反向传播后 x.grad: tensor([2., 4., 6.])
epoch1: x: 6.000, y: 100.000, grad: 20.000
epoch2: x: 3.600, y: 36.000, grad: 12.000
epoch3: x: 2.160, y: 12.960, grad: 7.200
epoch4: x: 1.296, y: 4.666, grad: 4.320
epoch5: x: 0.778, y: 1.680, grad: 2.592
epoch6: x: 0.467, y: 0.605, grad: 1.555
epoch7: x: 0.280, y: 0.218, grad: 0.933
epoch8: x: 0.168, y: 0.078, grad: 0.560
epoch9: x: 0.101, y: 0.028, grad: 0.336
epoch10: x: 0.060, y: 0.010, grad: 0.202
"""


def prints(expected):
    return lambda text: None if text == expected else f"printed\n{text}instead of\n{expected}"


def number(pattern, allowed, wanted):
    """The number that `pattern` finds is as `allowed` says."""
    def check(text):
        found = re.search(pattern, text)
        if not found:
            return f"no {pattern!r} in\n{text}"
        return None if allowed(float(found[1])) else f"{found[0]!r} is not {wanted}"
    return check


# Example and arguments, what is wrong with what it printed, seconds it may take.
examples = [
    (["gradient_descent.py"], prints(gradient_descent), 60),
    (["linear_regression.py"], prints("模型参数 w：5.000, b: 3.000\n"), 60),
    (["digits.py", "mlp"], number(r"test accuracy ([\d.]+)%", lambda value: value >= 96, "at least 96%"), 60),
    (["digits.py", "convnet"], number(r"test accuracy ([\d.]+)%", lambda value: value >= 98, "at least 98%"), 60),
    (["characters.py"], number(r"validation loss ([\d.]+) nats", lambda value: value <= 2.2, "at most 2.2"), 240),
]


def run(arguments, check, limit):
    """What is wrong with an example, and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder, "curve.png")
        started = time.perf_counter()
        command = [python, root / "examples" / arguments[0], *arguments[1:], "--picture", picture]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(build / "python"), "PYTHONIOENCODING": "utf-8"}, capture_output=True,
                              encoding="utf-8", stdin=subprocess.DEVNULL)
        took = time.perf_counter() - started
        if done.returncode:
            return f"ended with {done.returncode}\n{done.stdout}{done.stderr[-3000:]}", took
        problem = check(done.stdout)
        if not problem and took > limit:
            problem = f"took {took:.0f} s of the {limit} s allowed"
        if not problem and (not picture.exists() or picture.read_bytes()[:8] != b"\x89PNG\r\n\x1a\n"):
            problem = "left no picture"
        if not problem and "100%" not in done.stderr:
            problem = "showed no progress to its end"
        return problem, took


def main():
    failed = 0
    for arguments, check, limit in examples:
        problem, took = run(arguments, check, limit)
        print(f"{' '.join(arguments):24} {took:6.1f} s   {problem or 'ok'}", flush=True)
        failed += problem is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
