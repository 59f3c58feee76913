"""Optimizer: parameters in groups with their settings, and the state that belongs to each."""
import collections
import copy
import warnings

from .. import Tensor, _braze, enable_grad, float32, no_grad, tensor, zeros_like
from ..nn.modules.hooks import Hooks


class _Required:
    """A setting without a default."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()
updates = _braze._functions["optim"]  # one step of one parameter, in place: C++'s


class Optimizer:
    """Holds parameters; subclasses define step. https://pytorch.org/docs/stable/optim.html#torch.optim.Optimizer"""

    def __init__(self, params, defaults):
        self.defaults, self.param_groups, self.state = defaults, [], collections.defaultdict(dict)
        self._make_hooks()
        self._stepped = False
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + params.type().replace("braze.", "torch."))
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(dict(group) if isinstance(group, dict) else group)

    def _make_hooks(self):
        for name in ("_pre_hooks", "_post_hooks", "_save_pre_hooks", "_save_hooks", "_load_pre_hooks", "_load_hooks"):
            setattr(self, name, Hooks())

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._stepped = False
        if "_pre_hooks" not in self.__dict__:
            self._make_hooks()

    # ---- parameters ----

    def add_param_group(self, param_group):
        """Adds parameters with their own settings; what is not set is as in `defaults`."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
                            "between runs. Please use a list instead.")
        params = list(params)
        if any(isinstance(param, tuple) for param in params):  # named_parameters()
            if not all(isinstance(param, tuple) for param in params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [name for name, _ in params]
            params = [param for _, param in params]
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + type(param).__name__)
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        param_group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        ids = [id(param) for param in params]
        if len(ids) != len(set(ids)):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                          "github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        if not {id(param) for group in self.param_groups for param in group["params"]}.isdisjoint(ids):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or makes them zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:  # which asks nothing: a traced step does not depend on what was there
                    param.grad = None
                elif param.grad is not None:
                    param.grad = param.grad.detach().zero_()

    def step(self, closure=None):
        """One update: for subclasses."""
        raise NotImplementedError

    def __init_subclass__(cls, **kwargs):
        """Hooks run around each class's own step."""
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.__dict__["step"])

    # ---- hooks ----

    def register_step_pre_hook(self, hook):
        """hook(optimizer, args, kwargs) before a step; a result takes the arguments' place."""
        return self._pre_hooks.add(hook)

    def register_step_post_hook(self, hook):
        """hook(optimizer, args, kwargs) after a step."""
        return self._post_hooks.add(hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """hook(optimizer) before the state is taken."""
        return self._save_pre_hooks.add(hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """hook(optimizer, state_dict) after; a result takes its place."""
        return self._save_hooks.add(hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """hook(optimizer, state_dict) before loading; a result takes its place."""
        return self._load_pre_hooks.add(hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """hook(optimizer) after loading."""
        return self._load_hooks.add(hook, prepend)

    # ---- saving and loading ----

    def state_dict(self):
        """State and settings; parameters are numbered through all groups.
        https://pytorch.org/docs/stable/generated/torch.optim.Optimizer.state_dict.html"""
        for hook, _ in self._save_pre_hooks.values():
            hook(self)
        numbers = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            groups.append({**{name: value for name, value in group.items() if name != "params"},
                           "params": [numbers[id(param)] for param in group["params"]]})
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items() if value}
        result = {"state": state, "param_groups": groups}
        for hook, _ in self._save_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    @staticmethod
    def _fitted(param, value, name=None):
        """State in the parameter's dtype, nests and numbers as they are; a count of steps keeps its own. As in PyTorch, what needs no
        conversion is shared with the dict that it came from."""
        if isinstance(value, Tensor):
            if name == "step":
                return value.to(float32)
            return value.to(param.dtype) if param.is_floating_point() else value
        if isinstance(value, dict):
            return {key: Optimizer._fitted(param, each, key) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(Optimizer._fitted(param, each, name) for each in value)
        return value

    @no_grad()
    def load_state_dict(self, state_dict):
        """Takes what state_dict gave. https://pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html"""
        state_dict = dict(state_dict)
        for hook, _ in self._load_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = copy.deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(old["params"]) for new, old in zip(saved, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        params = {number: param for new, old in zip(saved, self.param_groups) for number, param in zip(new["params"], old["params"])}
        state = collections.defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = self._fitted(params[key], value)
            else:
                state[key] = value
        for new, old in zip(saved, self.param_groups):
            new["params"] = old["params"]
            if "param_names" in old:
                new.setdefault("param_names", old["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook, _ in self._load_hooks.values():
            hook(self)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n" + "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"


def _hooked(step):
    """A class's step, with the hooks around it."""
    import functools

    @functools.wraps(step)
    def stepped(self, *args, **kwargs):
        if type(self).step is not stepped:  # called by a subclass's step, which has had the hooks
            return step(self, *args, **kwargs)
        for hook, _ in self._pre_hooks.values():
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                args, kwargs = changed
        if _braze.is_noted() and not isinstance(self, PerParameter):
            _braze.refuse_trace(f"the step of {type(self).__name__} cannot be repeated")
        result = step(self, *args, **kwargs)
        for hook, _ in self._post_hooks.values():
            hook(self, args, kwargs)
        self._stepped = True
        return result
    return stepped


def check_settings(**settings):
    """ValueError for a setting that is negative, named as PyTorch names it; betas lie in [0, 1)."""
    for name, value in settings.items():
        if name == "betas":
            for i, beta in enumerate(value):
                if not 0 <= beta < 1:
                    raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        elif not value >= 0:
            texts = {"lr": "learning rate", "eps": "epsilon value", "momentum": "momentum value", "weight_decay": "weight_decay value"}
            raise ValueError(f"Invalid {texts.get(name, name + ' value')}: {value}")


class PerParameter(Optimizer):
    """An optimizer that updates each parameter by itself: subclasses define _update."""

    def _update(self, param, gradient, state, group):
        """Changes `param` and `state` in place."""
        raise NotImplementedError

    def step(self, closure=None):
        """Updates all parameters that have a gradient; `closure` computes the loss anew, and its value is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        updated = []
        with no_grad():
            for number, group in enumerate(self.param_groups):
                for param in group["params"]:
                    if param.grad is None:
                        continue
                    if _braze.is_noted():
                        self._trace(param, number)
                        continue
                    self._one(param, param.grad, self.state[param], group)
                    updated += [param, *(value for value in self.state[param].values() if isinstance(value, Tensor))]
        run(updated)
        return loss

    def _one(self, param, gradient, state, group):
        self._update(param, -gradient if group.get("maximize") else gradient, state, group)

    def _trace(self, param, number):
        """The update while braze.compile traces a function. Each call repeats it with one element, for the numbers that it passes."""
        state = self.state[param] if param in self.state else {}
        names = [name for name in _numbers if name in state]
        tensors = {name: value for name, value in state.items() if name not in names}
        if not all(isinstance(value, Tensor) for value in state.values()):
            _braze.refuse_trace("an optimizer's state is not of tensors alone")

        def record(numbers):
            now = {name: state[name] for name in state} | dict(zip(names, numbers))
            self._one(param, param.grad, now, self.param_groups[number])
            if now.keys() != state.keys() or any(now[name] is not value for name, value in tensors.items()):
                _braze.refuse_trace("its first step makes the optimizer's state", for_now=True)
            return [now[name] for name in names]

        def rehearse(numbers):
            now = {name: _braze.stand_in(value) for name, value in tensors.items()} | dict(zip(names, numbers))
            self._one(_braze.stand_in(param), gradient, now, self.param_groups[number])
            return [now[name] for name in names]
        gradient = _braze.stand_in(param)
        alone = not type(self)._update.__module__.startswith("braze.")
        _braze.trace_update(self, number, [state[name] for name in names], alone, record, rehearse)


# States that are numbers on the host, in tensors without dims.
_numbers = ("step", "eta", "mu", "mu_product")


def run(tensors):
    """Computes what a step has changed, the loss, and all that they come from, as one program: forward, backward and update. Otherwise the
    parameters that a step started from would belong to nobody, and each later step would compute all earlier ones again."""
    if tensors and not _braze.is_tracing():
        _braze.evaluate_step(tuple(tensors))


def set_number(state, name, number):
    """Sets a state that is a number in a tensor, as PyTorch keeps it. The value comes from the host each time: reading it waits for nothing,
    and no kernel computes it."""
    fresh = tensor(number, dtype=float32)
    if isinstance(state.get(name), Tensor):
        state[name].data = fresh
    else:
        state[name] = fresh


def count_step(state):
    """Counts a step in state["step"] and returns the number."""
    number = float(state["step"]) + 1
    set_number(state, "step", number)
    return number


def zeros_for(param):
    """A buffer of zeros as the parameter lies."""
    return zeros_like(param).detach()
