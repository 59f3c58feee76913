"""The tutorials' linear regression, of y = 5x + 3: python linear_regression.py [--picture FILE]"""
import argparse

from tqdm import tqdm

import braze as torch
from braze import nn, optim
from braze.utils.data import DataLoader, TensorDataset
import curve


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", default="linear_regression.png", help="where the loss curve goes (%(default)s)")
    arguments = parser.parse_args()
    torch.manual_seed(66)
    X = torch.randn(100, 1)
    y = 5 * X + 3
    dataloader = DataLoader(dataset=TensorDataset(X, y), batch_size=16, shuffle=True)
    model = nn.Linear(in_features=1, out_features=1)
    criterion = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in tqdm(range(100), unit="epoch"):
        for X_train, y_train in dataloader:
            y_pred = model(X_train)
            loss = criterion(y_train, y_pred)
            optimizer.zero_grad()
            loss.sum().backward()
            optimizer.step()
        losses.append(loss.item())
    print(f"模型参数 w：{model.weight.item():.3f}, b: {model.bias.item():.3f}")
    curve.save(arguments.picture, {"mean squared error": losses}, xlabel="epoch", log=True)


if __name__ == "__main__":
    main()
