"""Normalisation over a batch, or over each sample's channel."""
from ... import int64, ones, tensor, zeros
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _Norm(Module):
    """Parameters and running statistics of channels."""

    _version = 2

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones(num_features, **options)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features, **options)) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **options) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **options) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracked else None)

    def reset_running_stats(self):
        """Forgets what the batches were like."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """The initial values again."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:  # from before batches were counted
            state_dict.setdefault(prefix + "num_batches_tracked", tensor(0, dtype=int64))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
                f"track_running_stats={self.track_running_stats}")


class _BatchNorm(_Norm):
    ranks, expected = (), ""

    def _check_input_dim(self, input):
        if input.dim() not in self.ranks:
            raise ValueError(f"expected {self.expected} input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1 / float(self.num_batches_tracked)  # the mean of all batches
        tracked = not self.training or self.track_running_stats
        mean, var = (self.running_mean, self.running_var) if tracked else (None, None)
        training = self.training or (self.running_mean is None and self.running_var is None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, training, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Channels of [N, C] or [N, C, L]. https://pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html"""
    ranks, expected = (2, 3), "2D or 3D"


class BatchNorm2d(_BatchNorm):
    """Channels of [N, C, H, W]. https://pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html"""
    ranks, expected = (4,), "4D"


class BatchNorm3d(_BatchNorm):
    """Channels of [N, C, D, H, W]. https://pytorch.org/docs/stable/generated/torch.nn.BatchNorm3d.html"""
    ranks, expected = (5,), "5D"


class _InstanceNorm(_Norm):
    rank, expected = None, ""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise ValueError(f"expected {self.expected} input (got {input.dim()}D input)")
        channels = input.size(-self.rank - 1)
        if channels != self.num_features and self.affine:
            raise ValueError(f"expected input's size at dim={input.dim() - self.rank - 1} to match num_features ({self.num_features}), but got: "
                             f"{channels}.")
        alone = input.dim() == self.rank + 1
        result = F.instance_norm(input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias,
                                 self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps)
        return result.squeeze(0) if alone else result


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each sample of [N, C, L]. https://pytorch.org/docs/stable/generated/torch.nn.InstanceNorm1d.html"""
    rank, expected = 1, "2D or 3D"


class InstanceNorm2d(_InstanceNorm):
    """Each channel of each sample of [N, C, H, W]. https://pytorch.org/docs/stable/generated/torch.nn.InstanceNorm2d.html"""
    rank, expected = 2, "3D or 4D"


class InstanceNorm3d(_InstanceNorm):
    """Each channel of each sample of [N, C, D, H, W]. https://pytorch.org/docs/stable/generated/torch.nn.InstanceNorm3d.html"""
    rank, expected = 3, "4D or 5D"
