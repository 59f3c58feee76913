#!/usr/bin/env python3
"""Tests of the Python module: functions named test_* in the files beside this one, and the conformance kit.

    ./dev python tests/python/run.py [PATTERN] [--not-yet] [--live PYTHON]

PATTERN is a regular expression over `file/test` and `group/case`. The kit's cases are compared with what PyTorch gave
(golden.json), from ../shared/conformance where it is there, else from the copy in tests/conformance; and so are the cases of this folder's
`cases`, which go further (`kit/run.py --golden cases/golden.json --record cases` where PyTorch is). not_yet.txt lists the cases and
tests that are known to fail, each with a reason; one that passes all the same is a failure, so that the list can only shrink.
--not-yet prints the list as it would have to be, keeping the reasons. --live runs the kit against the PyTorch that the given
interpreter has, side by side, instead of against the recorded results.
"""
import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GROUPS = ("creation dtype print_format views inplace indexing broadcasting reductions linalg elementwise joining random interop "
          "seed_000 seed_002 seed_003 autograd nn optim data").split()


def kit_folder():
    shared = os.path.join(os.path.dirname(ROOT), "shared", "conformance")
    return shared if os.path.isfile(os.path.join(shared, "run.py")) else os.path.join(ROOT, "tests", "conformance")


def read_not_yet():
    listed = {}
    with open(os.path.join(HERE, "not_yet.txt"), encoding="utf-8") as file:
        for line in file:
            name, _, reason = line.partition("#")
            if name.strip():
                listed[name.strip()] = reason.strip()
    return listed


class Tally:
    """What ./dev counts: a line `case NAME` and then `passed` or `failed`."""

    def __init__(self):
        path = os.environ.get("BRAZE_TEST_TALLY")
        self.file = open(path, "a", encoding="utf-8") if path else None
        self.passed = self.failed = 0

    def note(self, name, ok):
        self.passed += ok
        self.failed += not ok
        if self.file:
            self.file.write(f"case {name}\n{'passed' if ok else 'failed'}\n")
            self.file.flush()


def run_files(pattern, tally, listed):
    """Returns the names of `listed` that fail."""
    expected = []
    for entry in sorted(os.listdir(HERE)):
        if not re.fullmatch(r"test_\w+\.py", entry):
            continue
        spec = importlib.util.spec_from_file_location(entry[:-3], os.path.join(HERE, entry))
        module = sys.modules[entry[:-3]] = importlib.util.module_from_spec(spec)  # pickle looks classes up there
        try:
            spec.loader.exec_module(module)
        except Exception:
            print(f"FAIL {entry}: cannot be loaded\n{traceback.format_exc()}")
            tally.note(entry, False)
            continue
        for name, function in list(vars(module).items()):
            full = f"{entry[:-3]}/{name}"
            if not name.startswith("test_") or not callable(function) or not re.search(pattern, full):
                continue
            try:
                function()
            except Exception as error:
                if full in listed:
                    expected.append(full)
                    continue
                text = error if isinstance(error, AssertionError) and str(error) else traceback.format_exc()
                print(f"FAIL {full}\n{text}", flush=True)
                tally.note(full, False)
                continue
            if full in listed:
                print(f"FAIL {full}: passes, so it must leave tests/python/not_yet.txt")
            tally.note(full, full not in listed)
    if expected:
        print(f"skipped: {len(expected)} tests of tests/python/not_yet.txt")
    return expected


def run_kit(pattern, tally, listed, live):
    """Returns {failing case: why}."""
    kit = kit_folder()
    shared = [os.path.join(kit, "cases", group + ".py") for group in GROUPS]
    own = os.path.join(HERE, "cases")
    failed = {}
    for files, golden in ((shared, os.path.join(kit, "golden.json")), ([own], os.path.join(own, "golden.json"))):
        failed.update(run_cases(kit, files, golden, pattern, tally, listed, live))
    return failed


def run_cases(kit, files, golden, pattern, tally, listed, live):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        reference = ["--ref-python", live] if live else ["--golden", golden]
        command = [sys.executable, os.path.join(kit, "run.py"), "--lib", "braze", *reference, "--json", out, "--groups", "-k", pattern, *files]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not os.path.exists(out):
            print(f"FAIL conformance: the kit did not run\n{done.stdout[-4000:]}")
            tally.note("conformance", False)
            return {}
        with open(out, encoding="utf-8") as file:
            result = json.load(file)
    for name in result["passed"]:
        if name in listed:
            print(f"FAIL {name}: passes, so it must leave tests/python/not_yet.txt")
        tally.note(name, name not in listed)
    for name, why in result["failed"].items():
        if name not in listed:
            print(f"FAIL {name}: {why}")
            tally.note(name, False)
    expected = [name for name in result["failed"] if name in listed]
    if expected:
        print(f"skipped: {len(expected)} conformance cases of tests/python/not_yet.txt")
    for group, n in result["groups"].items():
        print(f"{group:16} {n['passed']:4} passed {n['failed']:4} not")
    return result["failed"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--not-yet", action="store_true")
    parser.add_argument("--live", metavar="PYTHON", help="an interpreter that has PyTorch")
    arguments = parser.parse_args()
    tally, listed = Tally(), read_not_yet()
    failing = dict.fromkeys(run_files(arguments.pattern, tally, listed), "")
    failing.update(run_kit(arguments.pattern, tally, listed, arguments.live))
    if arguments.not_yet:
        for name in sorted(failing):
            print(f"{name:60} # {listed.get(name) or failing[name]}")
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
