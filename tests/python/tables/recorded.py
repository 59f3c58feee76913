"""A recorded table: rows of cells, each with PyTorch's outcome.

    name: code
      token token ...            one a column, in the order of the head line; `.` stands for the column's own dtype
      = f16 f32: [2,3] 1 2 3     the values of those columns; columns whose values agree to the tolerance share a line

A comment in the code may say how closely values are compared: `# rtol 1e-8: why`, or of which columns: `# values of f32 f64: why`.
A name that ends in `~` says that the error depends on values, so that it may wait until they are read.
The files are written by record.py and never by hand.
"""
import re

from outcome import compare_values, values_text


class Row:
    def __init__(self, name, code):
        self.name, self.code = name, code
        self.tokens, self.values = {}, {}


def write(path, head, columns, rows, exactly=False):
    """rows: (name, code, {column: (token, values)})"""
    lines = [f"# {line}" for line in head] + ["columns " + " ".join(columns), ""]
    for name, code, cells in rows:
        lines.append(f"{name}: {code}")
        tokens = ["." if cells[c][0] == c else cells[c][0] for c in columns]
        for start in range(0, len(tokens), 10):
            lines.append("  " + " ".join(tokens[start:start + 10]))
        groups = []  # [text, columns]
        # The widest dtype first: the halves' values then join float64's where they agree.
        for c in sorted((c for c in columns if cells[c][1]), key=lambda c: -columns.index(c)):
            values = cells[c][1]
            for group in groups:
                if compare_values(group[0], values, slack=0.5, exactly=exactly) is None:
                    group[1].append(c)
                    break
            else:
                groups.append([values_text(values), [c]])
        for text, members in sorted(groups, key=lambda g: min(columns.index(c) for c in g[1])):
            members.sort(key=columns.index)
            label = "*" if len(members) == sum(1 for c in columns if cells[c][1]) else " ".join(members)
            lines.append(f"  = {label}: {text}".rstrip())
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def read(path):
    """(columns, [Row])"""
    columns, rows = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("columns "):
                columns = line.split()[1:]
            elif line.startswith("  = "):
                label, _, text = line[4:].partition(":")
                row = rows[-1]
                for c in columns if label == "*" else label.split():
                    row.values[c] = text.strip()
            elif line.startswith("  "):
                row = rows[-1]
                for token in line.split():
                    column = columns[len(row.tokens)]
                    row.tokens[column] = column if token == "." else token
            else:
                name, _, code = line.partition(": ")
                rows.append(Row(name, code))
    return columns, rows


def mismatches(row, outcome_of, exactly=False):
    """outcome_of(column) -> (token, values). Text of each cell that differs."""
    out = []
    told = re.search(r"# rtol (\S+):", row.code)
    of = re.search(r"# values of ([\w ]+):", row.code)
    for column, want in row.tokens.items():
        token, values = outcome_of(column)
        if row.name.endswith("~") and token == want + "@read":
            continue
        if token != want:
            out.append(f"{column}: {token}, PyTorch {want}")
        elif values is not None and column in row.values and not (of and column not in of[1].split()):
            why = compare_values(row.values[column], values, rtol=float(told[1]) if told else None, exactly=exactly)
            if why:
                out.append(f"{column}: {why}")
    return out
