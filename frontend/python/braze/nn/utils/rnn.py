"""Sequences of several lengths: padded to one tensor, or packed step by step."""
from collections import namedtuple

from ... import as_tensor, cat, full, int64, tensor

_fields = namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


def invert_permutation(permutation):
    """Where each number stands, or None for None."""
    return None if permutation is None else permutation.argsort()


class PackedSequence(_fields):
    """The steps of sequences, longest first: data of all samples that have a first step, then a second, ...
    https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.PackedSequence.html"""

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The same with the data converted."""
        return type(self)(self.data.to(*args, **kwargs), *self[1:])

    def cpu(self):
        """The sequence itself: it lives on the CPU."""
        return self

    @property
    def is_cuda(self):
        """Whether the data is a CUDA device's: never."""
        return False


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Padded sequences [T, N, ...] as packed ones.
    https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html"""
    lengths = as_tensor(lengths, dtype=int64)
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    counts = lengths.tolist()
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(counts) != input.size(1):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={input.size(1)})")
    if counts and counts[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(counts, counts[1:])):
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
                           "need ONNX exportability.")
    sizes = [sum(count > step for count in counts) for step in range(counts[0])]
    data = cat([input[step, :size] for step, size in enumerate(sizes)])
    return PackedSequence(data, tensor(sizes, dtype=int64), order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Packed sequences as padded ones, and their lengths.
    https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_packed_sequence.html"""
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None and total_length < steps:
        raise ValueError(f"Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {steps}")
    lengths = tensor([sum(size > sample for size in sizes) for sample in range(sizes[0])], dtype=int64)
    data, rest = sequence.data, sequence.data.shape[1:]
    rows, at = [], 0
    for size in sizes:
        step = data[at:at + size]
        at += size
        if size < sizes[0]:
            step = cat([step, full((sizes[0] - size, *rest), padding_value, dtype=data.dtype)])
        rows.append(step.unsqueeze(0))
    if total_length is not None and total_length > steps:
        rows.append(full((total_length - steps, sizes[0], *rest), padding_value, dtype=data.dtype))
    result = cat(rows)
    if sequence.unsorted_indices is not None:
        result = result.index_select(1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return (result.transpose(0, 1) if batch_first else result), lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences as one tensor, the shorter ones padded.
    https://pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html"""
    sequences = list(sequences)
    if padding_side not in ("left", "right"):
        raise ValueError("padding_side should be 'left' or 'right'")
    longest = max(len(sequence) for sequence in sequences)
    rows = []
    for sequence in sequences:
        missing = full((longest - len(sequence), *sequence.shape[1:]), padding_value, dtype=sequence.dtype)
        row = cat([sequence, missing] if padding_side == "right" else [missing, sequence]) if len(missing) else sequence
        rows.append(row.unsqueeze(0 if batch_first else 1))
    return cat(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences that pad_sequence was given."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(padded_sequences, as_tensor(lengths).tolist())]


def pack_sequence(sequences, enforce_sorted=True):
    """Sequences as packed ones."""
    lengths = [len(sequence) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences that pack_sequence was given."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
