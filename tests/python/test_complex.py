"""complex64 and complex128 in Python: numbers, NumPy, DLPack, files, views, warnings. Values are NumPy's."""
import cmath
import copy
import io
import pickle
import subprocess
import sys

import numpy as np

import braze as T
from support import raises


def random(*shape, dtype="complex64"):
    draw = np.random.RandomState(len(shape))
    return (draw.randn(*shape) + 1j * draw.randn(*shape)).astype(dtype)


def close(tensor, array, within=1e-5):
    assert tensor.resolve_conj().numpy().dtype == array.dtype, (tensor.dtype, array.dtype)
    assert np.allclose(tensor.resolve_conj().numpy(), array, rtol=within, atol=within), (tensor, array)


def test_python_numbers_both_ways():
    assert T.tensor(1 + 2j).dtype is T.complex64 and T.tensor(1 + 2j).item() == 1 + 2j
    assert T.tensor([[1, 2.5], [3j, True]]).tolist() == [[1, 2.5], [3j, 1]]
    assert type(T.tensor(2j).item()) is complex and complex(T.tensor(2j)) == 2j
    assert float(T.tensor(2 + 0j)) == 2.0 and int(T.tensor(2 + 0j)) == 2 and bool(T.tensor(0j)) is False
    assert "overflow" in raises(RuntimeError, float, T.tensor(1j))
    assert (T.ones(2, dtype=T.int64) * 1j).tolist() == [1j, 1j] and (1j - T.ones(1)).tolist() == [-1 + 1j]
    raises(TypeError, T.tensor, [1j], dtype=T.float32)
    raises(RuntimeError, T.full, (2,), 1j, dtype=T.float32)
    assert T.full((2,), 1j).dtype is T.complex64 and T.full((2,), 2, dtype=complex).dtype is T.complex128


def test_dtype_objects():
    assert T.complex64.is_complex and not T.complex64.is_floating_point and T.complex128.itemsize == 16
    assert T.complex128.to_real() is T.float64 and T.float32.to_complex() is T.cfloat and T.float64.to_complex() is T.cdouble
    assert repr(T.complex64) == "braze.complex64" and pickle.loads(pickle.dumps(T.complex64)) is T.complex64
    assert T.zeros(1, dtype=T.complex64).type() == "braze.ComplexFloatTensor"


def test_numpy_and_dlpack_share_memory():
    for name in ("complex64", "complex128"):
        n = random(3, 4, dtype=name)
        x = T.from_numpy(n)
        assert x.dtype is getattr(T, name) and x.numpy().dtype == n.dtype
        x[0] = 1j
        assert (n[0] == 1j).all()
        n[1, 2] = 5
        assert x[1, 2].item() == 5
        m = T.zeros(2, dtype=getattr(T, name))
        a = m.numpy()
        m.imag.fill_(3)
        a[0] += 1
        assert m.tolist() == [1 + 3j, 3j]
        assert T.from_dlpack(x).data_ptr() == x.data_ptr() and (np.from_dlpack(x) == n).all()
        assert (T.from_numpy(n.T[::2]).numpy() == n.T[::2]).all() and (np.asarray(x.real) == n.real).all()
    assert "conjugate" in raises(RuntimeError, T.tensor([1j]).conj().numpy)


def test_functions_against_numpy_over_real_sizes():
    n, m = random(300, 70, dtype="complex128"), random(300, 70, dtype="complex128").T.copy().T[::-1].copy()
    x, y = T.from_numpy(n), T.from_numpy(m)
    for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh",
                 "arctanh", "expm1", "log1p", "log2", "log10", "square", "reciprocal", "angle", "abs", "conj"):
        close(getattr(T, name)(x), getattr(np, name)(n), 1e-12)
    close(x * y, n * m, 1e-12)
    close(x / y, n / m, 1e-12)
    close(x ** y, n ** m, 1e-10)
    close(x.T + y.T, n.T + m.T, 1e-12)
    close(x.T @ y, n.T @ m, 1e-11)
    close(x.sum(0), n.sum(0), 1e-11)
    close(x.cumsum(1), n.cumsum(1), 1e-11)
    close(x.prod(1), n.prod(1), 1e-9)
    close(x.cumprod(1), n.cumprod(1), 1e-9)
    close(x.mean(), n.mean(), 1e-12)
    close(x.conj().T @ y.conj(), n.conj().T @ m.conj(), 1e-11)
    assert (x == y).tolist() == (n == m).tolist()


def test_indexing_and_assignment():
    n = random(5, 6)
    x = T.tensor(n)
    mask = n.real > 0
    close(x[T.tensor(mask)], n[mask])
    close(x[[0, 3], :, None], n[[0, 3], :, None])
    x[[0, 3], [1, 1]] = 2 + 1j
    n[[0, 3], [1, 1]] = 2 + 1j
    x[T.tensor(mask)] *= 1j
    n[mask] *= 1j
    x[:, 2] += 1
    n[:, 2] += 1
    x.T[4:] = x[0, 0]
    n.T[4:] = n[0, 0]
    close(x, n)


