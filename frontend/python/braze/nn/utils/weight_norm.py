"""torch.nn.utils.weight_norm, by a hook before forward; parametrizations.weight_norm is its heir."""
import warnings

from ..parameter import Parameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except_dim(v, dim):
    """The norm over all dims but one; over all for -1."""
    return v.norm() if dim == -1 else v.norm(dim=[d for d in range(v.dim()) if d != dim % v.dim()], keepdim=True)


def scaled_to_norm(v, g, dim):
    """v with the norm g."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook: computes the weight from its norm and direction."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight."""
        return scaled_to_norm(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def _hook(module, name):
    for number, (hook, _) in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            return number, hook
    return None


def weight_norm(module, name="weight", dim=0):
    """A weight as its norm and its direction. https://pytorch.org/docs/stable/generated/torch.nn.utils.weight_norm.html"""
    warnings.warn("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.", FutureWarning,
                  stacklevel=2)
    if _hook(module, name):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook, weight = WeightNorm(name, dim), getattr(module, name)
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight.detach(), hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Makes the weight an ordinary parameter again."""
    found = _hook(module, name)
    if not found:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    number, hook = found
    weight = hook.compute_weight(module).detach()
    delattr(module, name)
    del module._parameters[name + "_g"], module._parameters[name + "_v"], module._forward_pre_hooks[number]
    setattr(module, name, Parameter(weight))
    return module
