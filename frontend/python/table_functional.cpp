// Rows of braze/functional.h: braze.nn.functional, and those that PyTorch has beside it.
#include "braze/functional.h"

#include "frontend/elementwise.h"
#include "frontend/python/generator.h"
#include "frontend/python/signature.h"

namespace braze::python {

namespace {

namespace F = nn::functional;

// The result, or with `inplace=True` (the last parameter) the input that it was written into.
Tensor finish(Arguments& a, std::size_t inplace_at, const Tensor& result) {
  return a.boolean(inplace_at) ? write_in_place(a.self(), result, {}) : result;
}

const Rows rows{
    {"relu(Tensor input, bool inplace=False)", functional, [](Arguments& a) { return finish(a, 1, relu(a.in(0))); },
     "max(input, 0)."},
    {"relu_(Tensor input)", functional, [](Arguments& a) { return write_in_place(a.self(), relu(a.in(0)), {}); }},
    {"gelu(Tensor input, *, str approximate=\"none\")", functional, [](Arguments& a) { return F::gelu(a.in(0), a.string(1)); },
     "input times the normal distribution's function of it; approximate: 'none' or 'tanh'."},
    {"silu(Tensor input, bool inplace=False)", functional, [](Arguments& a) { return finish(a, 1, F::silu(a.in(0))); },
     "input * sigmoid(input)."},
    {"mish(Tensor input, bool inplace=False)", functional, [](Arguments& a) { return finish(a, 1, F::mish(a.in(0))); },
     "input * tanh(softplus(input))."},
    {"softplus(Tensor input, float beta=1.0, float threshold=20.0)", functional,
     [](Arguments& a) { return F::softplus(a.in(0), a.number(1), a.number(2)); },
     "log(1 + exp(beta * input)) / beta; input itself beyond the threshold."},
    {"elu(Tensor input, float alpha=1.0, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 2, F::elu(a.in(0), a.number(1))); }, "input, or alpha * (exp(input) - 1) below 0."},
    {"elu_(Tensor input, float alpha=1.0)", functional,
     [](Arguments& a) { return write_in_place(a.self(), F::elu(a.in(0), a.number(1)), {}); }},
    {"celu(Tensor input, float alpha=1.0, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 2, F::celu(a.in(0), a.number(1))); },
     "input, or alpha * (exp(input / alpha) - 1) below 0."},
    {"celu(Tensor input, Scalar alpha=1.0)", function | inplace, [](Arguments& a) { return F::celu(a.in(0), a.number(1)); }},
    {"selu(Tensor input, bool inplace=False)", functional, [](Arguments& a) { return finish(a, 1, F::selu(a.in(0))); },
     "A scaled elu that keeps mean and variance."},
    {"selu(Tensor input)", function | inplace, [](Arguments& a) { return F::selu(a.in(0)); }},
    {"leaky_relu(Tensor input, float negative_slope=0.01, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 2, F::leaky_relu(a.in(0), a.number(1))); }, "input, or negative_slope * input below 0."},
    {"leaky_relu_(Tensor input, float negative_slope=0.01)", functional,
     [](Arguments& a) { return write_in_place(a.self(), F::leaky_relu(a.in(0), a.number(1)), {}); }},
    {"relu6(Tensor input, bool inplace=False)", functional, [](Arguments& a) { return finish(a, 1, F::relu6(a.in(0))); },
     "Between 0 and 6."},
    {"hardtanh(Tensor input, Scalar min_val=-1.0, Scalar max_val=1.0, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 3, F::hardtanh(a.in(0), a.scalar(1), a.scalar(2))); }, "Between min_val and max_val."},
    {"hardtanh_(Tensor input, Scalar min_val=-1.0, Scalar max_val=1.0)", functional,
     [](Arguments& a) { return write_in_place(a.self(), F::hardtanh(a.in(0), a.scalar(1), a.scalar(2)), {}); }},
    {"hardswish(Tensor input, bool inplace=False)", functional, [](Arguments& a) { return finish(a, 1, F::hardswish(a.in(0))); },
     "input * relu6(input + 3) / 6."},
    {"hardsigmoid(Tensor input, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 1, F::hardsigmoid(a.in(0))); }, "relu6(input + 3) / 6."},
    {"logsigmoid(Tensor input)", functional, [](Arguments& a) { return F::logsigmoid(a.in(0)); }, "log(sigmoid(input))."},
    {"softsign(Tensor input)", functional, [](Arguments& a) { return F::softsign(a.in(0)); }, "input / (1 + |input|)."},
    {"tanhshrink(Tensor input)", functional, [](Arguments& a) { return F::tanhshrink(a.in(0)); }, "input - tanh(input)."},
    {"hardshrink(Tensor input, Scalar lambd=0.5)", function | method | functional,
     [](Arguments& a) { return F::hardshrink(a.in(0), a.number(1)); }, "0 where |input| <= lambd."},
    {"softshrink(Tensor input, float lambd=0.5)", functional, [](Arguments& a) { return F::softshrink(a.in(0), a.number(1)); },
     "Nearer to 0 by lambd."},
    {"threshold(Tensor input, Scalar threshold, Scalar value, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 3, F::threshold(a.in(0), a.scalar(1), a.scalar(2))); },
     "`value` where input <= threshold."},
    {"threshold_(Tensor input, Scalar threshold, Scalar value)", functional,
     [](Arguments& a) { return write_in_place(a.self(), F::threshold(a.in(0), a.scalar(1), a.scalar(2)), {}); }},
    {"threshold(Tensor input, Scalar threshold, Scalar value)", function | inplace,
     [](Arguments& a) { return F::threshold(a.in(0), a.scalar(1), a.scalar(2)); }},
    {"prelu(Tensor input, Tensor weight)", function | method | functional,
     [](Arguments& a) { return F::prelu(a.in(0), a.tensor(1)); },
     "input, or weight * input below 0; a weight for all, or one for each element of dim 1."},
    {"rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 4, F::rrelu(a.in(0), a.number(1), a.number(2), a.boolean(3))); },
     "input, or a slope times input where that is not positive: one drawn for each in training, else the mean of both bounds."},
    {"rrelu(Tensor input, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None)",
     function | inplace,
     [](Arguments& a) { return F::rrelu(a.in(0), a.number(1), a.number(2), a.boolean(3), generator_or_none(a.object(4))); }},
    {"dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 3, F::dropout(a.in(0), a.number(1), a.boolean(2))); },
     "0 with probability p, else input / (1 - p); input itself unless training."},
#define BRAZE_DROPOUT(name, text)                                                           \
  {#name "(Tensor input, float p=0.5, bool training=True, bool inplace=False)", functional, \
   [](Arguments& a) { return finish(a, 3, F::name(a.in(0), a.number(1), a.boolean(2))); }, text}
    BRAZE_DROPOUT(dropout1d, "Channels 0 with probability p, else input / (1 - p)."),
    BRAZE_DROPOUT(dropout2d, "Channels 0 with probability p, else input / (1 - p)."),
    BRAZE_DROPOUT(dropout3d, "Channels 0 with probability p, else input / (1 - p)."),
#undef BRAZE_DROPOUT
    {"alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 3, F::alpha_dropout(a.in(0), a.number(1), a.boolean(2))); },
     "Elements at selu's limit with probability p, all scaled so that mean and variance stay."},
    {"feature_alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False)", functional,
     [](Arguments& a) { return finish(a, 3, F::feature_alpha_dropout(a.in(0), a.number(1), a.boolean(2))); },
     "alpha_dropout of whole channels."},
    {"dropout(Tensor input, float p, bool train)", function | inplace,
     [](Arguments& a) { return F::dropout(a.in(0), a.number(1), a.boolean(2)); }},
    {"glu(Tensor input, int dim=-1)", functional, [](Arguments& a) { return F::glu(a.in(0), a.integer(1)); },
     "The first half of a dim times the sigmoid of the second."},
    {"tanh(Tensor input)", functional, [](Arguments& a) { return tanh(a.in(0)); }},
    {"sigmoid(Tensor input)", functional, [](Arguments& a) { return sigmoid(a.in(0)); }},
    {"layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)", functional,
     [](Arguments& a) { return layer_norm(a.in(0), a.ints(1), a.tensor_or_none(2), a.tensor_or_none(3), a.number(4)); },
     "Normalised over the last dims."},
    {"layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
     "cudnn_enable=True)",
     function, [](Arguments& a) { return layer_norm(a.in(0), a.ints(1), a.tensor_or_none(2), a.tensor_or_none(3), a.number(4)); },
     "Normalised over the last dims."},
};

}  // namespace

}  // namespace braze::python
