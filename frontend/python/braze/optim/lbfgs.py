"""L-BFGS: steps along an estimate of the inverse Hessian, made of the last gradients."""
from .optimizer import Optimizer, updates


class LBFGS(Optimizer):
    """L-BFGS; step takes a closure that computes the loss anew. https://pytorch.org/docs/stable/generated/torch.optim.LBFGS.html"""

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None, *, maximize=False):
        if not lr >= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
                                      tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
                                      line_search_fn=line_search_fn, maximize=maximize))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure):
        """Up to max_iter iterations; returns the loss before them."""
        group = self.param_groups[0]
        settings = [group[name] for name in ("max_iter", "max_eval", "tolerance_grad", "tolerance_change", "history_size", "line_search_fn")]
        return updates["lbfgs"](group["params"], self.state[group["params"][0]], closure, float(group["lr"]), *settings,
                                group.get("maximize", False))
