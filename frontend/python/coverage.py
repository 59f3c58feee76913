"""Writes docs/coverage.md: the documented names of PyTorch, present and absent.

    ./dev python frontend/python/coverage.py [--check]
"""
import importlib
import itertools
import os
import sys

# The package beside this file has no extension; the built one is meant.
sys.path[:] = [p for p in sys.path if os.path.realpath(p or ".") != os.path.dirname(os.path.realpath(__file__))]

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "coverage.md")


def read_names():
    sections, current = {}, None
    with open(os.path.join(HERE, "torch_names.txt"), encoding="utf-8") as file:
        for line in file:
            line = line.partition("#")[0].strip()
            if line.startswith("["):
                current = sections.setdefault(line.strip("[]"), [])
            elif line:
                current += line.split()
    return {section: sorted(set(names)) for section, names in sections.items()}


def has(module, path, name):
    if path == "Tensor":
        return hasattr(type(module), name)
    try:
        getattr(module, name)
        return True
    except AttributeError:
        return False


def paragraph(title, names):
    """A line for each initial, so that two branches that add names seldom touch the same line."""
    groups = itertools.groupby(sorted(names, key=lambda n: (n[0].lower(), n)), key=lambda n: n[0].lower())
    return [f"{title}:" + ("" if names else " nothing"), *(" ".join(f"`{n}`" for n in group) for _, group in groups)]


def text():
    import braze
    out = ["# What of PyTorch is there", "",
           "Written by `./dev python frontend/python/coverage.py` from the tables of functions and `frontend/python/torch_names.txt`, the names",
           "that PyTorch documents for tensors. A name that is present has PyTorch's semantics; what is absent raises an `AttributeError`.", ""]
    summary, body = ["| module | present | absent |", "|---|---|---|"], []
    for section, names in read_names().items():
        path = section.partition(".")[2]
        module = braze
        if path == "Tensor":
            module = braze.ones(1)
        elif path:
            try:
                module = importlib.import_module("braze." + path)
            except ModuleNotFoundError:
                module = None
        present = [n for n in names if has(module, path, n)]
        absent = [n for n in names if n not in set(present)]
        summary.append(f"| `{section}` | {len(present)} | {len(absent)} |")
        body += ["", f"## {section}", "", *paragraph("Present", present), "", *paragraph("Absent", absent)]
    return "\n".join(out + summary + body) + "\n"


def main():
    wanted = text()
    if "--check" in sys.argv:
        with open(TARGET, encoding="utf-8") as file:
            if file.read() != wanted:
                print("docs/coverage.md is out of date: run ./dev python frontend/python/coverage.py")
                return 1
        return 0
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
