"""torch.optim.lr_scheduler. https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"""
from ..._absent import absent
from .combined import ChainedScheduler, SequentialLR
from .curves import (ConstantLR, CosineAnnealingLR, CosineAnnealingWarmRestarts, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR,
                     MultiStepLR, PolynomialLR, StepLR)
from .cycles import CyclicLR, OneCycleLR
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
           "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
           "StepLR"]
__getattr__ = absent(__name__)
