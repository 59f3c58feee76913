"""embedding_bag with gradients by frequency and attention with keys and values of one's own, with the values of PyTorch 2.15."""
import braze as T
from support import error

F = T.nn.functional


def bag(mode, padding_idx=None, weighted=False):
    weight = T.arange(12.).reshape(4, 3).requires_grad_()
    weights = T.arange(9.).requires_grad_() if weighted else None
    y = F.embedding_bag(T.tensor([0, 1, 1, 2, 2, 2, 0, 3, 1]), weight, T.tensor([0, 3, 3, 7]), mode=mode, scale_grad_by_freq=True,
                        padding_idx=padding_idx, per_sample_weights=weights)
    (y * T.arange(12.).reshape(4, 3)).sum().backward()
    return weight.grad.reshape(-1), weights.grad if weighted else None


def close(x, wanted):
    assert T.allclose(x.reshape(-1), T.tensor(wanted), rtol=1e-4, atol=1e-4), x.tolist()


def test_embedding_bag_scales_gradients_by_frequency():
    close(bag("sum")[0], [3., 4., 5., 3., 4., 5., 6., 7., 8., 9., 10., 11.])
    close(bag("sum", 2)[0], [3., 4., 5., 3., 4., 5., 0., 0., 0., 9., 10., 11.])
    close(bag("mean")[0], [0.75, 1.0417, 1.3333, 1.5, 1.8889, 2.2778, 1.5, 1.75, 2., 4.5, 5., 5.5])
    close(bag("mean", 2)[0], [3., 3.6667, 4.3333, 1.5, 1.8889, 2.2778, 0., 0., 0., 4.5, 5., 5.5])
    by_row, by_weight = bag("sum", None, True)
    close(by_row, [18., 21., 24., 24., 27.6667, 31.3333, 24., 28., 32., 63., 70., 77.])
    close(by_weight, [5., 14., 14., 149., 149., 149., 23., 302., 122.])
    assert error(bag, "max") == ("ValueError", "max mode does not support scaling the gradient by the frequency")
    assert repr(T.nn.EmbeddingBag(4, 3, mode="sum", scale_grad_by_freq=True)) == "EmbeddingBag(4, 3, scale_grad_by_freq=True, mode='sum')"


def test_attention_with_keys_and_values_of_ones_own():
    T.manual_seed(0)
    q, k, w, b, out, bias = T.randn(3, 2, 4), T.randn(5, 2, 4), T.randn(12, 4), T.randn(12), T.randn(4, 4), T.randn(4)
    keys, values = T.randn(4, 5, 2), T.randn(4, 5, 2)

    def attend(bias_k=None, bias_v=None, **given):
        return F.multi_head_attention_forward(q, k, k, 4, 2, w, b, bias_k, bias_v, given.pop("zero", False), 0.0, out, bias, training=False, **given)
    output, weights = attend(static_k=keys)
    close(output[0], [0.4024, -1.3643, -0.2479, -1.1283, -1.9392, -2.9177, 0.3297, -4.4445])
    close(weights[0, 0], [0.1919, 0.0599, 0.1672, 0.4306, 0.1505])
    close(attend(static_v=values)[0][0], [2.2098, 0.733, -2.2369, -2.2911, 0.2936, -2.8188, 0.8374, -0.9099])
    close(attend(static_k=keys, static_v=values)[0][0], [1.6079, -1.6812, -0.3918, -1.1098, 1.0994, 2.0912, -1.5375, -0.4219])
    output, weights = attend(static_k=keys, static_v=values, zero=True, key_padding_mask=T.arange(5).expand(2, 5) > 3)
    close(output[0], [1.3833, -1.1781, -0.6366, -0.5318, 0.6836, 1.8995, -1.1322, -0.4857])
    close(weights[0, 0], [0.2091, 0.0668, 0.1764, 0.4428, 0., 0.105])
    one = T.ones(1, 1, 4)
    for given, words in (({"static_k": keys[:3]}, "expecting static_k.size(0) of 4, but got 3"),
                         ({"static_k": keys[..., :1]}, "expecting static_k.size(2) of 2, but got 1"),
                         ({"static_k": keys, "bias_k": one, "bias_v": one}, "bias cannot be added to static key."),
                         ({"static_v": values, "bias_k": one, "bias_v": one}, "bias cannot be added to static value.")):
        assert error(lambda: attend(**given))[1] == words
