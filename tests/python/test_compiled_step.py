"""braze.compile on whole training steps: bit for bit what the step gives without it, recorded once, compiled at most once more."""
import argparse
import collections
import copy
import dataclasses
import enum
import itertools
import random
import time

import numpy

import braze as T
from braze import nn
from compiled_steps import bits, everything, mlp, step_of, together, x_of, y_of

scale = 1.0


def change_rate(i, model, optimizer):
    optimizer.param_groups[0]["lr"] = 0.05 / (1 + i % 7)


def test_sgd_with_a_changing_rate():
    together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=0.1), each=change_rate, warm=1)
    together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=0.1, weight_decay=0.01, maximize=True), each=change_rate, warm=1)


def test_every_optimizer():
    for make in (lambda p: T.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: T.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
                 lambda p: T.optim.Adam(p), lambda p: T.optim.Adam(p, amsgrad=True, weight_decay=0.1), lambda p: T.optim.AdamW(p),
                 lambda p: T.optim.RMSprop(p, momentum=0.9, centered=True), lambda p: T.optim.Adagrad(p, lr_decay=0.1),
                 lambda p: T.optim.Adadelta(p), lambda p: T.optim.NAdam(p), lambda p: T.optim.Adamax(p), lambda p: T.optim.Rprop(p, lr=0.01),
                 lambda p: T.optim.ASGD(p)):
        together(mlp(), lambda m: make(m.parameters()), steps=8, each=change_rate)
    together(mlp(), lambda m: T.optim.RAdam(m.parameters(), lr=0.1), warm=8)  # its first steps are others


def test_groups_and_types():
    def make(model):
        return T.optim.AdamW([{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.5, "weight_decay": 0}], lr=0.01)
    together(mlp(), make, each=change_rate)
    together(mlp().to(T.float64), lambda m: T.optim.Adam(m.parameters()), steps=6,
             make_step=lambda m, o: typed_step(m, o, T.float64))
    together(mlp().to(T.bfloat16), lambda m: T.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), steps=6,
             make_step=lambda m, o: typed_step(m, o, T.bfloat16))


def typed_step(model, optimizer, dtype):
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.to(dtype)), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


def test_draws_go_on():
    together(mlp(nn.Dropout(0.3)), lambda m: T.optim.Adam(m.parameters()))


def test_modes_and_buffers():
    def each(i, model, optimizer):
        model.train(i % 6 < 4)
    together(mlp(nn.BatchNorm1d(32), nn.Dropout(0.5)), lambda m: T.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), each=each, warm=6)


def test_a_shorter_last_batch_costs_at_most_one_more_compilation():
    model = mlp()
    optimizer = T.optim.Adam(model.parameters())
    step = T.compile(step_of(model, optimizer))
    for _ in range(4):
        step(x_of(16, 0), y_of(16, 0)).item()
    x, y = x_of(7, 0), y_of(7, 0)
    T.eval((x, y))
    before = T._braze.statistics()["compilations"]
    step(x, y).item()
    assert T._braze.statistics()["compilations"] - before <= 1
    together(mlp(), lambda m: T.optim.Adam(m.parameters()), size=lambda i: 7 if i % 5 == 4 else 16, warm=6)


def test_nothing_is_compiled_from_the_third_step_on():
    model = mlp(nn.Dropout(0.1))
    optimizer = T.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = T.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=30)
    step = T.compile(step_of(model, optimizer))
    for i in range(20):
        x, y = x_of(16, i), y_of(16, i)
        T.eval((x, y))
        if i == 3:
            before = T._braze.statistics()["compilations"]
        step(x, y).item()
        scheduler.step()
    assert T._braze.statistics()["compilations"] == before


def test_parameters_stay_where_they_are():
    model = mlp()
    optimizer = T.optim.Adam(model.parameters())
    step = T.compile(step_of(model, optimizer))
    for i in range(3):
        step(x_of(16, i), y_of(16, i))
    kept = [*model.parameters(), *(s[name] for s in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq"))]
    before = [t.detach().data_ptr() for t in kept]
    for i in range(3):
        step(x_of(16, i), y_of(16, i))
    assert [t.detach().data_ptr() for t in kept] == before


def test_accumulated_and_zeroed_gradients():
    def zeroing(model, optimizer):
        def step(x, y):
            optimizer.zero_grad(set_to_none=False)
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss
        return step

    def accumulating(model, optimizer):
        def step(x, y):
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return loss
        return step

    def clear(i, model, optimizer):
        if i % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
    together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=0.1), make_step=zeroing)
    together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=0.1), make_step=accumulating, each=clear, warm=6)


