"""Training steps beside PyTorch's eager mode: time a step, what is compiled after the third, memory.

    ./dev python bench/training.py                                       Braze alone
    PYTHONPATH=build/python python bench/training.py --against torch     in a Python that has both

Both train the same network from the same weights on the same batches; the losses must agree before anything is timed. Steps take turns.
"""
import argparse
import os
import sys
import time

import numpy

WARM, TIMED = 6, 25


def mlp(T, rng):
    nn = T.nn
    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return net, batches(T, rng, (64, 784), 10), T.optim.SGD(net.parameters(), lr=0.05)


def convnet(T, rng):
    nn = T.nn
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Flatten(), nn.Linear(32 * 49, 10))
    return net, batches(T, rng, (64, 1, 28, 28), 10), T.optim.SGD(net.parameters(), lr=0.05)


def transformer(T, rng):
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self, width=256, heads=4):
            super().__init__()
            self.heads = heads
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.head = nn.Linear(width, 16)

        def forward(self, x):
            b, n, c = x.shape
            q, k, v = (t.reshape(b, n, self.heads, c // self.heads).transpose(1, 2) for t in self.qkv(self.first(x)).chunk(3, -1))
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, c)
            x = x + self.out(mixed)
            x = x + self.down(F.gelu(self.up(self.second(x))))
            return self.head(x.mean(1))

    net = Block()
    return net, batches(T, rng, (8, 128, 256), 16), T.optim.AdamW(net.parameters(), lr=1e-3)


def batches(T, rng, size, classes):
    made = []
    for _ in range(WARM + TIMED):
        x, y = rng.standard_normal(size).astype(numpy.float32), rng.integers(0, classes, size[0])
        made.append((T.tensor(x), T.tensor(y)))
    return made


def same_weights(ours, theirs, T):
    with T.no_grad():
        for mine, other in zip(ours.parameters(), theirs.parameters()):
            mine.copy_(T.tensor(other.detach().numpy()))


def steps(T, net, data, optimizer):
    """A function that does one step more and returns its loss."""
    left = iter(data)

    def step():
        x, y = next(left)
        optimizer.zero_grad()
        loss = T.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()
    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", choices=["torch"])
    arguments = parser.parse_args()
    import braze
    against = __import__(arguments.against) if arguments.against else None
    threads = int(os.environ.get("BRAZE_NUM_THREADS", os.cpu_count()))
    braze.set_num_threads(threads)
    if against:
        against.set_num_threads(threads)
    print(f"{'training step, float32':44} {'braze ms':>10} {'torch ms':>10} {'ratio':>7}   compiled after step 3")
    for name, make in {"MLP 784-512-512-10, batch 64, SGD": mlp, "convnet 28x28, batch 64, SGD": convnet,
                       "transformer block 8x128x256, AdamW": transformer}.items():
        libraries = [braze] + ([against] if against else [])
        made = [make(T, numpy.random.default_rng(0)) for T in libraries]
        if against:
            same_weights(made[0][0], made[1][0], braze)
        runs = [steps(T, *parts) for T, parts in zip(libraries, made)]
        for number in range(WARM):
            losses = [run() for run in runs]
            assert numpy.allclose(losses, losses[0], rtol=1e-3), (name, number, losses)
            if number == 2:
                compiled = braze._braze.statistics()["compilations"]
        times = [[] for _ in runs]
        for _ in range(TIMED):
            for run, taken in zip(runs, times):
                start = time.perf_counter()
                run()
                taken.append(time.perf_counter() - start)
        compiled = braze._braze.statistics()["compilations"] - compiled
        medians = [sorted(t)[len(t) // 2] * 1e3 for t in times]
        theirs = f"{medians[1]:10.3f} {medians[0] / medians[1]:6.2f}x" if against else ""
        print(f"{name:44} {medians[0]:10.3f} {theirs}   {compiled}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
