"""Memory shared with NumPy, DLPack and files."""
import gc
import warnings

import numpy as np

import braze as T
from support import raises


def test_every_dtype_both_ways():
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"):
        n = np.arange(6).reshape(2, 3).astype(name)
        x = T.from_numpy(n)
        assert x.dtype is getattr(T, name) and x.numpy().dtype == n.dtype and (x.numpy() == n).all()
        assert (T.from_numpy(n[:, ::2]).numpy() == n[:, ::2]).all() and (T.tensor(n[:, ::2]).numpy() == n[:, ::2]).all()


def test_writes_are_seen_both_ways():
    n = np.zeros(4, dtype="float32")
    x = T.from_numpy(n)
    y = x * 2
    n[:] = 5
    x += 1
    assert y.tolist() == [0.0] * 4 and n.tolist() == [6.0] * 4
    m = T.zeros(3)
    a = m.numpy()
    m += 1
    a[0] = 7
    assert m.tolist() == [7.0, 1.0, 1.0] and a.tolist() == [7.0, 1.0, 1.0]


def test_memory_outlives_its_owner():
    x = T.from_numpy(np.arange(1000.))
    gc.collect()
    assert x.sum().item() == 499500.0
    a = T.arange(1000.).numpy()
    gc.collect()
    assert a.sum() == 499500.0


def test_owner_is_released():
    import weakref
    class Array(np.ndarray):
        pass
    n = np.zeros(4).view(Array)
    seen = weakref.ref(n)
    x = T.from_numpy(n)
    del n
    gc.collect()
    assert seen() is not None
    del x
    gc.collect()
    assert seen() is None


def test_read_only_array_warns_and_refuses_writes():
    n = np.arange(3.)
    n.flags.writeable = False
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        x = T.from_numpy(n)
    assert [w.category for w in seen] == [UserWarning]
    assert (x + 1).tolist() == [1.0, 2.0, 3.0]
    raises(RuntimeError, x.add_, 1)
    assert n.tolist() == [0.0, 1.0, 2.0]


def test_refused_arrays():
    assert "negative" in raises(ValueError, T.from_numpy, np.arange(3)[::-1])
    raises(TypeError, T.from_numpy, np.array(["a"]))
    raises(TypeError, T.tensor, np.array([object()]))
    raises(TypeError, T.from_numpy, [1, 2])
    raises(ValueError, T.from_numpy, np.arange(3).astype(">i4"))


def test_dlpack():
    x = T.arange(6.).reshape(2, 3)
    n = np.from_dlpack(x)
    x[0, 0] = 9
    assert n[0, 0] == 9
    y = T.from_dlpack(n.copy())
    assert y.tolist() == n.tolist()
    capsule = x.__dlpack__()
    T.from_dlpack(capsule)
    assert "only once" in raises(RuntimeError, T.from_dlpack, capsule)
    x.__dlpack__()  # never used: the capsule itself lets go
    assert T.from_dlpack(x.t()).stride() == (1, 3)


def test_operators_with_arrays_on_both_sides():
    t, a = T.tensor([1., 2.]), np.array([3., 4.])
    assert type(t + a) is T.Tensor and type(a + t) is T.Tensor and (a - t).tolist() == [2.0, 2.0] and (t * a).dtype is T.float64
    assert (np.float64(2) * t).tolist() == [2.0, 4.0] and (np.float32(2) * t).tolist() == [2.0, 4.0] and (t / np.float32(2)).tolist() == [0.5, 1.0]
