#!/usr/bin/env python3
"""Random programs of 20 to 60 steps over aliases of one storage, run on Braze and on NumPy, and compared.

    ./dev python tests/python/alias_fuzz.py                       a thousand programs, new seeds, which are printed
    BRAZE_SEED=7 ./dev python tests/python/alias_fuzz.py          the same again
    PYTHONPATH=build/python python tests/python/alias_fuzz.py --against torch --programs 2000
                                                                  PyTorch as well, in a Python that has it

After each step that looks, and at the end of every tensor, values, dtypes, sizes, strides, offsets and the classes of exceptions must be
the same. A program that fails is cut down and printed as a script.
"""
import argparse
import contextlib
import faulthandler
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import alias_mirror  # noqa: E402
import alias_programs  # noqa: E402
from alias_numbers import Unsupported  # noqa: E402
from alias_torch import Torch  # noqa: E402

PROGRAMS = 1000


# ---- running ----

class Library:
    """What a program's lines may name."""

    def __init__(self, name):
        self.name = name
        self.torch = Torch if name == "numpy" else __import__(name)

    def environment(self, looks):
        def read(*tensors):
            for x in tensors:
                looks.append(described(x))

        def evaluate(*tensors):
            if self.name == "braze":
                self.torch.eval(tensors)

        def host(data, dtype):
            array = numpy.array(data).astype(dtype)
            if self.name != "numpy":
                return array
            memory = numpy.zeros(array.nbytes, numpy.uint8)
            memory.view(dtype)[...] = array
            return memory.view(dtype)

        def whole(f):
            """A traced function that raises has done nothing; one that runs has done its first steps."""
            def call(*arguments):
                try:
                    return f(*arguments)
                except Exception as why:
                    raise Unsupported(f"{type(why).__name__} in a compiled function") from None
            return call

        lazy = self.name == "braze"
        return {"torch": self.torch, "numpy": numpy, "read": read, "evaluate": evaluate, "host": host,
                "eager": self.torch.eager if lazy else contextlib.nullcontext, "compiled": self.torch.compile if lazy else whole}


def described(x):
    if isinstance(x, numpy.ndarray):
        return ("array", x.dtype.name, x.shape, x.tolist())
    # The stride of a dim of one element says nothing.
    strides = tuple(s if n > 1 else None for n, s in zip(x.shape, x.stride())) if x.numel() else None
    offset = x.storage_offset() if x.numel() else None
    return (str(x.dtype).split(".")[-1], tuple(x.shape), strides, offset, x.tolist())


def same(a, b):
    if a == b:
        return True
    if a[:-1] != b[:-1] or "float" not in (a[1] if a[0] == "array" else a[0]):
        return False
    return numpy.array_equal(numpy.array(a[-1], numpy.float64), numpy.array(b[-1], numpy.float64), equal_nan=True)


def run(library, lines):
    """What the program shows: a list of (what it is of, what it is)."""
    shown = []
    looks = []
    environment = library.environment(looks)
    own = set(environment)
    for number, line in enumerate(lines):
        try:
            exec(alias_programs.code_of(line), environment)
        except Unsupported:
            raise
        except Exception as why:
            if "a value is needed while a function is being traced" in str(why):  # braze.compile records, and says what it cannot
                raise Unsupported from why
            # Braze's errors are what Python code written for PyTorch catches.
            kind = next((k.__name__ for k in (IndexError, RuntimeError, TypeError, NameError) if isinstance(why, k)), type(why).__name__)
            shown.append((number, "raises " + kind))
        shown += [(number, look) for look in looks]
        looks.clear()
    for name, value in environment.items():
        if name in own or name.startswith(("f", "_")):
            continue
        try:
            shown.append((name, described(value)))
        except Unsupported:
            raise
        except Exception as why:
            shown.append((name, f"raises {type(why).__name__}: {why}"))
    return shown


def difference(libraries, lines, strict):
    """What differs, or "", or None where the program means nothing."""
    alias_mirror.Tensor.strict = strict
    try:
        expected, *others = [run(library, lines) for library in libraries]
    except Unsupported:
        return None
    for library, got in zip(libraries[1:], others):
        for (what, a), (where, b) in zip(expected, got):
            if what != where or isinstance(a, str) != isinstance(b, str) or not (a == b if isinstance(a, str) else same(a, b)):
                step = f"step {what}" if isinstance(what, int) else what
                if what != where:
                    return f"{libraries[0].name} shows {what}: {a}\n{library.name} shows {where}: {b}"
                return f"{step}:\n{libraries[0].name:8} {a}\n{library.name:8} {b}"
        if len(expected) != len(got):
            return f"{libraries[0].name} shows {len(expected)} things, {library.name} {len(got)}"
    return ""


# ---- failing programs ----

def reduced(lines, fails):
    """Lines taken away while what is left still fails."""
    chunk = len(lines) // 2
    while chunk:
        at = 0
        while at < len(lines):
            fewer = lines[:at] + lines[at + chunk:]
            if fewer and fails(fewer):
                lines = fewer
            else:
                at += chunk
        chunk //= 2
    return lines


