"""What a small piece of code does under a module T (PyTorch or Braze), as text that can be recorded and compared.

The outcome of a cell is a token and values. Token: the dtypes of the results (`f32`, `f32+i64`; Python's values are `int`, `bool`,
`float`, `str`), or the nearest builtin class of the exception. An exception that comes only when values are read ends in `@read`.
Values: a list of (shape, numbers) per result, flat.
"""
import builtins
import math
import warnings

DTYPES = {"b1": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
          "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
SHORT = {long: short for short, long in DTYPES.items()}
# The kit's tolerances.
TOLERANCE = {"f32": (1e-5, 1e-6), "f64": (1e-12, 1e-12), "f16": (2e-3, 2e-3), "bf16": (1.6e-2, 1e-2), "float": (1e-5, 1e-6)}


def nearest_builtin(error):
    for cls in type(error).__mro__:
        if getattr(builtins, cls.__name__, None) is cls:
            return cls.__name__
    return "Exception"


def short_dtype(dtype):
    name = str(dtype).split(".")[-1]
    return SHORT.get(name, name)


def flatten(result, out):
    if isinstance(result, (tuple, list)) and type(result).__name__ != "Size":
        for each in result:
            flatten(each, out)
    else:
        out.append(result)
    return out


def describe(T, result):
    """(kind, shape or None, flat values) of one result; reads its values."""
    if isinstance(result, T.Tensor):
        return short_dtype(result.dtype), tuple(result.shape), flatten(result.tolist(), [])
    if isinstance(result, bool):
        return "bool", None, [result]
    if isinstance(result, int):
        return "int", None, [int(result)]
    if isinstance(result, float):
        return "float", None, [float(result)]
    if isinstance(result, T.dtype):
        return "dtype", None, [short_dtype(result)]
    if result is None:
        return "None", None, []
    return type(result).__name__, None, ["".join(str(result).split()).replace("torch.", "").replace("braze.", "")]


def outcome(T, code, names):
    """(token, values) of `code`, a compiled expression; None for values where it raises."""
    try:
        T.manual_seed(1234)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = flatten(eval(code, names), [])
    except Exception as error:
        return nearest_builtin(error), None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            described = [describe(T, each) for each in results]
    except Exception as error:
        return nearest_builtin(error) + "@read", None
    token = "+".join(kind for kind, _, _ in described) or "()"
    return token, described


# ---- values as text ----

def number_text(value, kind):
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, float):
        if value != value:
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        text = f"{value:.{15 if kind == 'f64' else 8}g}"
        return repr(value) if math.isinf(float(text)) else text
    return str(value)


def values_text(values):
    parts = []
    for kind, shape, flat in values:
        head = "" if shape is None else "[" + ",".join(map(str, shape)) + "]"
        parts.append(" ".join(([head] if head else []) + [number_text(v, kind) for v in flat]))
    return " ; ".join(parts)


# The least positive number: what a result may be off by where the rounding of subnormals matters.
LEAST = {"f16": 2.0 ** -24, "bf16": 2.0 ** -133, "f32": 2.0 ** -149, "f64": 2.0 ** -1074}


def same_number(want, got, kind, slack=1.0, rtol=None, exactly=False):
    """`want` is text. `exactly`: the sign of zero counts, and small numbers are compared as closely as large ones."""
    if want in ("T", "F"):
        return isinstance(got, bool) and got == (want == "T")
    if isinstance(got, float):
        w = float(want)
        if w != w or got != got:
            return w != w and got != got
        if w == got:
            return not exactly or w != 0 or (want[0] == "-") == (math.copysign(1, got) < 0)
        if math.isinf(w) or math.isinf(got):
            return False
        usual, atol = TOLERANCE.get(kind, (0, 0))
        if exactly:
            atol = 2 * LEAST.get(kind, 0)
        return abs(w - got) <= slack * (atol + max(rtol or 0, usual) * abs(w))
    return want == str(got)


def compare_values(text, values, slack=1.0, rtol=None, exactly=False):
    """None, or what differs between the recorded text and the values."""
    wanted = text.split(" ; ")
    if len(wanted) != len(values):
        return f"{len(values)} results, expected {len(wanted)}"
    for want, (kind, shape, flat) in zip(wanted, values):
        words = want.split()
        if shape is not None:
            head = "[" + ",".join(map(str, shape)) + "]"
            if not words or words[0] != head:
                return f"shape {head}, expected {words[0] if words else ''}"
            words = words[1:]
        if len(words) != len(flat):
            return f"{len(flat)} values, expected {len(words)}"
        for at, (w, g) in enumerate(zip(words, flat)):
            if not same_number(w, g, kind, slack, rtol, exactly):
                return f"value {at} is {number_text(g, kind)}, expected {w} (all: {values_text(values)[:160]}; expected {text[:160]})"
    return None
