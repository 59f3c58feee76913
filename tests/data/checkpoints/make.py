#!/usr/bin/env python3
"""Writes training.pt beside itself by PyTorch (2.15 made the one that is committed): two steps of training, and a nest of everything."""
import collections
import copy
import os

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
adam = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(2):
    adam.zero_grad()
    model(torch.arange(12.).reshape(4, 3)).square().sum().backward()
    adam.step()


def valley(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


def descend(optimizer, p):
    def closure():
        optimizer.zero_grad()
        loss = valley(p)
        loss.backward()
        return loss
    return optimizer.step(closure).item()


point = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
lbfgs = torch.optim.LBFGS([point], max_iter=5, history_size=4, line_search_fn="strong_wolfe")
for _ in range(2):
    descend(lbfgs, point)
# Copies: the optimizer goes on with its own.
halfway = {"state": copy.deepcopy(lbfgs.state_dict()), "point": point.detach().clone()}
halfway["losses"] = [descend(lbfgs, point) for _ in range(3)]


def schedules():
    """Each scheduler's state after three epochs, the optimizer's then, and the rates of six more."""
    S = torch.optim.lr_scheduler
    makers = [lambda o: S.StepLR(o, 2), lambda o: S.MultiStepLR(o, [2, 5], 0.5), lambda o: S.ConstantLR(o, 0.5, 5), lambda o: S.LinearLR(o),
              lambda o: S.ExponentialLR(o, 0.9), lambda o: S.PolynomialLR(o, 7, 2.0), lambda o: S.CosineAnnealingLR(o, 5, 0.01),
              lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2), lambda o: S.OneCycleLR(o, 1.0, 12), lambda o: S.LambdaLR(o, lambda e: 1 / (e + 1)),
              lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 4), S.ExponentialLR(o, 0.5)], [5]),
              lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 4), S.ExponentialLR(o, 0.5)]), lambda o: S.ReduceLROnPlateau(o, patience=1)]
    for make in makers:
        o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.9)
        scheduler = make(o)

        def rate():
            o.step()
            scheduler.step(*[1.0] * isinstance(scheduler, S.ReduceLROnPlateau))
            return o.param_groups[0]["lr"]
        for _ in range(3):
            rate()
        saved = copy.deepcopy(scheduler.state_dict()), copy.deepcopy(o.state_dict())
        yield *saved, [rate() for _ in range(6)]


base = torch.arange(6.).reshape(2, 3)
torch.save({
    "model": model.state_dict(),
    "optimizer": adam.state_dict(),
    "lbfgs": halfway,
    "schedules": list(schedules()),
    "parameter": torch.nn.Parameter(torch.tensor([1.0, -1.0])),
    "views": [base, base.t(), base[1, ::2]],
    "dtypes": [torch.arange(3).to(getattr(torch, name)) for name in
               "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()],
    "conjugate": torch.tensor([1 + 2j]).conj(),
    "nest": (None, True, -3, 2 ** 40, 2.5, 1 - 2j, "täxt", b"\x00\xff", torch.Size([2, 3]), torch.float16, torch.device("cpu"), {1},
             collections.Counter("aab"), {"k": [1, (2,)], 5: {}}),
}, os.path.join(os.path.dirname(os.path.abspath(__file__)), "training.pt"))
