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
base = torch.arange(6.).reshape(2, 3)
torch.save({
    "model": model.state_dict(),
    "optimizer": adam.state_dict(),
    "lbfgs": halfway,
    "parameter": torch.nn.Parameter(torch.tensor([1.0, -1.0])),
    "views": [base, base.t(), base[1, ::2]],
    "dtypes": [torch.arange(3).to(getattr(torch, name)) for name in
               "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()],
    "conjugate": torch.tensor([1 + 2j]).conj(),
    "nest": (None, True, -3, 2 ** 40, 2.5, 1 - 2j, "täxt", b"\x00\xff", torch.Size([2, 3]), torch.float16, torch.device("cpu"), {1},
             collections.Counter("aab"), {"k": [1, (2,)], 5: {}}),
}, os.path.join(os.path.dirname(os.path.abspath(__file__)), "training.pt"))
