"""Two copies of a training, one by a compiled step: what the tests of compiled steps share."""
import copy

import braze as T
from braze import nn

x_of, y_of = (lambda n, seed: T.randn(n, 20, generator=T.Generator().manual_seed(seed))), (lambda n, seed: T.arange(n) * (seed + 1) % 5)


def mlp(*between):
    T.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 32), *between, nn.ReLU(), nn.Linear(32, 5))


def step_of(model, optimizer, loss_fn=nn.functional.cross_entropy):
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


def bits(tensor):
    return tensor.detach().reshape(-1).view(T.uint8).tolist()


def everything(model, optimizer):
    """All that a step leaves behind."""
    tensors = [*model.state_dict().values(), *(p.grad for p in model.parameters() if p.grad is not None)]
    for state in optimizer.state.values():
        tensors += [value for value in state.values() if isinstance(value, T.Tensor)]
    return [bits(t) for t in tensors] + [T.get_rng_state().tolist()]


def together(model, make, steps=20, size=lambda i: 16, each=lambda i, model, optimizer: None, make_step=step_of, traced=True, warm=3):
    """Trains two copies, one by a compiled step, and compares after each step. Returns the compiled one's function."""
    twins = [model, copy.deepcopy(model)]
    optimizers = [make(twin) for twin in twins]
    plain, compiled = make_step(twins[0], optimizers[0]), T.compile(make_step(twins[1], optimizers[1]))
    T.manual_seed(1)
    for i in range(steps):
        x, y = x_of(size(i), i), y_of(size(i), i)
        T.eval((x, y))
        found = []
        rng = T.get_rng_state()
        for twin, optimizer, step in zip(twins, optimizers, (plain, compiled)):
            each(i, twin, optimizer)
            T.set_rng_state(rng)
            before = T._braze.statistics()
            with T.explain(kinds="compile") as notes:
                loss = step(x, y)
            after = T._braze.statistics()
            found.append((bits(loss), loss.requires_grad, loss.grad_fn.name(), everything(twin, optimizer)))
        assert found[0] == found[1], (i, make(twin))
        if traced and i >= warm:
            assert not notes.lines, (i, notes.text)
            assert after["evaluations"] == before["evaluations"], i
            assert after["recorded"] - before["recorded"] < 200, (i, after["recorded"] - before["recorded"])
    return compiled
