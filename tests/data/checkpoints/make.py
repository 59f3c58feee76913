#!/usr/bin/env python3
"""Writes training.pt beside itself by PyTorch (2.15 made the one that is committed): two steps of training, and a nest of everything."""
import collections
import os

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
adam = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(2):
    adam.zero_grad()
    model(torch.arange(12.).reshape(4, 3)).square().sum().backward()
    adam.step()
base = torch.arange(6.).reshape(2, 3)
torch.save({
    "model": model.state_dict(),
    "optimizer": adam.state_dict(),
    "parameter": torch.nn.Parameter(torch.tensor([1.0, -1.0])),
    "views": [base, base.t(), base[1, ::2]],
    "dtypes": [torch.arange(3).to(getattr(torch, name)) for name in
               "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()],
    "conjugate": torch.tensor([1 + 2j]).conj(),
    "nest": (None, True, -3, 2 ** 40, 2.5, 1 - 2j, "täxt", b"\x00\xff", torch.Size([2, 3]), torch.float16, torch.device("cpu"), {1},
             collections.Counter("aab"), {"k": [1, (2,)], 5: {}}),
}, os.path.join(os.path.dirname(os.path.abspath(__file__)), "training.pt"))