def test_what_a_step_may_do_besides():
    """Clipping, several results, two backward passes, an average of the weights."""
    def rich(model, optimizer):
        mean = [p.detach().clone() for p in model.parameters()]

        def step(x, y):
            optimizer.zero_grad()
            out = model(x)
            loss = nn.functional.cross_entropy(out, y, label_smoothing=0.1)
            penalty = sum(p.square().sum() for p in model.parameters()) * 1e-3
            (loss + penalty).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            with T.no_grad():
                for m, p in zip(mean, model.parameters()):
                    m.lerp_(p, 0.1)
            return loss.detach(), (out.detach().argmax(1) == y).sum()
        return step
    twins = [mlp(), mlp()]
    optimizers = [T.optim.Adam(m.parameters()) for m in twins]
    steps = [rich(twins[0], optimizers[0]), T.compile(rich(twins[1], optimizers[1]))]
    for i in range(8):
        x, y = x_of(16, i), y_of(16, i)
        first, second = [[t.tolist() for t in step(x, y)] for step in steps]
        assert first == second, i
        assert everything(twins[0], optimizers[0]) == everything(twins[1], optimizers[1])


def falls_back(make_step, reason, steps=4, make=lambda m: T.optim.SGD(m.parameters(), lr=0.1), model=None):
    """Runs as it is, with the right values, and says why."""
    compiled = together(mlp() if model is None else model, make, steps=steps, make_step=make_step, traced=False)
    with T.explain(kinds="compile") as notes:
        compiled(x_of(16, 0), y_of(16, 0))
    assert "runs as it is" in notes.text and reason in notes.text, (reason, notes.text)


def test_what_runs_as_it_is():
    def with_extra(extra):
        def make_step(model, optimizer):
            def step(x, y):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
                extra(loss, model, optimizer)
                optimizer.step()
                return loss
            return step
        return make_step

    losses = []
    falls_back(with_extra(lambda loss, m, o: loss.item()), "a value is needed while a function is being traced")
    falls_back(with_extra(lambda loss, m, o: losses.append(loss.item())), "value is needed")
    assert len(losses) == 2 * 4 + 1  # once a call, also of the one that was tried
    falls_back(with_extra(lambda loss, m, o: losses.append(loss.detach())), "changes a list")
    assert len(losses) == 2 * 9
    falls_back(with_extra(lambda loss, m, o: random.random()), "random")
    falls_back(with_extra(lambda loss, m, o: print(end="")), "print()")
    falls_back(with_extra(lambda loss, m, o: o.param_groups[0]["lr"]), "param_groups")
    falls_back(with_extra(lambda loss, m, o: m.eval()), "'training'")

    def give_graph(model, optimizer):
        def step(x, y):
            return nn.functional.cross_entropy(model(x), y)
        return step
    falls_back(give_graph, "a derivative passes through its results")


def test_counts_in_python_are_counted_once():
    count = 0

    def make_step(model, optimizer):
        inner = step_of(model, optimizer)

        def step(x, y):
            nonlocal count
            count += 1
            return inner(x, y)
        return step
    falls_back(make_step, "a variable of an enclosing function")
    assert count == 2 * 4 + 1


def test_what_cannot_be_watched_is_not_run_twice():
    counter = itertools.count()

    def make_step(model, optimizer):
        inner = step_of(model, optimizer)

        def step(x, y):
            next(counter)
            return inner(x, y)
        return step
    falls_back(make_step, "itertools.count")
    assert next(counter) == 2 * 4 + 1


def test_hooks_run_as_they_are():
    seen = []
    model = mlp()
    model[0].weight.register_hook(lambda g: seen.append(1) or g * 2)
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    step = T.compile(step_of(model, optimizer))
    for i in range(3):
        step(x_of(16, i), y_of(16, i))
    assert len(seen) == 3, seen


def test_what_changes_between_calls_is_seen():
    def make_step(model, optimizer):
        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y) * scale
            loss.backward()
            optimizer.step()
            return loss
        return step

    def each(i, model, optimizer):
        global scale
        scale = [1.0, 1.0, 2.0, 0.5][i // 4]
        if i == 9:
            model[0].bias.requires_grad_(False)
        if i == 11:
            model[2].weight.data = model[2].weight.data * 2
        if i == 13:
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        if i == 14:
            optimizer.param_groups[0]["momentum"] = 0.5
    together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), steps=16, make_step=make_step, each=each, traced=False)


def test_the_loss_is_as_after_its_backward():
    model = mlp()
    step = T.compile(step_of(model, T.optim.SGD(model.parameters(), lr=0.1)))
    for i in range(3):
        loss = step(x_of(16, i), y_of(16, i))
    for again in (loss, loss * 2):
        try:
            again.backward()
        except RuntimeError as e:
            assert "a second time" in str(e)
        else:
            raise AssertionError("nothing was raised")


