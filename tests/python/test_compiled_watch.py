"""braze.compile gives no stale or lost value: whatever of Python a function reads, changes, raises or returns (a hostile review)."""
import collections
import functools
import gc
import math
import types
import weakref

import braze as T
from braze import nn
from compiled_steps import bits, everything, mlp, step_of, together, x_of, y_of


def test_what_is_returned_beside_tensors_is_that_of_the_trace_that_served():
    sized = T.compile(lambda x: (x.sum(), x.shape[0]))
    assert [sized(T.ones(n))[1] for n in (4, 7, 4, 7)] == [4, 7, 4, 7]
    model = mlp()
    named = T.compile(lambda x: {"train" if model.training else "eval": model(x).detach()})
    x, found = x_of(4, 0), []
    for i in range(4):
        model.train(i % 2 == 0)
        found += named(x)
    assert found == ["train", "eval"] * 2


def test_results_and_arguments_that_are_objects_are_the_very_ones():
    boxed = T.compile(lambda x: types.SimpleNamespace(loss=x.sum()))
    assert [boxed(T.ones(n)).loss.item() for n in (2, 3, 2)] == [2, 3, 2]
    assert type(T.compile(lambda x: collections.OrderedDict(a=x + 1))(T.ones(1))) is collections.OrderedDict

    def pairs(x):
        yield x + 1
        yield x + 2
    assert [[t.item() for t in T.compile(pairs)(T.ones(()))] for _ in range(2)] == [[2, 3]] * 2
    given, append = [], T.compile(lambda x, into: into.append(x * 2))
    for n in range(3):
        append(T.full((), float(n)), given)
    assert [t.item() for t in given] == [0, 2, 4]


def test_numbers_that_are_equal_are_not_yet_the_same():
    scaled = T.compile(lambda x, by: x * by)
    assert [math.copysign(1, scaled(T.ones(()), by).item()) for by in (0.0, -0.0, 0.0)] == [1, -1, 1]
    assert [str(scaled(T.ones((), dtype=T.int64), by).dtype) for by in (1, 1.0, True)] == ["braze.int64", "braze.float32", "braze.int64"]


class Meta(type):
    factor = 1.0


class Odd(metaclass=Meta):
    __factor__ = 1.0


class Other(Odd):
    pass


class Real(float):
    k = 1.0


def test_every_place_that_a_number_may_stand_in_is_watched():
    def scaled(get):
        def make_step(model, optimizer):
            def step(x, y):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y) * get()
                loss.backward()
                optimizer.step()
                return loss
            return step
        return make_step

    def compare(get, change):
        """The number is 1 in one half of the calls, then `change` makes it another."""
        done = set()

        def each(i, model, optimizer):
            if i >= 5 and not done:
                done.add(change())
        together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=0.1), steps=9, each=each, make_step=scaled(get), traced=False)

    def with_default(k=1.0):
        return k

    def with_keyword(*, k=1.0):
        return k

    def with_attribute():
        return with_attribute.k
    with_attribute.k = 1.0
    part, table, odd, real = functools.partial(lambda k: k, k=1.0), {"a": 1.0, "b": 3.0}, Odd(), Real(1.0)
    real.k = 1.0
    weight = T.zeros(3)
    compare(with_default, lambda: setattr(with_default, "__defaults__", (3.0,)))
    compare(with_keyword, lambda: with_keyword.__kwdefaults__.update(k=3.0))
    compare(with_attribute, lambda: setattr(with_attribute, "k", 3.0))
    compare(part, lambda: part.keywords.update(k=3.0))
    compare(lambda: next(iter(table.values())), lambda: table.update(a=table.pop("a")))
    compare(lambda: type(odd).__factor__, lambda: setattr(Odd, "__factor__", 3.0))
    compare(lambda: type(odd).factor, lambda: setattr(Meta, "factor", 3.0))
    compare(lambda: 1.0 if isinstance(odd, Other) else 3.0, lambda: setattr(odd, "__class__", Other))
    compare(lambda: real.k, lambda: setattr(real, "k", 3.0))
    compare(lambda: 1.0 if weight.shape[0] == 3 else 3.0, lambda: bool(weight.resize_(2) is None))


def test_an_exception_leaves_what_it_leaves_without_compile():
    def counting(at):
        def make_step(model, optimizer):
            inner, count = step_of(model, optimizer), [0]

            def step(x, y):
                loss = inner(x, y)
                if len(y) == at:
                    raise KeyError("now")
                return loss
            return step
        return make_step
    for sizes in ((8, 16), (16, 8)):
        twins = [mlp(nn.BatchNorm1d(32), nn.Dropout(0.5)) for _ in range(2)]
        optimizers = [T.optim.AdamW(m.parameters(), lr=0.01) for m in twins]
        steps = [counting(8)(twins[0], optimizers[0]), T.compile(counting(8)(twins[1], optimizers[1]))]
        for i in range(6):
            n = sizes[i % 2]
            x, y, rng, found = x_of(n, i), y_of(n, i), T.get_rng_state(), []
            for model, optimizer, step in zip(twins, optimizers, steps):
                T.set_rng_state(rng)
                try:
                    got = bits(step(x, y))
                except KeyError:
                    got = "raised"
                found.append((got, everything(model, optimizer)))
            assert found[0] == found[1], (sizes, i)


def test_a_compiled_function_dies_with_its_model():
    def make():
        model = mlp()
        optimizer = T.optim.AdamW(model.parameters(), lr=0.01)
        step = T.compile(step_of(model, optimizer))
        for i in range(4):
            step(x_of(4, i), y_of(4, i))
        return weakref.ref(model)
    seen = make()
    gc.collect()
    assert seen() is None


def test_a_tensor_from_outside_that_is_returned_is_that_tensor():
    kept = T.arange(6.).reshape(2, 3)

    def f(x):
        kept[0] = kept[0] + x
        return kept.to(T.float32), x + 1
    given = T.compile(f)
    for _ in range(3):
        assert given(T.ones(3))[0] is kept
    assert kept.tolist() == [[3, 4, 5], [3, 4, 5]]
    same = T.compile(lambda x: (x, x + 1))
    with T.explain(kinds="compile") as notes:
        for _ in range(3):
            x = T.ones(3)
            assert same(x)[0] is x
    assert "as it is" not in notes.text
