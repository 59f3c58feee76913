"""The tutorials' first derivative, of x², and its minimum by gradient descent: python gradient_descent.py [--picture FILE]"""
import argparse

from tqdm import tqdm

import braze as torch
import curve


def f(x):
    return x ** 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", default="gradient_descent.png", help="where the curve of f goes (%(default)s)")
    arguments = parser.parse_args()

    # The derivative of x² is 2x, at any number of places at once.
    x = torch.tensor([1., 2., 3.], requires_grad=True)
    print("x.grad:", x.grad)
    f(x).sum().backward()
    print("反向传播后 x.grad:", x.grad)

    x = torch.tensor([10], requires_grad=True, dtype=torch.float32)
    lr = 0.2
    values = []
    for epoch in tqdm(range(10), unit="epoch"):
        y_pred = f(x)
        if x.grad is not None:
            x.grad.zero_()
        y_pred.sum().backward()
        with torch.no_grad():
            x -= lr * x.grad
        values.append(y_pred.item())
        tqdm.write(f"epoch{epoch + 1}: x: {x.item():.3f}, y: {y_pred.item():.3f}, grad: {x.grad.item():.3f}")
    curve.save(arguments.picture, {"x²": values}, xlabel="epoch", ylabel="y", log=True)


if __name__ == "__main__":
    main()
