"""Every operation with a small example, for the op-by-dtype table. `rows()` gives (name, code); `inputs(T, d)` the names that code uses.

x y z [2,3]   u [3] in [0, 1]   v w [3]   m [3,3] positive definite   n [3,2]   bm [2,2,3]   bn [2,3,2]   s 0-d   e [0]
im1 im2 im3 images [1,2,..]   k1 k2 k3 kernels   i j int64 indices [3] [2,3]   c bool [2,3]   d the dtype   f float32 [2,3]
"""

INT = {
    "x": [[3, -1, 2], [0, -2, 5]], "y": [[1, 2, 3], [2, 1, 4]], "z": [[2, 0, 1], [1, 3, 0]], "u": [0, 1, 1], "v": [1, -2, 3], "w": [2, 1, -1],
    "m": [[4, 1, 0], [1, 3, 1], [0, 1, 2]], "n": [[1, 2], [0, 1], [2, 1]],
    "bm": [[[1, 0, 2], [2, 1, 1]], [[0, 1, 3], [1, 1, 0]]], "bn": [[[1, 2], [0, 1], [2, 1]], [[1, 0], [1, 2], [0, 1]]],
    "s": 2, "e": [],
    "im1": [[[1, 2, 3, 0, 5], [2, 1, 0, 4, 3]]],
    "im2": [[[[1, 2, 3, 0], [5, 2, 1, 0], [4, 3, 2, 2], [1, 0, 1, 6]], [[0, 1, 0, 2], [3, 1, 4, 1], [5, 0, 2, 6], [5, 3, 5, 0]]]],
    "im3": [[[[[1, 2], [3, 0]], [[5, 2], [1, 0]]], [[[4, 3], [2, 2]], [[1, 0], [1, 6]]]]],
    "k1": [[[1, 2], [0, 1]]], "k2": [[[[1, 0], [2, 1]], [[0, 1], [1, 1]]]], "k3": [[[[[1, 0], [2, 1]], [[0, 1], [1, 1]]]] * 2],
}
FLOAT = dict(INT, x=[[0.5, -1.25, 2.0], [0.0, -2.5, 3.75]], y=[[0.5, 1.5, 3.0], [2.0, 1.0, 0.25]], z=[[2.5, 0.0, 1.0], [0.75, 3.0, 0.0]],
             u=[0.25, 0.5, 0.75], v=[1.5, -2.0, 0.25], w=[2.0, 0.5, -1.0], s=1.5)


def inputs(T, short, dtypes):
    d = getattr(T, dtypes[short])
    source = FLOAT if short in ("f16", "bf16", "f32", "f64") else INT

    def adapt(nest):
        if isinstance(nest, list):
            return [adapt(each) for each in nest]
        return abs(nest) if short == "u8" else bool(nest) if short == "b1" else nest
    names = {name: T.tensor(adapt(nest), dtype=d) for name, nest in source.items()}
    names.update(T=T, d=d, F=T.nn.functional, L=T.linalg, S=T.special, i=T.tensor([0, 2, 1]), j=T.tensor([[0, 2, 1], [1, 0, 2]]),
                 c=T.tensor([[True, False, True], [False, True, True]]), f=T.tensor([[0.5, 1.0, 2.0], [3.0, 0.25, 1.5]]),
                 then=then, same=same, put=put)
    return names


def then(first, then_what):
    """The target of a statement's worth of code: calls what changes `first`, gives `first`."""
    then_what(first)
    return first


def same(*results):
    """Several spellings of one thing: alike in type, so that the first stands for all."""
    kinds = {str(getattr(each, "dtype", type(each))) for each in results}
    if len(kinds) > 1:
        raise AssertionError(f"spellings differ: {kinds}")
    return results[0]


def put(target, index, value):
    target[index] = value
    return target


UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac i0 lgamma log log10
log1p log2 logical_not logit nan_to_num neg rad2deg reciprocal relu round rsqrt sigmoid sgn sign sin sinc sinh sqrt square tan tanh trunc
bitwise_not conj_physical absolute arccos arccosh arcsin arcsinh arctan arctanh fix negative""".split()
# No in-place form.
PLAIN = """positive signbit isnan isinf isfinite isposinf isneginf isreal angle conj resolve_conj resolve_neg frexp ravel flatten
argwhere nonzero t clone is_floating_point is_complex is_signed is_conj is_neg numel nelement""".split()
BINARY = """add sub mul div floor_divide remainder fmod pow true_divide multiply subtract divide atan2 arctan2 copysign hypot igamma igammac
ldexp xlogy nextafter gcd lcm heaviside float_power eq ne lt le gt ge greater less not_equal less_equal greater_equal logical_and logical_or
logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift""".split()
BINARY_PLAIN = "maximum minimum fmax fmin logaddexp logaddexp2 rsub".split()
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "and": "&", "or": "|", "xor": "^",
             "lshift": "<<", "rshift": ">>", "eq": "==", "lt": "<", "ge": ">="}
SPECIAL_1 = """bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p
log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri psi round
scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc spherical_bessel_j0""".split()
SPECIAL_2 = "gammainc gammaincc xlog1py xlogy zeta".split()
ACTIVATIONS = """celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu sigmoid silu softplus
softshrink softsign tanh tanhshrink""".split()
REDUCTIONS = "sum mean prod all any std var median nansum nanmean logsumexp count_nonzero amax amin max min argmax argmin nanmedian".split()

def rows(examples):
    """Those that follow a pattern, then the examples."""
    out = []
    for n in UNARY:
        argument = "u" if n in ("logit", "erfinv") else "x"
        out += [(n, f"same(T.{n}({argument}), {argument}.{n}())"), (n + "_", f"{argument}.clone().{n}_()")]
    for n in PLAIN:
        out.append((n, f"x.{n}()" if n == "nelement" else f"same(T.{n}(x), x.{n}())"))
    for n in BINARY:
        a, b = ("u", "u") if n in ("igamma", "igammac") else ("x", "y")
        out += [(n, f"same(T.{n}({a}, {b}), {a}.{n}({b}))"), (n + "_", f"{a}.clone().{n}_({b})")]
    for n in BINARY_PLAIN:
        out.append((n, f"T.{n}(x, y)" if n == "rsub" else f"same(T.{n}(x, y), x.{n}(y))"))
    for n in "add sub mul div floor_divide remainder fmod pow maximum eq lt ge logical_and bitwise_and copysign".split():
        for label, number in (("int", "2"), ("float", "1.5"), ("bool", "True")):
            if n not in ("maximum", "logical_and"):
                out.append((f"{n}_with_{label}", f"x.{n}({number})"))
        out.append((f"{n}_zero_dim_f32", f"x.{n}(f[0, 0])"))
        out.append((f"{n}_zero_dim_f64", f"x.{n}(f[0, 0].double())"))
        out.append((f"{n}_zero_dim_i64", f"x.{n}(i[1])"))
    for label, symbol in OPERATORS.items():
        for kind, number in (("int", "2"), ("float", "2.5"), ("bool", "True")):
            out += [(f"x_{label}_{kind}", f"x {symbol} {number}"), (f"{kind}_{label}_y", f"{number} {symbol} y")]
    for n in SPECIAL_1:
        inexact = "  # rtol 1e-8: PyTorch's own error" if n in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1") else ""
        out.append((f"special_{n}", f"S.{n}({'u' if n in ('logit', 'erfinv', 'ndtri') else 'x'})" + inexact))
    for n in SPECIAL_2:
        out.append((f"special_{n}", f"S.{n}(y, y + 1)"))
    for n in ACTIVATIONS:
        out.append((f"F_{n}", f"F.{n}(x)"))
    for n in REDUCTIONS:
        if n != "logsumexp":
            out.append((n, f"same(T.{n}(x), x.{n}())"))
        if n not in ("median", "nanmedian", "max", "min"):
            out.append((n + "_of_dim", f"same(T.{n}(x, 1), x.{n}(1))"))
            if n != "count_nonzero":
                out.append((n + "_keepdim", f"T.{n}(x, 0, keepdim=True)"))
        out.append((n + "_empty", f"T.{n}(e)" if n != "logsumexp" else "T.logsumexp(e, 0)"))
    out += examples
    seen = set()
    for name, _ in out:
        if name in seen:
            raise SystemExit(f"two rows are called {name}")
        seen.add(name)
    return out


def special_rows():
    """Elementwise functions that are defined on floats."""
    whole = "bitwise_not conj_physical absolute arccos arccosh arcsin arcsinh arctan arctanh fix negative".split()
    out = [(n, f"T.{n}(x)") for n in UNARY if n not in whole]
    out += [(n, f"T.{n}(x)") for n in "signbit isnan isinf isfinite isposinf isneginf angle frexp".split()]
    out += [("S_" + n, f"S.{n}(x)") for n in SPECIAL_1 if n not in UNARY and n not in ("psi", "gammaln", "expit")]
    out += [("F_" + n, f"F.{n}(x)") for n in ACTIVATIONS if n not in UNARY]
    names = """add sub mul div floor_divide remainder fmod pow atan2 copysign hypot xlogy nextafter heaviside eq ne lt le gt ge
        logical_and maximum minimum fmax fmin logaddexp logaddexp2""".split()
    out += [(n, f"T.{n}(p, q)") for n in names]
    out += [("xlog1py", "S.xlog1py(p, q)"), ("clamp", "T.clamp(x, -1, 1)"), ("lerp", "T.lerp(p, q, 0.25)"), ("pow_2", "x ** 2"),
            ("pow_half", "x ** 0.5"), ("pow_minus_1", "x ** -1"), ("pow_third", "x ** (1 / 3)"), ("two_pow", "2 ** x"),
            ("gelu_tanh", "F.gelu(x, approximate='tanh')"), ("to_int64", "T.isfinite(x).long()"), ("to_float64", "x.double()"),
            ("to_float32", "x.float()"), ("to_float16", "x.half()"), ("to_bfloat16", "x.bfloat16()"), ("to_bool", "x.bool()"),
            ("isclose", "T.isclose(p, q)"), ("isclose_nan", "T.isclose(p, q, equal_nan=True)"), ("cumsum", "p.cumsum(0)"),
            ("addcmul", "T.addcmul(p, q, q)"), ("where", "T.where(p < q, p, q)"), ("round_decimals", "T.round(x, decimals=1)")]
    return out
