#!/usr/bin/env python3
"""Writes ir/math_coefficients.h: weighted minimax polynomials by Remez exchange, in 60 digits (mpmath).

Coefficients are rounded to the target format one after the other, lowest power first, and those that remain are fitted again
after each rounding, so that the rounding of one is absorbed by the next. Usage, from the root:

    python3 tests/ulp/coefficients.py > ir/math_coefficients.h

The error that is left goes to stderr as a power of two, relative to the function. It takes a minute.
"""
import sys
import textwrap

import mpmath as mp

mp.mp.dps = 60
BITS = {"float": 24, "double": 53}


def round_to(value, kind):
    """value rounded to the nearest number of `kind` (no subnormals occur here)."""
    if value == 0:
        return value
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, BITS[kind])), exponent - BITS[kind])


def remez(f, weight, lo, hi, count):
    """The c of length `count` that minimises max |weight(x) (sum c[k] x^k - f(x))| on [lo, hi]."""
    grid = [lo + (hi - lo) * (1 - mp.cos(mp.pi * i / 1200)) / 2 for i in range(1201)]
    grid = [x for x in grid if weight(x) != 0]
    values, weights = [f(x) for x in grid], [abs(weight(x)) for x in grid]
    nodes = [round(i * (len(grid) - 1) / count) for i in range(count + 1)]  # Chebyshev's, as the grid is
    best = None
    for _ in range(40):
        rows = mp.matrix(count + 1, count + 1)
        right = mp.matrix(count + 1, 1)
        for i, n in enumerate(nodes):
            for k in range(count):
                rows[i, k] = weights[n] * grid[n] ** k
            rows[i, count] = -1 if i % 2 else 1
            right[i] = weights[n] * values[n]
        solution = mp.lu_solve(rows, right)
        c, level = [solution[k] for k in range(count)], abs(solution[count])
        errors = [w * (mp.polyval(c[::-1], x) - v) for x, v, w in zip(grid, values, weights)]
        # The largest error of each run of equal sign; then the count + 1 neighbours among them with the largest least error.
        peaks = []
        for i, e in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[1]:
            best = c, worst
        if len(peaks) < count + 1 or worst <= level * (1 + mp.mpf("1e-3")):
            break
        while len(peaks) > count + 1:  # drop the least inner pair, or the lesser end, so that signs still alternate
            if len(peaks) == count + 2:
                peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
            else:
                least = min(range(len(peaks) - 1), key=lambda i: max(abs(errors[peaks[i]]), abs(errors[peaks[i + 1]])))
                del peaks[least : least + 2]
        nodes = peaks
    return best


def fit(f, weight, lo, hi, count, kind):
    lo, hi, fixed = mp.mpf(lo), mp.mpf(hi), []
    for done in range(count):
        rest = lambda x: (f(x) - mp.polyval(fixed[::-1], x)) / x**done if done else f(x)
        c, worst = remez(rest, lambda x: weight(x) * x**done, lo, hi, count - done)
        fixed.append(round_to(c[0], kind))
    xs = [lo + (hi - lo) * i / 2000 for i in range(2001)]
    worst = max(abs(weight(x) * (mp.polyval(fixed[::-1], x) - f(x))) for x in xs if x != 0)
    return fixed, worst


