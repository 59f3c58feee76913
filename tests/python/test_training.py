"""Training as one program: what is compiled, what runs, where results lie."""
import copy
import pickle
import re

import braze as T
from braze import nn


def mlp():
    T.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5))


def train(model, optimizer, steps, x, y):
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_every_optimizer_learns():
    x = T.rand(64, 20)
    y = x[:, :5].argmax(1)
    for make in (lambda p: T.optim.SGD(p, lr=0.5, momentum=0.9), lambda p: T.optim.Adam(p, lr=0.02), lambda p: T.optim.AdamW(p, lr=0.02),
                 lambda p: T.optim.RMSprop(p, lr=0.01), lambda p: T.optim.Adagrad(p, lr=0.1), lambda p: T.optim.NAdam(p, lr=0.02),
                 lambda p: T.optim.RAdam(p, lr=0.1), lambda p: T.optim.Adamax(p, lr=0.02)):
        model = mlp()
        losses = train(model, make(model.parameters()), 60, x, y)
        assert losses[-1] < 0.7 * losses[0], (make(model.parameters()), losses)


def test_parameters_are_updated_in_their_own_memory():
    model = mlp()
    optimizer = T.optim.Adam(model.parameters(), lr=0.01)
    before = [p.data_ptr() for p in model.parameters()]
    train(model, optimizer, 3, T.rand(8, 20), T.arange(8) % 5)
    assert [p.data_ptr() for p in model.parameters()] == before


def test_copies_and_pickles_are_apart():
    model = mlp()
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(twin[0].weight) is nn.Parameter and twin[0].weight.requires_grad
        train(model, optimizer, 1, T.rand(8, 20), T.arange(8) % 5)
        assert not twin[0].weight.equal(model[0].weight)
        twin.load_state_dict(model.state_dict())
        assert twin[0].weight.equal(model[0].weight)


def test_a_step_and_its_loss_are_one_evaluation():
    model = mlp()
    optimizer = T.optim.Adam(model.parameters(), lr=0.01)
    x, y = T.rand(8, 20), T.arange(8) % 5
    T.eval((x, y))
    train(model, optimizer, 3, x, y)
    before = T._braze.statistics()
    train(model, optimizer, 5, x, y)
    after = T._braze.statistics()
    assert after["evaluations"] - before["evaluations"] == 5, (before, after)
    assert after["compilations"] == before["compilations"]
    # A loss that nobody holds is not computed; what it fails with is no business of the update's.
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    assert T._braze.statistics()["evaluations"] == after["evaluations"] + 1


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def test_kernels_of_a_step_are_few():
    for make in (lambda p: T.optim.SGD(p, lr=0.05), lambda p: T.optim.SGD(p, lr=0.05, momentum=0.9)):
        T.manual_seed(0)
        model = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 10))
        optimizer = make(model.parameters())
        x, y = T.rand(64, 30), T.arange(64) % 10
        train(model, optimizer, 4, x, y)
        compiled = T._braze.statistics()["compilations"]
        with T.explain(kinds="flush") as notes:
            train(model, optimizer, 1, x, y)
        assert T._braze.statistics()["compilations"] == compiled
        # Eight dots, the rows of the loss, what the loss is divided by, and its sum: nothing for biases, updates or partial sums.
        assert sum(int(n) for n in re.findall(r"(\d+) kernels", notes.text)) <= 11, notes.text


def test_an_update_of_large_tensors_is_one_kernel():
    param = nn.Parameter(T.zeros(5_000_000))
    param.grad = T.ones(5_000_000)
    optimizer = T.optim.Adam([param], lr=0.01)
    for _ in range(2):
        optimizer.step()
    with T.explain() as notes:
        optimizer.step()
    assert len(notes.lines) == 1 and "3 results" in notes.text, notes.text


def test_what_is_written_in_place_and_dropped_counts_as_pinned():
    before, total = resident(), T.tensor(0.0)
    for _ in range(60):
        x = T.ones(2 << 20)
        T.eval((x,))
        x.mul_(2).add_(1)
        total = total + x.mean()
        del x
    assert resident() - before < 200 << 20  # all of them were 480 MiB
    assert total.item() == 180


def test_leaves_die_with_their_pending_gradients():
    def once():
        x = T.rand(256, 1024)
        T.eval((x,))
        x.requires_grad_()
        (x * x).sum().backward()

    for _ in range(50):
        once()
    before = resident()
    for _ in range(100):
        once()
    assert resident() - before < 50 << 20  # all of them were 100 MiB


def test_a_step_takes_memory_for_its_gradients_alone():
    T.manual_seed(0)
    model = nn.Linear(1000, 1000)
    optimizer = T.optim.Adam(model.parameters(), lr=0.01)
    x = T.rand(4, 1000)
    T.eval((x,))
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    optimizer.zero_grad()
    live = T._braze.memory_statistics()["live"]
    T._braze.reset_memory_peak()
    model(x).square().mean().backward()
    optimizer.step()
    assert T._braze.memory_statistics()["peak"] - live < 1.2 * 4_000_000