def script(lines, seed):
    """The program by itself; PyTorch runs it too."""
    names = sorted({line.split(" = ")[0] for line in lines if line.startswith("t") and " = " in line})
    shows = "\n".join(f"if '{n}' in globals(): read({n})" for n in names if n.isidentifier())
    return f"""# BRAZE_SEED={seed}
import contextlib, sys
import numpy
torch = __import__(sys.argv[1] if len(sys.argv) > 1 else "braze")
lazy = torch.__name__ == "braze"
eager, compiled = (torch.eager, torch.compile) if lazy else (contextlib.nullcontext, lambda f: f)
evaluate = (lambda *tensors: torch.eval(tensors)) if lazy else lambda *tensors: None
host = lambda data, dtype: numpy.array(data).astype(dtype)
read = lambda *tensors: [print(x.dtype, tuple(x.shape), x.stride(), x.storage_offset(), x.tolist()) for x in tensors]

""" + "\n".join(guarded(line) for line in lines) + "\n" + shows + "\n"


def guarded(line):
    inside = line.replace("\n", "\n    ").rstrip()
    return line if line.startswith("@") else f"try:\n    {inside}\nexcept Exception as why: print(type(why).__name__, why)"


def fails_in_a_child(lines, options):
    """Whether the program still kills the process that runs it."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(repr(lines))
    try:
        return subprocess.run([sys.executable, __file__, "--lines", file.name, *options], capture_output=True).returncode < 0
    finally:
        os.unlink(file.name)


# ---- the command ----

def worker(arguments, note):
    """Runs programs; returns how many differed."""
    warnings.filterwarnings("ignore", ".*on expanded tensors is deprecated")
    strict = arguments.against == "torch"
    libraries = [Library("numpy")] + ([Library("torch")] if strict else []) + [Library("braze")]
    if arguments.lines:
        with open(arguments.lines, encoding="utf-8") as file:
            print(difference(libraries, eval(file.read()), strict))
        return 0
    started = time.monotonic()
    done = steps = failed = meaningless = 0
    while time.monotonic() - started < arguments.seconds if arguments.seconds else done < arguments.programs:
        seed = arguments.seed + done + meaningless
        lines = alias_programs.write_program(seed, libraries[0].environment([]), strict)
        note(repr((seed, lines)))
        why = difference(libraries, lines, strict)
        if why is None:
            meaningless += 1
            continue
        done += 1
        steps += len(lines)
        if not why:
            continue
        failed += 1
        least = reduced(lines, lambda fewer: difference(libraries, fewer, strict))
        print(f"FAIL: BRAZE_SEED={seed}, reduced from {len(lines)} to {len(least)} steps\n{difference(libraries, least, strict)}\n"
              f"{script(least, seed)}", flush=True)
        if failed == arguments.failures:
            break
    print(f"{done} programs, {steps} steps, {failed} failed, {time.monotonic() - started:.0f} s", flush=True)
    return failed


def supervised(command, options):
    """Runs the worker in a child, so that a program that kills it can be named."""
    with tempfile.TemporaryDirectory() as folder:
        note = os.path.join(folder, "program")
        code = subprocess.run([*command, "--note", note]).returncode
        if code >= 0 or not os.path.exists(note):
            return code
        with open(note, encoding="utf-8") as file:
            seed, lines = eval(file.read())
    print(f"FAIL: BRAZE_SEED={seed} ends the process with signal {-code}", flush=True)
    if fails_in_a_child(lines, options):
        lines = reduced(lines, lambda fewer: fails_in_a_child(fewer, options))
    print(script(lines, seed))
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=PROGRAMS)
    parser.add_argument("--seconds", type=float, default=0, help="as many as run in this time instead")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("BRAZE_SEED") or random.SystemRandom().randrange(1 << 31)))
    parser.add_argument("--against", choices=["numpy", "torch"], default="numpy")
    parser.add_argument("--failures", type=int, default=3, help="stop after as many")
    parser.add_argument("--show", action="store_true", help="print the program of the seed")
    parser.add_argument("--note", help=argparse.SUPPRESS)
    parser.add_argument("--lines", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.show:
        strict = arguments.against == "torch"
        print(script(alias_programs.write_program(arguments.seed, Library("numpy").environment([]), strict), arguments.seed))
        return 0
    if arguments.lines:
        return worker(arguments, None)
    if not arguments.note:
        print(f"fuzzing aliases: BRAZE_SEED={arguments.seed}", flush=True)
        options = ["--against", arguments.against]
        code = supervised([sys.executable, __file__, *sys.argv[1:], "--seed", str(arguments.seed)], options)
        tally(code == 0)
        return 1 if code else 0
    faulthandler.enable()

    def note(text):
        with open(arguments.note, "w", encoding="utf-8") as file:
            file.write(text)

    try:
        return 1 if worker(arguments, note) else 0
    except Exception:
        traceback.print_exc()
        return 1


def tally(passed):
    """What ./dev counts."""
    path = os.environ.get("BRAZE_TEST_TALLY")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"case random programs over aliases\n{'passed' if passed else 'failed'}\n")


if __name__ == "__main__":
    sys.exit(main())
