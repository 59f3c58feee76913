"""The tables: what their columns and rows are."""
import os

import dtype_rows
from outcome import DTYPES, outcome


def read_rows(name):
    """[(name, code)] of a file of lines `name: code`."""
    out = []
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                row, _, code = line.partition(": ")
                out.append((row.strip(), code.strip()))
    return out


class Dtypes:
    """Every operation by dtype."""
    head = ["What every operation does with every dtype: see dtype_rows.py for the inputs. Recorded from PyTorch by record.py."]
    columns = list(DTYPES)

    def __init__(self, T):
        self.T, self.compiled = T, {}

    def rows(self):
        return dtype_rows.rows(read_rows("examples.txt"))

    def outcome(self, code, column):
        compiled = self.compiled.setdefault(code, compile(code, "<row>", "eval"))
        return outcome(self.T, compiled, dtype_rows.inputs(self.T, column, DTYPES))


class Pairs:
    """Operations on two dtypes."""
    head = ["What happens between two dtypes: see pairs.txt for the inputs; ten lines of ten, the left dtype down, the right one across.",
            "Recorded from PyTorch by record.py."]
    columns = [f"{a},{b}" for a in DTYPES for b in DTYPES]

    def __init__(self, T):
        self.T, self.compiled = T, {}

    def rows(self):
        return read_rows("pairs.txt")

    def names(self, column):
        T = self.T
        a, b = column.split(",")
        left, right = ([v if short[0] != "u" else abs(v) for v in values] for short, values in ((a, [3, -2, 0]), (b, [1, 2, 3])))
        d, e = getattr(T, DTYPES[a]), getattr(T, DTYPES[b])
        return {"T": T, "d": d, "e": e, "x": T.tensor(left, dtype=d), "y": T.tensor(right, dtype=e), "s": T.tensor(3, dtype=d),
                "t": T.tensor(2, dtype=e), "c": T.tensor([True, False, True]), "i": T.tensor([0, 2, 1]), "put": dtype_rows.put}

    def outcome(self, code, column):
        compiled = self.compiled.setdefault(code, compile(code, "<row>", "eval"))
        return outcome(self.T, compiled, self.names(column))


TABLES = {"dtypes": Dtypes, "pairs": Pairs}
