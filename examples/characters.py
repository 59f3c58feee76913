"""A small character-level transformer, trained on "Northanger Abbey": python characters.py [--steps N]

The first nine tenths of the text are trained on; the loss is that of the last tenth, in nats a character. A sample of what was learnt follows.
"""
import argparse
import math
import pathlib
import time

from tqdm import tqdm

import braze as torch
from braze import nn
import curve

F = nn.functional
path = pathlib.Path(__file__).parent / "data" / "northanger_abbey.txt"
context, width, heads, layers, batch = 64, 64, 4, 2, 32


class Block(nn.Module):
    """Attention to what came before, and a perceptron, each added to its input."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, _ = x.shape
        q, k, v = (part.reshape(n, length, heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, dim=-1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(attended.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Characters(nn.Module):
    """The logits of the next character at each place."""

    def __init__(self, alphabet):
        super().__init__()
        self.character, self.place = nn.Embedding(alphabet, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, alphabet)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.05)

    def forward(self, ids):
        x = self.character(ids) + self.place(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def loss_of(model, ids):
    """Of windows [n, context + 1]: each place predicts its successor."""
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def windows(text, count):
    """Windows at random places."""
    start = torch.randint(0, len(text) - context - 1, (count, 1))
    return text[start + torch.arange(context + 1)]


def validation_loss(model, text):
    """Over the whole text, cut into windows."""
    cut = text[:(len(text) - 1) // context * context + 1]
    places = torch.arange(0, len(cut) - 1, context)[:, None] + torch.arange(context + 1)
    with torch.no_grad():
        losses = [(loss_of(model, cut[part]) * len(part)).item() for part in places.split(4 * batch)]
    return sum(losses) / len(places)


def sample(model, ids, count):
    """Continues `ids`."""
    with torch.no_grad():
        for _ in range(count):
            seen = F.pad(ids[-context:], (0, max(0, context - len(ids))))  # one shape for all: what follows a place does not change it
            logits = model(seen[None])[0, min(len(ids), context) - 1]
            ids = torch.tensor([*ids.tolist(), torch.multinomial(F.softmax(logits / 0.7, -1), 1).item()])
    return ids.tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--picture", default="characters.png", help="where the loss curves go (%(default)s)")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    started = time.perf_counter()
    text = path.read_text(encoding="ascii")
    alphabet = sorted(set(text))
    number = {character: i for i, character in enumerate(alphabet)}
    ids = torch.tensor([number[character] for character in text])
    known, unseen = ids[:len(ids) * 9 // 10], ids[len(ids) * 9 // 10:]

    model = Characters(len(alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 5e-3 * min(1, (step + 1) / 50) * (0.05 + 0.95 * (1 + math.cos(math.pi * step / arguments.steps)) / 2))
    losses, checked = [], {}
    for step in (bar := tqdm(range(arguments.steps), unit="step")):
        optimizer.zero_grad()
        loss = loss_of(model, windows(known, batch))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if (step + 1) % 200 == 0 or step + 1 == arguments.steps:
            checked[step + 1] = validation_loss(model, unseen)
            bar.set_postfix(validation=f"{checked[step + 1]:.3f}")

    curve.save(arguments.picture, {"training loss": losses, "validation loss": (list(checked), list(checked.values()))}, ylabel="nats a character")
    print("".join(alphabet[i] for i in sample(model, torch.tensor([number[c] for c in "Catherine "]), 200)))
    print(f"{len(text)} characters, {sum(p.numel() for p in model.parameters())} parameters, {arguments.steps} steps, "
          f"{time.perf_counter() - started:.0f} s, curves in {arguments.picture}")
    print(f"validation loss {checked[arguments.steps]:.3f} nats a character")


if __name__ == "__main__":
    main()