def row(name, comment, f, weight, interval, count, kind, given=()):
    """One array of the header: `given` leading coefficients and `count` fitted ones."""
    c, worst = fit(f, weight, *interval, count, kind)
    print(f"{name} {kind}: 2^{float(mp.log(worst, 2)):.1f}", file=sys.stderr, flush=True)
    suffix = "f" if kind == "float" else ""
    # A number of the format prints exactly as a hexadecimal float.
    numbers = [shortest(x) + suffix for x in [*given, *c]]
    text = textwrap.fill(", ".join(numbers) + "};", 124, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return f"  // {comment}\n  static constexpr std::array {name} = {{\n{text}\n"


def shortest(x):
    """A hexadecimal float without the zeros that end its digits."""
    digits, exponent = float(x).hex().split("p")
    return digits.rstrip("0").rstrip(".") + "p" + exponent.removeprefix("+")


half_ln2 = mp.log(2) / 2 * mp.mpf("1.0001")  # rounding n may leave a little more


def exp_tail(x):  # (e^x - 1 - x) / x^2
    return (mp.expm1(x) - x) / x**2 if abs(x) > mp.mpf("1e-15") else mp.mpf(1) / 2 + x / 6


def log_tail(x):  # (log(1 + x) - x) / x^2
    return (mp.log1p(x) - x) / x**2 if abs(x) > mp.mpf("1e-15") else -mp.mpf(1) / 2 + x / 3


def atanh_tail(z):  # (log((1 + s) / (1 - s)) - 2 s) / s^3 at z = s^2
    if z < mp.mpf("1e-15"):
        return mp.mpf(2) / 3 + z * 2 / 5
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / (s * z)


def tanh_tail(z):  # (tanh(x) - x) / x^3 at z = x^2
    if z < mp.mpf("1e-15"):
        return -mp.mpf(1) / 3 + z * 2 / 15
    x = mp.sqrt(z)
    return (mp.tanh(x) - x) / (x * z)


def erf_tail(z):  # (erf(x) - x) / x at z = x^2
    if z < mp.mpf("1e-15"):
        return 2 / mp.sqrt(mp.pi) * (1 - z / 3) - 1
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erfc_slope(x):  # log(erfc(x)) / x
    return mp.log(mp.erfc(x)) / x


def expm1_2(x):  # (e^(2x) - 1) / x
    return mp.expm1(2 * x) / x if abs(x) > mp.mpf("1e-15") else 2 + 2 * x


def exp2_tail(x):  # (2^x - 1) / x
    return mp.expm1(x * mp.log(2)) / x if abs(x) > mp.mpf("1e-15") else mp.log(2)


def relative_to(f, scale):
    """The weight that makes errors in the polynomial relative to f, when `scale` multiplies the polynomial."""
    return lambda x: scale(x) / f(x) if x else 0


HEADER = """// The coefficients of ir/math.h, lowest power first: the output of tests/ulp/coefficients.py, and nobody edits a digit.
#pragma once

#include <array>

namespace braze::ir::math {

template <class T>
struct Coefficients;

// clang-format off: several numbers a line"""


def rows(kind):
    """The arrays of one format. Counts are the least that keep the polynomial's own error well below a rounding."""
    short = kind == "float"
    ln2, half, quarter = (-half_ln2, half_ln2), (mp.mpf("-0.50001"), mp.mpf("0.50001")), (-half_ln2 / 2, half_ln2 / 2)
    yield row("exp", "e^r = sum c[k] r^k on |r| <= ln 2 / 2", exp_tail, relative_to(mp.exp, lambda r: r**2), ln2,
              5 if short else 10, kind, given=(1, 1))
    yield row("exp2", "2^r = sum c[k] r^k on |r| <= 1/2", exp2_tail, relative_to(lambda r: mp.power(2, r), lambda r: r), half,
              6 if short else 11, kind, given=(1,))
    yield row("expm1", "e^r - 1 - r = r^2 sum c[k] r^k on |r| <= ln 2 / 2", exp_tail, relative_to(mp.expm1, lambda r: r**2), ln2,
              6 if short else 11, kind)
    if short:
        yield row("log", "log(1 + f) - f = f^2 sum c[k] f^k on [-1/4, 1/2]", log_tail, relative_to(mp.log1p, lambda f: f**2),
                  (mp.mpf("-0.2501"), mp.mpf("0.5001")), 9, kind)
    else:
        yield row("log", "2 atanh(s) - 2 s = s^3 sum c[k] s^2k on |s| <= 1/5", atanh_tail,
                  relative_to(lambda z: 2 * mp.atanh(mp.sqrt(z)), lambda z: z * mp.sqrt(z)), (mp.mpf(0), mp.mpf("0.0401")), 8, kind)
    yield row("tanh_exp", "e^2r - 1 = r sum c[k] r^k on |r| <= ln 2 / 4", expm1_2, relative_to(lambda r: mp.exp(2 * r), lambda r: r),
              quarter, 6 if short else 12, kind)
    yield row("tanh", "tanh(x) - x = x^3 sum c[k] x^2k on |x| <= 1", tanh_tail,
              relative_to(lambda z: mp.tanh(mp.sqrt(z)), lambda z: z * mp.sqrt(z)), (mp.mpf(0), mp.mpf("1.001")), 7 if short else 15, kind)
    if short:
        yield row("erf", "erf(x) - x = x sum c[k] x^2k on |x| <= 0.93", erf_tail, relative_to(lambda z: mp.erf(mp.sqrt(z)), mp.sqrt),
                  (mp.mpf(0), mp.mpf("0.93") ** 2), 7, kind)
        yield row("erfc", "log(erfc(x)) = x sum c[k] x^k on [0.92, 4]", erfc_slope,
                  relative_to(mp.erf, lambda x: x * mp.erfc(x)), (mp.mpf("0.92"), mp.mpf("4.001")), 7, kind)
        yield row("sigmoid", "e^r = sum c[k] r^k on |r| <= ln 2 / 2, computed in f64", mp.exp, lambda r: mp.exp(-r), ln2, 7, "double")


def relative_to(f, scale):
    """The weight that makes errors in the polynomial relative to f, when `scale` multiplies the polynomial."""
    return lambda x: scale(x) / f(x) if x else 0


def main():
    print(HEADER)
    for kind in ("float", "double"):
        print(f"template <>\nstruct Coefficients<{kind}> {{\n{''.join(rows(kind))}}};")
    print("// clang-format on\n\n}  // namespace braze::ir::math")


if __name__ == "__main__":
    main()
