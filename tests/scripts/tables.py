#!/usr/bin/env python3
"""The tables of README.md and docs/*.md against the tables of the code, so that neither drifts.

Between `<!-- from FILE -->` and `<!-- end -->` stands what this script writes from FILE; BRAZE_BLESS=1 writes it again. The rest is checked:
ops with rules of their own and passes are each described once, the README's knobs are those that the code reads, links lead somewhere.
"""
import os
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
bless = os.environ.get("BRAZE_BLESS") == "1"
problems = []


def read(path):
    return (root / path).read_text()


def differ(what, code, text):
    for name in sorted(set(code) - set(text)):
        problems.append(f"{what}: {name} is in the code and not in the text")
    for name in sorted(set(text) - set(code)):
        problems.append(f"{what}: {name} is in the text and not in the code")


# ---- ir/ops.def ----

row = re.compile(r"^BRAZE_(UNARY|BINARY|TERNARY|SHAPED|ROUTINE)\((\w+),\s*([^)]*)\)\s*(?://\s*(.*))?$", re.M)
ops = [(kind, name, [a.strip() for a in rest.split(",")], note or "") for kind, name, rest, note in row.findall(read("ir/ops.def"))]
takes = {"any": "any", "numeric": "all but bool", "real": "floats", "integral": "integers, bool"}


def elementwise_table():
    lines = ["| op | operands | result | |", "|---|---|---|---|"]
    for kind, name, columns, note in ops:
        if kind in ("SHAPED", "ROUTINE"):
            continue
        operands = {"UNARY": "x", "BINARY": "a, b", "TERNARY": "a, b, c"}[kind]
        notes = [note] if note else []
        if "commutative" in columns:
            notes.insert(0, "commutative")
        result = {"same": "the operands' dtype", "boolean": "bool"}[columns[1]]
        lines.append(f"| `{name}` | {operands}: {takes[columns[0]]} | {result} | {'; '.join(notes)} |")
    return "\n".join(lines)


def primitive_table():
    rows = re.findall(r'^BRAZE_PRIMITIVE\((\w+),\s*(\d), "(.*)"\)', read("ir/primitives.def"), re.M)
    functions = re.findall(r"^BRAZE_LIBRARY_FUNCTION\((\w+),", read("ir/primitives.def"), re.M)
    lines = ["| primitive | operands | |", "|---|---|---|"]
    lines += [f"| `{name}` | {count} | {meaning} |" for name, count, meaning in rows]
    return "\n".join(lines) + "\n\nWhat `call` may name: " + " ".join(f"`{name}`" for name in functions) + "."


def pass_rows():
    return re.findall(r'^\s*\{"(\w+)", \w+, Stage::(\w+),\s*"(.*)"\},$', read("passes/pipeline.cpp"), re.M)


def pass_table():
    return "\n".join(["| pass | leaves stage | why there |", "|---|---|---|"] + [f"| `{n}` | {s} | {w} |" for n, s, w in pass_rows()])


def generated(path, sources):
    text = read(path)
    for source, table in sources.items():
        marked = re.compile(rf"(<!-- from {re.escape(source)} -->\n).*?(<!-- end -->)", re.S)
        if not marked.search(text):
            problems.append(f"{path}: no place for what comes from {source}")
            continue
        new = marked.sub(lambda m: m[1] + "\n" + table + "\n\n" + m[2], text)
        if new != text and bless:
            (root / path).write_text(new)
        elif new != text:
            problems.append(f"{path}: {source} has changed (BRAZE_BLESS=1 tests/scripts/tables.py writes it again)")
        text = new


generated("docs/ir.md", {"ir/ops.def": elementwise_table()})
generated("docs/loops.md", {"ir/primitives.def": primitive_table()})
generated("docs/passes.md", {"passes/pipeline.cpp": pass_table()})

shaped = {name: columns[0] for kind, name, columns, _ in ops if kind in ("SHAPED", "ROUTINE")}
described = re.findall(r"^\| `(\w+)` \| (\w+) \|", read("docs/ir.md"), re.M)
described = [(name, attributes) for name, attributes in described if attributes not in ("x", "a")]
differ("docs/ir.md, ops with rules of their own", [f"{n} ({a})" for n, a in shaped.items()], [f"{n} ({a})" for n, a in described])
if len(described) != len(set(described)):
    problems.append("docs/ir.md: an op is described twice")

# ---- passes ----

passes = [name for name, _, _ in pass_rows()]
if len(passes) < 8:
    problems.append("passes/pipeline.cpp: its table is not read; mend tests/scripts/tables.py")
differ("docs/passes.md, headings", passes, re.findall(r"^## (\w+)$", read("docs/passes.md"), re.M))
drawn = [w for w in re.findall(r"^ +\| (\w+)  ", read("README.md"), re.M) if w in passes or "_" in w or w.endswith("ize")]
if drawn != passes:
    problems.append(f"README.md: the drawing has the passes {drawn}, the pipeline {passes}")

# ---- knobs ----

knobs = set()
for folder in ("ir", "passes", "codegen", "runtime", "frontend"):
    for source in (root / folder).rglob("*.cpp"):
        knobs |= set(re.findall(r'"(BRAZE_[A-Z_]+)"', source.read_text()))
differ("README.md, knobs", knobs, re.findall(r"^\| `(BRAZE_[A-Z_]+)=", read("README.md"), re.M))

# ---- links ----

for text in [root / "README.md", root / "CHANGELOG.md", *(root / "docs").glob("*.md")]:
    for target in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"^ *```.*?^ *```$", "", text.read_text(), flags=re.M | re.S)):
        if not (text.parent / target).exists():
            problems.append(f"{text.relative_to(root)}: the link to {target} leads nowhere")

print("\n".join(problems) or f"{len(ops)} ops, {len(passes)} passes, {len(knobs)} knobs: the texts agree with the code")
sys.exit(1 if problems else 0)
