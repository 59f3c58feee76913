"""The tables: what their columns and rows are."""
import io
import os
import warnings

import dtype_rows
from outcome import DTYPES, LEAST, nearest_builtin, outcome


def read_rows(name):
    """[(name, code)] of a file of lines `name: code`."""
    out = []
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                row, _, code = line.partition(": ")
                out.append((row.strip(), code.strip()))
    return out


def warned(call):
    """The builtin classes of the warnings that the call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return "+".join(sorted({nearest_builtin(w.message) for w in caught})) or "silent"


def twice(take, once):
    take(once)
    return take(once)


class Dtypes:
    """Every operation by dtype."""
    head = ["What every operation does with every dtype: see dtype_rows.py and examples.txt. Recorded from PyTorch by record.py."]
    columns = list(DTYPES)
    exactly = False

    def __init__(self, T):
        self.T, self.compiled = T, {}

    def rows(self):
        return dtype_rows.rows(read_rows("examples.txt"))

    def outcome(self, code, column):
        compiled = self.compiled.setdefault(code, compile(code, "<row>", "eval"))
        return outcome(self.T, compiled, dtype_rows.inputs(self.T, column, DTYPES))


class Pairs:
    """Operations on two dtypes."""
    head = ["What happens between two dtypes: see pair_examples.txt for the inputs; ten lines of ten, the left dtype down, the right one across.",
            "Recorded from PyTorch by record.py."]
    columns = [f"{a},{b}" for a in DTYPES for b in DTYPES]
    exactly = False

    def __init__(self, T):
        self.T, self.compiled = T, {}

    def rows(self):
        return read_rows("pair_examples.txt")

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


class BadCalls:
    """Calls that are wrong, and some that only look so."""
    head = ["What bad calls raise; see calls.txt. Recorded from PyTorch by record.py."]
    columns = ["outcome"]
    exactly = False

    def __init__(self, T):
        import numpy as np
        self.T = T
        self.fixed = {"T": T, "F": T.nn.functional, "L": T.linalg, "np": np, "put": dtype_rows.put, "warned": warned, "twice": twice,
                      "shifted_add": lambda t: t[1:].add_(t[:-1]), "load_bytes": lambda data: T.load(io.BytesIO(data)),
                      "readonly": np.frombuffer(bytes(8), dtype=np.float32)}

    def rows(self):
        return read_rows("calls.txt")

    def outcome(self, code, column):
        T = self.T
        names = dict(self.fixed, x=T.tensor([[0.5, -1.25, 2.0], [0.0, -2.5, 3.75]]), y=T.ones(2, 3), v=T.tensor([1.5, -2.0, 0.25]),
                     m=T.tensor([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]), n=T.ones(3, 2), b=T.tensor([0, 2, 1]),
                     c=T.tensor([[True, False, True], [False, True, True]]), s=T.tensor(1.5), e=T.ones(0))
        return outcome(T, compile(code, "<row>", "eval"), names)


class Special:
    """Elementwise functions of zeros, infinities, NaN, subnormals and what is huge."""
    head = ["What elementwise functions give for special values: x holds them, p and q all pairs of a few. The sign of zero counts.",
            "Recorded from PyTorch by record.py."]
    columns = ["f16", "bf16", "f32", "f64"]
    exactly = True
    largest = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}
    least_normal = {"f16": 2.0 ** -14, "bf16": 2.0 ** -126, "f32": 2.0 ** -126, "f64": 2.0 ** -1022}

    def __init__(self, T):
        self.T, self.compiled = T, {}

    def rows(self):
        return dtype_rows.special_rows()

    def outcome(self, code, column):
        T = self.T
        d, inf, nan = getattr(T, DTYPES[column]), float("inf"), float("nan")
        largest, normal, least = self.largest[column], self.least_normal[column], LEAST[column]
        positive = [0.0, least, normal / 2, normal, 0.5, 1.0, 2.5, 12.0, 100.0, 1000.0, largest, inf]
        x = T.tensor([v for p in positive for v in (p, -p)] + [nan], dtype=d)
        few = [0.0, -0.0, 1.0, -1.5, normal, largest, inf, -inf, nan]
        p = T.tensor([a for a in few for _ in few], dtype=d)
        q = T.tensor([b for _ in few for b in few], dtype=d)
        compiled = self.compiled.setdefault(code, compile(code, "<row>", "eval"))
        return outcome(T, compiled, {"T": T, "F": T.nn.functional, "S": T.special, "x": x, "p": p, "q": q, "d": d})


TABLES = {"dtypes": Dtypes, "pairs": Pairs, "bad_calls": BadCalls, "special": Special}
