#!/usr/bin/env bash
# Proves `pip install .`: from a clone of what is committed, in a virtual environment that has nothing, a wheel that imports and computes far
# from the sources. By hand: it compiles everything once more, for some minutes.
#
# usage: tests/wheel.sh [PYTHON]
set -euo pipefail

python=${1:-python3}
root=$(git -C "$(dirname "${BASH_SOURCE[0]}")" rev-parse --show-toplevel)
[[ -z $(git -C "$root" status --porcelain) ]] || echo "note: only what is committed is tested" >&2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

git clone -q "$root" sources
"$python" -m venv build
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$folder CCACHE_NOHASHDIR=1
build/bin/pip wheel -q --no-deps -w wheels ./sources
ls -l wheels

"$python" -m venv use
use/bin/pip install -q wheels/*.whl
rm -rf sources build
cat >check.py <<'PYTHON'
import os
import sys
import time

start = time.process_time()
import braze
took = time.process_time() - start
assert "numpy" not in sys.modules and len(os.listdir("/proc/self/task")) == 1
assert os.path.dirname(braze.__file__).startswith(sys.prefix), braze.__file__

braze.manual_seed(0)
x = braze.randn(4, 4, dtype=braze.float64)
assert braze.allclose(x @ braze.linalg.inv(x), braze.eye(4, dtype=braze.float64))   # LAPACK
assert braze.allclose(braze.linalg.svd(x).S.pow(2).sum(), x.pow(2).sum())
assert "define" in (x * 2 + 1).dump("llvm")                                      # LLVM
assert braze.nn.functional.conv2d(braze.ones(1, 1, 3, 3), braze.ones(1, 1, 2, 2)).sum().item() == 16
here = os.path.dirname(braze.__file__)
stubs = [name for name in ("__init__", "linalg", "special", "return_types", "nn/functional") if not os.path.exists(f"{here}/{name}.pyi")]
assert not stubs, stubs
size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(here) for name in names)
print(f"installed {size / 1e6:.1f} MB; import took {took:.3f} s of processor time")
PYTHON
use/bin/python check.py
use/bin/pip install -q numpy
cat >script.py <<'PYTHON'
import numpy as np
import torch
import torch.nn.functional as F
from torch.distributions import Normal

print(torch.__name__, F.relu(torch.from_numpy(np.array([-1.0, 2.0]))), Normal(0.0, 1.0).sample((2,)).shape)
PYTHON
use/bin/python -m braze run script.py
echo "wheel ok"
