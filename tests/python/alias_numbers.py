"""Dtypes and numbers as PyTorch has them, for alias_mirror.py: promotion, and values rounded to a dtype."""
import numpy as np

np.seterr(all="ignore")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
FLOATS = DTYPES[6:]
SIGNED = DTYPES[2:6]
# How elements lie in memory, and what is computed with: halves in float32, rounded after every op.
STORED = {name: np.dtype("uint16" if name == "bfloat16" else name) for name in DTYPES}
COMPUTED = {name: np.dtype("float32" if name in ("float16", "bfloat16") else name) for name in DTYPES}


class Refused(RuntimeError):
    pass


class Unsupported(Exception):
    pass


def require(ok, why="refused"):
    if not ok:
        raise Refused(why)


def known(ok, why="not mirrored"):
    if not ok:
        raise Unsupported(why)


def promoted(a, b):
    if a == b:
        return a
    if a in FLOATS and b in FLOATS:
        return "float32" if {a, b} == {"float16", "bfloat16"} else max(a, b, key=FLOATS.index)
    if a in FLOATS or b in FLOATS:
        return a if a in FLOATS else b
    if "bool" in (a, b):
        return b if a == "bool" else a
    if "uint8" in (a, b):
        other = b if a == "uint8" else a
        return "int16" if other == "int8" else other
    return max(a, b, key=SIGNED.index)


def category(dtype):
    return 0 if dtype == "bool" else 2 if dtype in FLOATS else 1


def of_number(value):
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"


def converted(values, to):
    """Values as they are computed with in dtype `to`, rounded to it."""
    if to == "bool":
        return values != 0
    if values.dtype.kind == "f" and to not in FLOATS:
        low, high = np.iinfo(COMPUTED[to]).min, np.iinfo(COMPUTED[to]).max
        known(bool(np.all((values >= low) & (values < high))), "a float that the integer cannot hold")
    if to == "float16":
        return values.astype(np.float32).astype(np.float16).astype(np.float32)
    if to == "bfloat16":
        return from_bfloat16(to_bfloat16(values.astype(np.float32)))
    return values.astype(COMPUTED[to])


def to_bfloat16(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).reshape(values.shape)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)