def test_bad_classes_are_told_at_the_call():
    model = mlp()
    step = T.compile(step_of(model, T.optim.SGD(model.parameters(), lr=0.1)))
    for i in range(3):
        step(x_of(16, i), y_of(16, i))
    before = [bits(p) for p in model.parameters()]
    try:
        step(x_of(16, 0), T.full((16,), 5))
    except IndexError as e:
        assert "Target 5 is out of bounds." in str(e)
    else:
        raise AssertionError("nothing was raised")
    assert [bits(p) for p in model.parameters()] == before
    step(x_of(16, 0), y_of(16, 0))


def test_bad_probabilities_are_told_as_outside():
    model = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid())
    optimizer = T.optim.Adam(model.parameters(), lr=0.1)

    @T.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy(model(x), y) + nn.functional.binary_cross_entropy(x, y.clamp(0, 1))
        loss.backward()
        optimizer.step()
        return loss
    good = T.tensor([0.5, 0.25, 1.0])
    for _ in range(4):
        step(good, good).item()
    before = [bits(p) for p in model.parameters()]
    for x, y, word in ((good + 1, good, "input"), (good, good - 1, "target"), (good * float("nan"), good, "input")):
        try:
            step(x, y).item()
        except RuntimeError as e:
            assert type(e) is RuntimeError and f"all elements of {word} should be between 0 and 1" in str(e), e
        else:
            raise AssertionError("nothing was raised")
        assert [bits(p) for p in model.parameters()] == before
    step(good, good).item()


def test_an_embedding_and_attention_train():
    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.norm = nn.Embedding(20, 16), nn.LayerNorm(16)
            self.attend, self.head = nn.MultiheadAttention(16, 4, batch_first=True), nn.Linear(16, 5)

        def forward(self, x):
            h = self.norm(self.embed((x[:, :6].abs() * 7).long() % 20))
            return self.head(self.attend(h, h, h, need_weights=False)[0].mean(1))
    T.manual_seed(0)
    together(Small(), lambda m: T.optim.AdamW(m.parameters(), lr=0.01), steps=8)


class Kind(enum.Enum):
    SUM, MEAN = 1, 2


@dataclasses.dataclass
class Config:
    smoothing: float = 0.1
    kind: Kind = Kind.MEAN


Pair = collections.namedtuple("Pair", "first second")


class Doubled(T.autograd.Function):
    factor = 2.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * Doubled.factor

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * Doubled.factor + 0 * x


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.config = model, optimizer, Config()
        self.names, self.options = [n for n, _ in model.named_parameters()], argparse.Namespace(weight=0.01)

    @property
    def weight(self):
        return self.options.weight

    def decay(self):
        return sum(self.weight * p.square().sum() for n, p in self.model.named_parameters() if n in self.names)

    def step(self, x, y):
        self.model.train()
        self.optimizer.zero_grad()
        pair = Pair(*(Doubled.apply(self.model(part)) for part in (x, x + 1)))
        loss = nn.functional.cross_entropy(pair.first + pair.second, y, label_smoothing=self.config.smoothing)
        if self.config.kind is Kind.SUM:
            loss = loss * len(y)
        (loss + self.decay()).backward()
        self.optimizer.step()
        return loss.detach()


def test_a_trainer_in_everyday_python():
    trainers = []

    def make_step(model, optimizer):
        trainers.append(Trainer(model, optimizer))
        return trainers[-1].step

    def each(i, model, optimizer):
        for trainer in trainers:
            trainer.config.kind = Kind.SUM if i in (4, 5) else Kind.MEAN
            trainer.options.weight = 0.02 if i >= 8 else 0.01
        Doubled.factor = 3.0 if i >= 10 else 2.0
        if i == 12:
            model.eval()
    model = mlp(nn.Dropout(0.2))
    twins = [model, copy.deepcopy(model)]
    optimizers = [T.optim.AdamW(m.parameters(), lr=0.01) for m in twins]
    steps = [make_step(twins[0], optimizers[0]), T.compile(make_step(twins[1], optimizers[1]))]
    for i in range(16):
        x, y = x_of(16, i), y_of(16, i)
        T.eval((x, y))
        rng, found = T.get_rng_state(), []
        for twin, optimizer, step in zip(twins, optimizers, steps):
            each(i, twin, optimizer)
            T.set_rng_state(rng)
            with T.explain(kinds="compile") as notes:
                loss = step(x, y)
            found.append((bits(loss), everything(twin, optimizer)))
        assert found[0] == found[1], i
        if i in (3, 5, 7, 9, 11, 13, 15):
            assert not notes.lines, (i, notes.text)
    Doubled.factor = 2.0


