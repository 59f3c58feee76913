"""The Python object of a tensor: identity, attributes, life, protocols."""
import copy
import gc
import pickle
import sys
import weakref

import numpy as np

import braze as T


def test_same_tensor_is_same_object():
    x = T.ones(2)
    assert x.to(T.float32) is x and x.float() is x and x.add_(1) is x
    assert x.to(T.float32, copy=True) is not x
    y = x
    y += 1
    assert y is x and x.tolist() == [3.0, 3.0]


def test_attributes_and_weak_references():
    x = T.ones(2)
    x.note = [x]  # a cycle that only the collector frees
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_objects_from_the_free_list_are_fresh():
    for _ in range(3):
        xs = [T.ones(1) for _ in range(600)]
        for x in xs:
            x.mark = 1
        del xs, x
    assert not any(hasattr(T.ones(1), "mark") for _ in range(600))


def test_subclass():
    class Sub(T.Tensor):
        pass
    s = T.Tensor._make_subclass(Sub, T.arange(3.))
    assert type(s) is Sub and isinstance(s, T.Tensor) and (s + 1).tolist() == [1.0, 2.0, 3.0]
    s.anything = 1
    del s
    gc.collect()


def test_references_do_not_leak():
    x = T.arange(4.)
    base = sys.getrefcount(x)
    for _ in range(1000):
        x + 1
        x.sum()
        T.exp(x)
        x[0]
        x.shape
        try:
            T.exp(x, foo=x)
        except TypeError:
            pass
    assert sys.getrefcount(x) <= base + 1


def test_memory_does_not_grow():
    import resource
    x = T.zeros(100)
    for _ in range(20000):
        x = x + 1
        if _ % 1000 == 0:
            x.tolist()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100000):
        T.ones(3) + 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


def test_size():
    s = T.zeros(2, 3, 4).shape
    assert repr(s) == "braze.Size([2, 3, 4])" and isinstance(s, tuple) and s == (2, 3, 4)
    assert type(s[1:]) is T.Size and type(s + (1,)) is T.Size and type(s * 2) is T.Size and s.numel() == 24
    assert pickle.loads(pickle.dumps(s)) == s and type(copy.deepcopy(s)) is T.Size
    assert type(s[0]) is int


def test_dtype():
    assert repr(T.float32) == "braze.float32" and T.float is T.float32 and T.float32.itemsize == 4
    for d in (T.float16, T.int8, T.bool):
        assert pickle.loads(pickle.dumps(d)) is d and copy.deepcopy(d) is d
    assert T.finfo(T.float32).eps == np.finfo("float32").eps and T.finfo(T.float16).max == 65504
    assert T.iinfo(T.int8).min == -128 and T.finfo(T.float32).tiny == np.finfo("float32").tiny


def test_device():
    assert repr(T.device("cpu")) == "device(type='cpu')" and T.device("cuda:1").index == 1 and T.device("cuda", 1) == T.device("cuda:1")
    assert T.ones(1).device == T.device("cpu") and str(T.device("cuda:0")) == "cuda:0"
    for bad in ("nowhere", "cpu:x"):
        try:
            T.device(bad)
        except RuntimeError:
            continue
        raise AssertionError(bad)
    for move in (lambda: T.ones(1).to("cuda"), lambda: T.ones(1, device="cuda"), lambda: T.ones(1).cuda()):
        try:
            move()
        except RuntimeError as e:
            assert "CUDA" in str(e) or "cuda" in str(e)
        else:
            raise AssertionError("moved")


def test_protocols():
    x = T.arange(6.).reshape(2, 3)
    assert len(x) == 2 and [r.tolist() for r in x] == x.tolist() and 4 in x and 9 not in x
    assert f"{T.tensor(1.5):.2f}" == "1.50" and int(T.tensor(3)) == 3 and float(T.tensor(2)) == 2.0 and [5, 6, 7][T.tensor(1)] == 6
    assert hash(x) == hash(x) and [r.tolist() for r in reversed(x)] == x.flip(0).tolist()
    assert (x == None) is False and (x != None) is True  # noqa: E711
    y = copy.deepcopy(x.t())
    assert y.stride() == (1, 3) and y.tolist() == x.t().tolist()
    y[0] = 9
    assert x[0, 0] == 0


def test_deepcopy_keeps_aliases():
    x = T.zeros(4)
    a, b = copy.deepcopy([x, x[1:]])
    a[1] = 7
    assert b.tolist() == [7.0, 0.0, 0.0] and x.tolist() == [0.0] * 4


def test_source_line_of_python():
    x = T.ones(2)
    y = x + 1  # this line
    line = test_source_line_of_python.__code__.co_firstlineno + 2
    assert f"test_object.py:{line}" in y.dump(), y.dump()
