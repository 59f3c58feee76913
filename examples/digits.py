"""Handwritten digits by a multilayer perceptron or a small convolutional network.

    python digits.py mlp          at least 96% of the unseen images
    python digits.py convnet      at least 98%

360 of the 1,797 images, drawn at random under a fixed seed, are held out: nothing is chosen by them, and they are scored once, at the
end. (The draw puts each writer on both sides, as is usual for this set; images of unknown writers are harder.)
"""
import argparse
import pathlib
import time

import numpy
from tqdm import tqdm

import braze as torch
from braze import nn
from braze.utils.data import DataLoader, TensorDataset, random_split
import curve

data = pathlib.Path(__file__).parent / "data"


def load():
    """What to train on and what to test on, as datasets of images [1, 8, 8] and labels."""
    images = torch.from_numpy(numpy.load(data / "digits_images.npy")).reshape(-1, 1, 8, 8).float() / 16
    labels = torch.from_numpy(numpy.load(data / "digits_labels.npy"))
    return random_split(TensorDataset(images, labels), [1437, 360], torch.Generator().manual_seed(0))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def convnet():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Dropout(0.2), nn.Linear(32 * 4, 10))


def accuracy(model, dataset):
    images, labels = next(iter(DataLoader(dataset, batch_size=len(dataset))))
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def fit(model, dataset, epochs, batch_size=64):
    """Trains and returns the mean loss of each epoch."""
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=epochs * len(loader))
    losses = []
    model.train()
    for _ in (bar := tqdm(range(epochs), unit="epoch")):
        seen = []
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            scheduler.step()
            seen.append(loss.item())
        losses.append(sum(seen) / len(seen))
        bar.set_postfix(loss=f"{losses[-1]:.4f}")
    return losses


def main():
    networks = {"mlp": (mlp, 60), "convnet": (convnet, 14)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=networks)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="where the loss curve goes (digits_NETWORK.png)")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    started = time.perf_counter()
    known, unseen = load()
    make, epochs = networks[arguments.network]
    model = make()
    losses = fit(model, known, epochs)
    picture = arguments.picture or f"digits_{arguments.network}.png"
    curve.save(picture, {"training loss": losses}, xlabel="epoch", log=True)
    print(f"{arguments.network}: {sum(p.numel() for p in model.parameters())} parameters, {epochs} epochs, loss {losses[-1]:.4f}, curve in {picture}")
    print(f"test accuracy {100 * accuracy(model, unseen):.2f}% on {len(unseen)} unseen images, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