def test_a_refused_index_changes_nothing():
    T.manual_seed(0)
    twins = [nn.Sequential(nn.Embedding(10, 6), nn.Flatten(), nn.Linear(18, 5)) for _ in range(2)]
    twins[1].load_state_dict(twins[0].state_dict())
    optimizers = [T.optim.Adam(m.parameters(), lr=0.01) for m in twins]
    steps = [step_of(twins[0], optimizers[0]), T.compile(step_of(twins[1], optimizers[1]))]
    y = T.arange(4) % 5
    for i in range(6):
        x = T.arange(12).reshape(4, 3) % 10
        T.eval((x,))
        for step in steps:
            step(x, y)
        try:
            steps[1](x + 5, y).item()
        except (IndexError, RuntimeError):
            pass
        else:
            raise AssertionError("nothing was raised")
        assert everything(twins[0], optimizers[0]) == everything(twins[1], optimizers[1]), i


def test_generators_and_clocks_are_not_frozen():
    for draw in (lambda: random.random(), random.random, lambda: numpy.random.rand(), time.perf_counter):
        def make_step(model, optimizer):
            def step(x, y):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y) * (1 + draw() % 1)
                loss.backward()
                optimizer.step()
                return loss
            return step
        model = mlp()
        step = T.compile(make_step(model, T.optim.SGD(model.parameters(), lr=0.0)))
        x, y = x_of(16, 0), y_of(16, 0)
        assert len({step(x, y).item() for _ in range(6)}) > 1


class Descent(T.optim.Optimizer):
    """An optimizer that is none of braze.optim's."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @T.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad * group["lr"])


def test_optimizers_of_other_kinds():
    falls_back(step_of, "the step of Descent cannot be repeated", make=lambda m: Descent(m.parameters()))

    def scheduled(model, optimizer):
        scheduler, inner = T.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5), step_of(model, optimizer)

        def step(x, y):
            loss = inner(x, y)
            scheduler.step()
            return loss
        return step
    falls_back(scheduled, "of an optimizer or a scheduler", steps=6)

    def each(i, model, optimizer):
        if i == 3:
            optimizer.param_groups[0]["lr"].fill_(0.01)
        if i == 5:
            optimizer.param_groups[0]["lr"] = T.tensor(0.2)
    together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=T.tensor(0.1)), steps=8, each=each, traced=False)


def test_two_optimizers_in_turn_and_none():
    def in_turn(model, optimizer):
        first, second = T.optim.Adam(model[0].parameters(), lr=0.01), T.optim.SGD(model[2].parameters(), lr=0.1, momentum=0.9)

        def step(x, y):
            for each in (first, second):
                first.zero_grad()
                second.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
                each.step()
            return loss
        return step

    def by_hand(model, optimizer):
        params = list(model.parameters())

        def step(x, y):
            loss = nn.functional.cross_entropy(model(x), y)
            gradients = T.autograd.grad(loss, params)
            with T.no_grad():
                for p, g in zip(params, gradients):
                    p -= 0.1 * g
            return loss
        return step
    together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=0.1), steps=8, make_step=in_turn)
    together(mlp(), lambda m: T.optim.SGD(m.parameters(), lr=0.1), steps=8, make_step=by_hand, warm=1)


def test_what_is_done_to_parameters_between_calls():
    def each(i, model, optimizer):
        if i == 3:
            model.kept = model[0].bias.detach().numpy()
        if i == 4:
            model.kept[0] = 0
        if i == 5:
            model[0].weight.register_hook(lambda g: g * 2)
        if i == 7:
            model.to(T.float64).to(T.float32)
    together(mlp(), lambda m: T.optim.Adam(m.parameters()), steps=10, each=each, traced=False)


class Convolved(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(16, 5)

    def forward(self, x):
        return self.head(T.relu(self.norm(self.conv(x[:, :16].reshape(-1, 1, 4, 4)))).flatten(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.LSTM(4, 8, 2, dropout=0.2, batch_first=True), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.inner(x.reshape(-1, 5, 4))[0][:, -1])


def test_layers_with_state_and_draws():
    T.manual_seed(0)
    together(Convolved(), lambda m: T.optim.AdamW(m.parameters()), steps=6)
    together(Recurrent(), lambda m: T.optim.Adam(m.parameters()), steps=6)


def test_a_function_that_trains_nothing_sees_the_mode():
    model = mlp(nn.Dropout(0.5))
    forward = T.compile(lambda x: model(x))
    x = x_of(4, 0)
    with T.no_grad():
        model.eval()
        first = forward(x)
        model.train()
        second = forward(x)
        model.eval()
        assert first.equal(forward(x)) and not first.equal(second)
