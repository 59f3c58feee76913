"""state_dict and load_state_dict: a module's tensors by their names, written and read."""
import collections

from ... import Tensor, no_grad
from ..parameter import Parameter

_extra = "_extra_state"


class _IncompatibleKeys(collections.namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: the names that one side alone had."""

    __slots__ = ()

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class State:
    """The part of Module that saves and loads."""

    _version = 1

    # ---- saving ----

    def get_extra_state(self):
        """What else belongs into the state: for subclasses."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state):
        """Takes what get_extra_state gave: for subclasses."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def _has_extra_state(self, function):
        return getattr(type(self), function) is not getattr(State, function)

    def _own_tensors(self):
        """This module's parameters and persistent buffers by name, None left out."""
        for name, tensor in self._parameters.items():
            if tensor is not None:
                yield name, tensor
        for name, tensor in self._buffers.items():
            if tensor is not None and name not in self._non_persistent_buffers_set:
                yield name, tensor

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._own_tensors():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has_extra_state("get_extra_state"):
            destination[prefix + _extra] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by name, as they are: no copies.
        https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict"""
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args):])
        if destination is None:
            destination = collections.OrderedDict()
            destination._metadata = collections.OrderedDict()
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = {"version": self._version}
        for hook, _ in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook, _ in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, {"version": self._version})
            if changed is not None:
                destination = changed
        return destination

    def register_state_dict_pre_hook(self, hook):
        """hook(module, prefix, keep_vars), before this module's state is taken."""
        return self._state_dict_pre_hooks.add(hook)

    def register_state_dict_post_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata), after; it changes the dict in place."""
        return self._state_dict_hooks.add(hook)

    _register_state_dict_hook = register_state_dict_post_hook

    # ---- loading ----

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for hook, options in self._load_state_dict_pre_hooks.values():
            hook(*([self] if options.get("with_module") else []), state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                 error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in self._own_tensors():
            if prefix + name not in state_dict:
                if strict:
                    missing_keys.append(prefix + name)
                continue
            error = self._load_one(name, target, state_dict[prefix + name], assign)
            if error:
                error_msgs.append(error.format(name=prefix + name))
        if self._has_extra_state("set_extra_state"):
            if prefix + _extra in state_dict:
                self.set_extra_state(state_dict[prefix + _extra])
            elif strict:
                missing_keys.append(prefix + _extra)
        if strict:
            self._find_unexpected(state_dict, prefix, unexpected_keys)

    def _load_one(self, name, target, given, assign):
        """Writes one tensor; returns what is wrong with it, if anything."""
        if not isinstance(given, Tensor):
            return ('While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object from checkpoint but received '
                    f"{type(given)}")
        if target.dim() == 0 and given.dim() == 1 and len(given) == 1:
            given = given[0]  # written by a PyTorch before 0.4
        if target.shape != given.shape:
            return (f"size mismatch for {{name}}: copying a param with shape {given.shape} from checkpoint, the shape in current model is "
                    f"{target.shape}.")
        if not assign:
            with no_grad():
                target.copy_(given)
            return None
        if isinstance(target, Parameter):
            given = given if isinstance(given, Parameter) else Parameter(given, target.requires_grad)
            given.requires_grad_(target.requires_grad)
        setattr(self, name, given)
        return None

    def _find_unexpected(self, state_dict, prefix, unexpected_keys):
        known = {name for name, _ in self._own_tensors()}
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + _extra and self._has_extra_state("set_extra_state"):
                continue
            first, *rest = key[len(prefix):].split(".", 1)
            if first not in (self._modules if rest else known) or (not rest and first in self._modules):
                unexpected_keys.append(key)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Writes tensors into the parameters and buffers of their names; with `assign` they take the places themselves.
        https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict"""
        if not isinstance(state_dict, collections.abc.Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = collections.OrderedDict(state_dict)
        missing, unexpected, errors = [], [], []

        def load(module, prefix):
            local = dict((metadata or {}).get(prefix[:-1], {}))
            if assign:
                local["assign_to_params_buffers"] = True
            below = state_dict if not prefix else collections.OrderedDict(
                (key, value) for key, value in state_dict.items() if key.startswith(prefix))
            module._load_from_state_dict(below, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    load(child, prefix + name + ".")
            result = _IncompatibleKeys(missing, unexpected)
            for hook, _ in module._load_state_dict_post_hooks.values():
                if hook(module, result) is not None:
                    raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                                         "if incompatible_keys need to be modified, it should be done inplace.")
        load(self, "")
        if strict:
            for names, kind in ((unexpected, "Unexpected"), (missing, "Missing")):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors)))
        return _IncompatibleKeys(missing, unexpected)

    def register_load_state_dict_pre_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs), before loading."""
        return self._load_state_dict_pre_hooks.add(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return self._load_state_dict_pre_hooks.add(hook, with_module=with_module)

    def register_load_state_dict_post_hook(self, hook):
        """hook(module, incompatible_keys), after loading."""
        return self._load_state_dict_post_hooks.add(hook)
