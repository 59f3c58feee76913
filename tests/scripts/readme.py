#!/usr/bin/env python3
"""Runs what README.md and docs/*.md show, and compares what is printed.

    ```cpp file=NAME       the block is written to NAME in the folder where the file's commands run
    ```console tested      lines `$ COMMAND` are run by bash, one after the other; what follows each is what it prints
    ```                    (a line `...` stands for any lines, `...` within a line for any text)

Each text has a folder of its own with examples/ and tests/ in it; `braze` is on the PATH, `python` imports the built
module and ~/braze is an installation. BRAZE_BLESS=1 writes
what is printed now into the texts, except where `...` stands.
"""
import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
build = pathlib.Path(os.environ.get("BRAZE_BUILD", root / "build")).resolve()
bless = os.environ.get("BRAZE_BLESS") == "1"
fence = re.compile(r"^```(\S*)[ ]*([^\n]*)\n(.*?)^```$", re.M | re.S)


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BRAZE_")}
    return kept | {"HOME": str(home), "PATH": f"{build}:{build}/venv/bin:{os.environ['PATH']}", "PYTHONPATH": f"{build}/python",
                   "LC_ALL": "C.UTF-8", "CMAKE_GENERATOR": "Ninja"}


def run(command, folder, home):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment(home), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    return done.stdout.decode()


def commands(block):
    """[(command, expected output)]"""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.M)
    if parts[0]:
        raise ValueError("a tested block begins with '$ '")
    return list(zip(parts[1::2], parts[2::2]))


def matches(expected, got):
    """Runs of lines between `...`: the first at the beginning, the last at the end, each other one at its first place."""
    runs = [[]]
    for line in expected.splitlines():
        if line == "...":
            runs.append([])
        else:
            runs[-1].append(re.compile(".*".join(map(re.escape, line.split("...")))))
    lines, at = got.splitlines(), 0
    for i, run in enumerate(runs):
        last = len(lines) - len(run)
        first = max(at, last) if i == len(runs) - 1 else at
        if i == 0 and len(runs) > 1:
            last = 0
        places = range(first, last + 1)
        at = next((p + len(run) for p in places if all(r.fullmatch(l) for r, l in zip(run, lines[p:]))), -1)
        if at < 0 or (len(runs) == 1 and len(lines) != len(run)):
            return False
    return True


def check(text_file, home):
    """The number of commands run, and what was wrong."""
    text = text_file.read_text()
    problems, count, edits = [], 0, []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ("examples", "tests"):
            (folder / name).symlink_to(root / name)
        for match in fence.finditer(text):
            words, block = match[2].split(), match[3]
            for word in words:
                if word.startswith("file="):
                    (folder / word[5:]).write_text(block)
            if "tested" not in words:
                continue
            printed = []
            for command, expected in commands(block):
                count += 1
                got = run(command, folder, home)
                if got and not got.endswith("\n"):
                    got += "\n"
                right = matches(expected, got)
                printed.append(f"$ {command}\n{expected if right or '...' in expected else got}")
                if not right and not (bless and "..." not in expected):
                    diff = difflib.unified_diff(expected.splitlines(), got.splitlines(), "shown", "printed", lineterm="", n=2)
                    line = text.count("\n", 0, match.start()) + 1
                    problems.append(f"{text_file.relative_to(root)}:{line}: $ {command}\n" + "\n".join(diff))
            edits.append((match.start(3), match.end(3), "".join(printed)))
    if bless:
        for start, end, new in reversed(edits):
            text = text[:start] + new + text[end:]
        text_file.write_text(text)
    return count, problems


def example_problems():
    """The README's program is an example too, so that ./dev build compiles it."""
    shown = re.search(r"^```cpp file=main.cpp\n(.*?)^```$", (root / "README.md").read_text(), re.M | re.S)
    if shown is None or shown[1] != (root / "examples/first.cpp").read_text():
        return ["the program of README.md and examples/first.cpp differ"]
    return []


def added_op_problems():
    """The README's row, meaning and derivative (```cpp add=FILE) make an op."""
    blocks = dict(re.findall(r"^```cpp add=(\S+)\n(.*?)^```$", (root / "README.md").read_text(), re.M | re.S))
    with tempfile.TemporaryDirectory() as folder:
        for part in ("ir", "passes"):
            shutil.copytree(root / part, f"{folder}/{part}")
        for name, before in {"ir/ops.def": "BRAZE_UNARY(neg,", "ir/meaning.h": "template <RealScalar S> S rsqrt(",
                             "passes/derivative_elementwise.cpp": "constinit const Rule rule_neg ="}.items():
            text = (root / name).read_text()
            if name not in blocks or before not in text:
                return [f"README.md shows nothing to add to {name}, or its place is gone"]
            pathlib.Path(folder, name).write_text(text.replace(before, blocks[name] + before, 1))
        return [got] if (got := run("c++ -std=c++20 -fsyntax-only -I. ir/meaning.cpp passes/derivative_elementwise.cpp", folder, folder)) else []


def main():
    texts = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    with tempfile.TemporaryDirectory() as home, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        subprocess.run(["cmake", "--install", build, "--prefix", f"{home}/braze"], stdout=subprocess.DEVNULL, check=True)
        added = pool.submit(added_op_problems)
        checked = list(pool.map(lambda text: check(text, home), texts))
        problems = example_problems() + added.result() + [problem for _, wrong in checked for problem in wrong]
    count = sum(n for n, _ in checked)
    if checked[0][0] < 5:
        problems.append("README.md shows fewer than five tested commands")
    print("\n\n".join(problems) or f"{count} commands print what the texts show")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
