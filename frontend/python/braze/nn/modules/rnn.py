"""Recurrent layers and cells."""
import math
import warnings

from ... import empty, gru, gru_cell, lstm, lstm_cell, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell, zeros
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

_gates = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_functions = {"LSTM": lstm, "GRU": gru, "RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu}


def _draw(module):
    bound = 1 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


class RNNBase(Module):
    """Parameters of all layers and directions, and the call of the function `mode` names."""

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0,
                 device=None, dtype=None):
        super().__init__()
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0 or proj_size >= hidden_size:
            raise ValueError("proj_size should be a positive integer or zero to disable projections" if proj_size < 0
                             else "proj_size has to be smaller than hidden_size")
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than "
                          f"1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=3)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional, self.proj_size = bias, batch_first, float(dropout), bidirectional, proj_size
        self._all_names = []
        out, rows = proj_size or hidden_size, _gates[mode] * hidden_size
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:1 + bidirectional]:
                width = input_size if layer == 0 else out * (1 + bidirectional)
                sizes = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
                if bias:
                    sizes.update(bias_ih=(rows,), bias_hh=(rows,))
                if proj_size:
                    sizes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in sizes]
                for name, size in zip(names, sizes.values()):
                    setattr(self, name, Parameter(empty(size, device=device, dtype=dtype)))
                self._all_names.append(names)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the initial values anew."""
        _draw(self)

    @property
    def all_weights(self):
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_names]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for names in self._all_names for name in names]

    def flatten_parameters(self):
        """Nothing: parameters are used as they lie."""

    def _check_input(self, input, packed):
        if not packed and input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D tensor instead")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _check_state(self, state, batch, width, alone, name="hidden"):
        count = self.num_layers * (1 + self.bidirectional)
        expected = (count, width) if alone else (count, batch, width)
        if alone and state.dim() != 2 or not alone and state.dim() != 3:
            given = f"{name if name == 'cell' else 'hx'} should also be {len(expected)}-D but got {state.dim()}-D tensor"
            raise RuntimeError(f"For {'unbatched 2-D' if alone else 'batched 3-D'} input, {given}")
        if tuple(state.shape) != expected:
            raise RuntimeError(f"Expected {name} size {expected}, got {list(state.shape)}")

    def _states(self, hx, data, batch, alone):
        """The initial states: given, or zeros; of an LSTM two."""
        widths = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
        count = self.num_layers * (1 + self.bidirectional)
        if hx is None:
            return [zeros((count, batch, width)[::2] if alone else (count, batch, width), dtype=data.dtype) for width in widths]
        states = list(hx) if self.mode == "LSTM" else [hx]
        names = ["hidden[0]", "hidden[1]"] if self.mode == "LSTM" else ["hidden"]
        for state, width, name in zip(states, widths, names):
            self._check_state(state, batch, width, alone, name)
        return states

    def forward(self, input, hx=None):
        packed = isinstance(input, PackedSequence)
        data = input.data if packed else input
        self._check_input(data, packed)
        alone = not packed and data.dim() == 2
        batch = int(input.batch_sizes[0]) if packed else 1 if alone else data.size(0 if self.batch_first else 1)
        states = self._states(hx, data, batch, alone)
        if packed and hx is not None and input.sorted_indices is not None:
            states = [state.index_select(1, input.sorted_indices) for state in states]
        given = states if self.mode == "LSTM" else states[0]
        settings = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        function = _functions[self.mode]
        output, *last = function(data, input.batch_sizes, given, *settings) if packed else function(data, given, *settings, self.batch_first)
        if packed:
            output = PackedSequence(output, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
            if input.unsorted_indices is not None:
                last = [state.index_select(1, input.unsorted_indices) for state in last]
        return output, tuple(last) if self.mode == "LSTM" else last[0]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
                            ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """A plain recurrent layer. https://pytorch.org/docs/stable/generated/torch.nn.RNN.html"""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device,
                         dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory. https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html"""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0,
                 device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)


class GRU(RNNBase):
    """Gated recurrent unit. https://pytorch.org/docs/stable/generated/torch.nn.GRU.html"""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, device=None,
                 dtype=None):
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)


class RNNCellBase(Module):
    """Parameters of one step."""

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the initial values anew."""
        _draw(self)

    def _check(self, input, *states):
        for what, tensor in (("input", input), *(("hidden", state) for state in states)):
            if tensor is not None and tensor.dim() not in (1, 2):
                raise ValueError(f"{self._get_name()}: Expected {what} to be 1D or 2D, got {tensor.dim()}D instead")

    def _zeros(self, input):
        return zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """One step of RNN. https://pytorch.org/docs/stable/generated/torch.nn.RNNCell.html"""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        self._check(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        function = rnn_tanh_cell if self.nonlinearity == "tanh" else rnn_relu_cell
        return function(input, self._zeros(input) if hx is None else hx, *self._weights())


class LSTMCell(RNNCellBase):
    """One step of LSTM. https://pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html"""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        self._check(input, *(hx or ()))
        return lstm_cell(input, (self._zeros(input), self._zeros(input)) if hx is None else hx, *self._weights())


class GRUCell(RNNCellBase):
    """One step of GRU. https://pytorch.org/docs/stable/generated/torch.nn.GRUCell.html"""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        self._check(input, hx)
        return gru_cell(input, self._zeros(input) if hx is None else hx, *self._weights())
