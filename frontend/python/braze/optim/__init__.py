"""torch.optim: optimizers, and schedulers of their learning rates. https://pytorch.org/docs/stable/optim.html"""
from .._absent import absent
from . import lr_scheduler
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import Adadelta, Adagrad, RMSprop, Rprop
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .sgd import ASGD, SGD

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD",
           "lr_scheduler"]
__getattr__ = absent(__name__)
