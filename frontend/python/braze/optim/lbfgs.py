"""L-BFGS: steps along an estimate of the inverse Hessian, made of the last gradients. Nocedal and Wright, Numerical Optimization, 7.2."""
from .. import cat, enable_grad, no_grad
from .optimizer import Optimizer


def _minimum_of_cubic(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two values and slopes is least, within bounds. The same, 3.59."""
    low, high = bounds or (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2
    d2 = square ** 0.5
    at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)) if x1 <= x2 else x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


def _search(evaluate, t, d, f, g, slope, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """A step that fulfils the strong Wolfe conditions: value and gradient there, the step, and how many evaluations it took. A point is
    (step, value, gradient, slope)."""
    scale = float(d.abs().max())
    before = (0.0, f, g, slope)

    def probe(t):
        value, gradient = evaluate(t)
        return t, value, gradient, float(gradient.dot(d))
    here, evaluations, bracket, done = probe(t), 1, None, False
    for tries in range(max_ls):
        t, value, _, new_slope = here
        if value > f + c1 * t * slope or (tries > 0 and value >= before[1]):
            bracket = [before, here]
            break
        if abs(new_slope) <= -c2 * slope:
            bracket, done = [here], True
            break
        if new_slope >= 0:
            bracket = [before, here]
            break
        least, most = t + 0.01 * (t - before[0]), t * 10
        t = _minimum_of_cubic(before[0], before[1], before[3], here[0], here[1], here[3], (least, most))
        before, here = here, probe(t)
        evaluations += 1
    else:
        bracket = [(0.0, f, g, slope), here]
        tries = max_ls
    stuck = False
    low, high = (0, 0) if len(bracket) == 1 else (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
    while not done and tries < max_ls:
        width = abs(bracket[1][0] - bracket[0][0])
        if width * scale < tolerance_change:
            break
        t = _minimum_of_cubic(*(bracket[0][i] for i in (0, 1, 3)), *(bracket[1][i] for i in (0, 1, 3)))
        ends = sorted(point[0] for point in bracket)
        # A step too near to an end twice goes a tenth of the way off it.
        margin = 0.1 * (ends[1] - ends[0])
        if min(ends[1] - t, t - ends[0]) < margin:
            if stuck or t >= ends[1] or t <= ends[0]:
                t = ends[1] - margin if abs(t - ends[1]) < abs(t - ends[0]) else ends[0] + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = probe(t)
        evaluations += 1
        tries += 1
        if here[1] > f + c1 * t * slope or here[1] >= bracket[low][1]:
            bracket[high] = here
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(here[3]) <= -c2 * slope:
                done = True
            elif here[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = here
    t, value, gradient, _ = bracket[low]
    return value, gradient, t, evaluations


class LBFGS(Optimizer):
    """L-BFGS; step takes a closure that computes the loss anew. https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html"""

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None, *, maximize=False):
        if not lr >= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
                                      tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
                                      line_search_fn=line_search_fn, maximize=maximize))
        self._sign = -1 if maximize else 1
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gradient(self):
        return cat([(param.grad if param.grad is not None else param.detach() * 0).reshape(-1) for param in self._params]) * self._sign

    def _move(self, t, direction):
        at = 0
        for param in self._params:
            param.add_(direction[at:at + param.numel()].view_as(param), alpha=t)
            at += param.numel()

    def _evaluate(self, closure, kept, t, direction):
        """Loss and gradient a step away; the parameters stay."""
        self._move(t, direction)
        with enable_grad():
            loss = float(closure()) * self._sign
        gradient = self._gradient()
        for param, value in zip(self._params, kept):
            param.copy_(value)
        return loss, gradient

    @staticmethod
    def _direction(gradient, state):
        """Minus the inverse Hessian's estimate times the gradient, by the two loops."""
        q, weights = -gradient, []
        for y, s, rho in zip(reversed(state["old_dirs"]), reversed(state["old_stps"]), reversed(state["ro"])):
            weight = s.dot(q) * rho
            weights.append(weight)
            q = q - weight * y
        r = q * state["H_diag"]
        for y, s, rho, weight in zip(state["old_dirs"], state["old_stps"], state["ro"], reversed(weights)):
            r = r + s * (weight - y.dot(r) * rho)
        return r

    def _remember(self, gradient, state, history_size):
        """Adds the last step and the change of gradient to the history, unless they curve the wrong way."""
        y, s = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = float(y.dot(s))
        if curvature > 1e-10:
            if len(state["old_dirs"]) == history_size:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(y)
            state["old_stps"].append(s)
            state["ro"].append(1 / curvature)
            state["H_diag"] = curvature / float(y.dot(y))

    def step(self, closure):
        """Up to max_iter iterations; returns the loss before them."""
        with no_grad():
            return self._step(closure)

    def _step(self, closure):
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first = closure()
        loss, evaluations = float(first) * self._sign, 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if float(gradient.abs().max()) <= group["tolerance_grad"]:
            return first
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0, d=-gradient)
                t = min(1.0, 1.0 / float(gradient.abs().sum())) * group["lr"]
            else:
                self._remember(gradient, state, group["history_size"])
                state["d"] = self._direction(gradient, state)
                t = group["lr"]
            before, state["prev_flat_grad"] = loss, gradient
            slope = float(gradient.dot(state["d"]))
            state["t"] = t
            if slope > -group["tolerance_change"]:
                break
            spent = 0
            if group["line_search_fn"] is None:
                self._move(t, state["d"])
                if iteration != group["max_iter"]:
                    with enable_grad():
                        loss = float(closure()) * self._sign
                    gradient, spent = self._gradient(), 1
            elif group["line_search_fn"] == "strong_wolfe":
                kept = [param.detach().clone() for param in self._params]
                loss, gradient, t, spent = _search(lambda t: self._evaluate(closure, kept, t, state["d"]), t, state["d"], loss, gradient, slope)
                self._move(t, state["d"])
            else:
                raise RuntimeError("only 'strong_wolfe' is supported")
            state["t"] = t
            evaluations += spent
            state["func_evals"] += spent
            if (evaluations >= group["max_eval"] or float(gradient.abs().max()) <= group["tolerance_grad"]
                    or float((state["d"] * t).abs().max()) <= group["tolerance_change"] or abs(loss - before) < group["tolerance_change"]):
                break
        state["prev_loss"] = before
        return first
