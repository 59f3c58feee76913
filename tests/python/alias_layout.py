"""Sizes and strides as PyTorch has them, for alias_mirror.py."""
import math

import numpy as np

from alias_numbers import Refused, require


def numel(size):
    return math.prod(size)


def row_major(size):
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def is_dense(size, stride):
    """Non-overlapping and dense, in any order of dims."""
    if numel(size) <= 1:
        return True
    step = 1
    for s, n in sorted((s, n) for n, s in zip(size, stride) if n != 1):
        if s != step:
            return False
        step *= n
    return True


def broadcast(*sizes):
    try:
        return np.broadcast_shapes(*sizes)
    except ValueError:
        raise Refused("sizes do not broadcast") from None


def viewed_strides(size, stride, new):
    """Strides under which the same memory has other sizes, or None."""
    if numel(size) == 0:
        return stride if tuple(size) == tuple(new) else row_major(new)
    out, at, base = [0] * len(new), len(new) - 1, stride[-1] if stride else 1
    group, taken = 1, 1
    for d in reversed(range(len(size))):
        group *= size[d]
        if d == 0 or (size[d - 1] != 1 and stride[d - 1] != group * base):
            while at >= 0 and (taken < group or new[at] == 1):
                out[at] = taken * base
                taken *= new[at]
                at -= 1
            if taken != group:
                return None
            if d > 0:
                base, group, taken = stride[d - 1], 1, 1
    if not size:
        return tuple([1] * len(new)) if numel(new) == 1 else None
    return tuple(out) if at == -1 else None


def inferred(size, count):
    size = list(size)
    if -1 in size:
        rest = -numel(size)
        require(rest > 0 and count % rest == 0, "the size cannot be inferred")
        size[size.index(-1)] = count // rest
    require(numel(size) == count, "shape is invalid for input")
    return tuple(size)
