#!/usr/bin/env python3
"""The public suite of the Array API standard, by hand, and docs/array_api.md from its result.

    PYTHONPATH=build/python tests/array_api.py SUITE [--examples N]

SUITE is a checkout of https://github.com/data-apis/array-api-tests with its submodule; Python needs its requirements (pytest, hypothesis,
pytest-json-report, ndindex). A failure without a reason in REASONS below is named at the end, and fails the run.
"""
import argparse
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULE = "exec('import braze; xp = braze.ones(1).__array_namespace__(); xp_name=\"braze\"')"
COMPLEX = r"(acos|acosh|asin|asinh|atan|atanh|cosh|sinh|tanh|exp|expm1|log|log1p|sqrt)"
# The first expression that a test's name matches says why it fails.
REASONS = (
    (r"has_names\[fft-", "There is no fft yet, neither here nor as `braze.fft`; the extension is optional."),
    (r"test_[gs]etitem$", "Slices with a negative step are refused, as PyTorch refuses them: no tensor has negative strides."),
    (r"test_getitem_masking", "A mask of size 0 in a dim that is larger is refused with PyTorch's IndexError; the suite takes it for one of all False."),
    (r"__i?floordiv__", "The operator `//` is PyTorch's: infinity by a number is NaN, and a number by an infinity of the other sign is -1. "
                        "The namespace's own `floor_divide` gives what the standard says."),
    (r"__i?mod__", "The operator `%` is PyTorch's: a zero keeps the dividend's sign. The namespace's own `remainder` gives what the standard "
                   "says."),
    (r"special_cases.py::test_unary\[" + COMPLEX + r"\(.*real\(x_i\)",
     "Complex functions are composed of real ones on the parts, so where a part is infinite or NaN they do not follow C's Annex G, which the "
     "standard repeats; finite values are PyTorch's."),
)


def reason(name):
    return next((why for pattern, why in REASONS if re.search(pattern, name)), None)


def run(suite, examples):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        subprocess.run([sys.executable, "-m", "pytest", "-q", "--max-examples", str(examples), "-p", "no:cacheprovider", "--tb=line",
                        "--json-report", "--json-report-file", report, "array_api_tests"], cwd=suite,
                       env={**os.environ, "ARRAY_API_TESTS_MODULE": MODULE})
        with open(report, encoding="utf-8") as file:
            tests = json.load(file)["tests"]
    found = {}
    for test in tests:
        found.setdefault(test["outcome"], []).append(test["nodeid"].partition("array_api_tests/")[2])
    return found


def revision(folder):
    return subprocess.run(["git", "-C", folder, "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE, text=True).stdout.strip() or "unknown"


def text(found, suite, examples):
    passed, failed, skipped = (len(found.get(outcome, ())) for outcome in ("passed", "failed", "skipped"))
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("pytest", "hypothesis", "numpy"))
    out = ["# The Array API standard", "",
           "`x.__array_namespace__()` gives the namespace of the [Python array API standard](https://data-apis.org/array-api/2024.12/), version 2024.12,",
           "with its `linalg` extension: PyTorch's functions, and where the standard asks for other names, keywords, promotion or values, its own",
           "(`frontend/python/braze/_array_api.py`). There are no unsigned integers of 16 bits and more, as they are optional in the suite.", "",
           "The public suite, [data-apis/array-api-tests](https://github.com/data-apis/array-api-tests), is run by hand:", "", "```",
           f"git clone --recurse-submodules https://github.com/data-apis/array-api-tests suite   # {revision(suite)}, array-api {revision(os.path.join(suite, 'array-api'))}",
           "pip install -r suite/requirements.txt",
           f"PYTHONPATH=build/python tests/array_api.py suite --examples {examples}", "```", "",
           f"**{passed} passed, {failed} failed, {skipped} skipped: {100 * passed / (passed + failed):.1f} % of those that ran pass.** "
           f"{versions},", f"Python {sys.version.split()[0]}. The script writes this page.", "", "## What fails, and why", ""]
    by_reason = {}
    for name in found.get("failed", ()):
        by_reason.setdefault(reason(name) or "No reason is known.", []).append(name)
    for why, names in by_reason.items():
        out += [f"{why}", "", *(f"* `{name}`" for name in sorted(names)), ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    parser.add_argument("--examples", type=int, default=20)
    arguments = parser.parse_args()
    found = run(arguments.suite, arguments.examples)
    with open(os.path.join(ROOT, "docs", "array_api.md"), "w", encoding="utf-8") as file:
        file.write(text(found, arguments.suite, arguments.examples))
    unexplained = [name for name in found.get("failed", ()) if not reason(name)]
    for name in unexplained:
        print("no reason:", name)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