def test_parts_and_conjugates_are_views():
    x = T.tensor([1 + 2j, 3 + 4j])
    x.real = T.tensor([5.0, 6.0])
    x.imag[0] = 9
    assert x.tolist() == [5 + 9j, 6 + 4j] and x.imag.data_ptr() == x.data_ptr() + 4
    y = x.conj()
    assert y.is_conj() and not (y * 1).is_conj() and y.data_ptr() == x.data_ptr() and T.ones(1).conj().is_conj() is False
    y[1] = 1j
    assert x[1].item() == -1j and y.tolist() == [5 - 9j, 1j]
    assert y.T.is_conj() and y.reshape(2, 1).mH.is_conj() is False
    assert copy.deepcopy(y).tolist() == y.tolist() and pickle.loads(pickle.dumps(y)).tolist() == y.tolist()


def test_save_and_load():
    x = T.tensor(random(4, 3))
    file = io.BytesIO()
    T.save({"x": x, "part": x[1:, 0], "conj": x.conj(), "wide": x.to(T.complex128)}, file)
    file.seek(0)
    back = T.load(file)
    assert back["x"].tolist() == x.tolist() and back["wide"].dtype is T.complex128 and back["conj"].tolist() == x.conj().tolist()
    back["x"][1, 0] = 7
    assert back["part"][0].item() == 7


def test_casting_to_real_warns_once():
    code = ("import warnings, braze as T\n"
            "with warnings.catch_warnings(record=True) as seen:\n"
            "    warnings.simplefilter('always')\n"
            "    T.tensor([1j]).bool(); T.tensor([1j]).float(); T.tensor([1j]).to(T.int64); T.zeros(1).copy_(T.tensor([1j]))\n"
            "print([str(w.message) for w in seen])\n")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}, check=True)
    assert out.stdout.strip() == "['Casting complex values to real discards the imaginary part']", out.stdout


def test_refusals():
    x = T.tensor([1j, 2])
    for refused in (lambda: x < x, lambda: x.max(), lambda: x.round(), lambda: x % 2, lambda: x // 2, lambda: x & x, lambda: T.erf(x)):
        assert "Complex" in raises(NotImplementedError, refused)
    raises(TypeError, lambda: T.maximum(x, x))
    raises(TypeError, lambda: x.sort())
    raises(TypeError, lambda: ~x)
    raises(TypeError, lambda: T.ones(1).imag)
    raises(RuntimeError, lambda: T.ones(2).add_(x))
    raises(NotImplementedError, lambda: x.clamp(0, 1))
    raises(NotImplementedError, lambda: T.linalg.det(T.eye(2, dtype=T.complex64)))


def test_functions_have_their_derivative_on_the_axes_too():
    """Composed of real functions of both parts, of which some have none where a part is zero. The oracle is the formula, by cmath."""
    root = cmath.sqrt
    derivatives = {
        "exp": cmath.exp,
        "exp2": lambda z: cmath.log(2) * 2 ** z,
        "expm1": cmath.exp,
        "log": lambda z: 1 / z,
        "log1p": lambda z: 1 / (1 + z),
        "sqrt": lambda z: 0.5 / root(z),
        "rsqrt": lambda z: -0.5 / (z * root(z)),
        "reciprocal": lambda z: -1 / (z * z),
        "sin": cmath.cos,
        "tan": lambda z: 1 / cmath.cos(z) ** 2,
        "tanh": lambda z: 1 / cmath.cosh(z) ** 2,
        "asin": lambda z: 1 / root(1 - z * z),
        "acos": lambda z: -1 / root(1 - z * z),
        "atan": lambda z: 1 / (1 + z * z),
        "asinh": lambda z: 1 / root(z * z + 1),
        "acosh": lambda z: 1 / (root(z - 1) * root(z + 1)),
        "atanh": lambda z: 1 / (1 - z * z),
        "sigmoid": lambda z: cmath.exp(-z) / (1 + cmath.exp(-z)) ** 2,
    }
    cases = [(name, getattr(T, name), f) for name, f in derivatives.items()] + [
        ("division", lambda z: (3 + 1j) / z, lambda z: -(3 + 1j) / (z * z)),
        ("division by a sum", lambda z: z / (2 * z + 1), lambda z: 1 / (2 * z + 1) ** 2),
        *((f"power {n}", lambda z, n=n: z ** n, lambda z, n=n: n * z ** (n - 1)) for n in (2, -1, 0.5, -2, -0.5, 2.5, 1j)),
        ("power of 2", lambda z: 2 ** z, lambda z: cmath.log(2) * 2 ** z),
    ]
    points = [0.5 + 0j, 0.25 + 0j, 0.75j, -0.5j, 0.5 - 0.25j, -0.75 + 0.5j]  # of no function's cut
    for name, f, derivative in cases:
        z = T.tensor(points, dtype=T.complex128).requires_grad_()
        y = f(z)
        (y.real.sum() + 2 * y.imag.sum()).backward()
        for point, found in zip(points, z.grad.tolist()):
            if name == "acosh" and point.imag == 0:
                continue  # its cut lies on the axis up to 1
            expected = (1 + 2j) * derivative(point).conjugate()
            assert abs(found - expected) < 1e-9 * max(1, abs(expected)), (name, point, found, expected)
