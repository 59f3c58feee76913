// Rows of braze/nn/init.h: braze.nn.init. They write into the tensor, without a gradient, and return it.
#include "braze/nn/init.h"
#include "frontend/python/generator.h"
#include "frontend/python/signature.h"

namespace braze::python {

namespace {

namespace I = braze::nn::init;

Generator* stream(const Arguments& a, std::size_t i) { return generator_or_none(a.object(i)); }

// leaky_relu's; Python's flags are no numbers here.
std::optional<double> slope(const Arguments& a, std::size_t i) {
  if (!a.none(i) && (PyBool_Check(a.object(i)) || !is_real(a.object(i))))
    raise(PyExc_ValueError, "negative_slope {} not a valid number", text_of(Object::steal(PyObject_Str(a.object(i))).get()));
  return a.number_or_none(i);
}

const Rows rows{
    {"calculate_gain(str nonlinearity, object param=None) -> float", initial,
     [](Arguments& a) {
       const double gain = I::calculate_gain(a.string(0), slope(a, 1));
       // PyTorch's 1 of what asks for none is an int.
       const bool is_whole = gain == 1 && a.string(0) != "leaky_relu";
       return Object::steal(is_whole ? PyLong_FromLong(1) : PyFloat_FromDouble(gain));
     },
     "The factor by which a nonlinearity asks weights to be larger."},
    {"_calculate_fan_in_and_fan_out(Tensor tensor) -> tuple[int, int]", initial,
     [](Arguments& a) { return I::calculate_fan_in_and_fan_out(a.tensor(0)); },
     "How many inputs and outputs an element of the result has."},
    {"uniform_(Tensor tensor, float a=0.0, float b=1.0, Generator? generator=None)", initial,
     [](Arguments& a) { return I::uniform_(a.self(), a.number(1), a.number(2), stream(a, 3)); }, "From a to b, evenly."},
    {"normal_(Tensor tensor, float mean=0.0, float std=1.0, Generator? generator=None)", initial,
     [](Arguments& a) { return I::normal_(a.self(), a.number(1), a.number(2), stream(a, 3)); }, "Normally distributed."},
    {"trunc_normal_(Tensor tensor, float mean=0.0, float std=1.0, float a=-2.0, float b=2.0, Generator? generator=None)", initial,
     [](Arguments& a) { return I::trunc_normal_(a.self(), a.number(1), a.number(2), a.number(3), a.number(4), stream(a, 5)); },
     "Normally distributed between a and b."},
    {"constant_(Tensor tensor, Scalar val)", initial, [](Arguments& a) { return I::constant_(a.self(), a.scalar(1)); },
     "`val` everywhere."},
    {"ones_(Tensor tensor)", initial, [](Arguments& a) { return I::ones_(a.self()); }, "1 everywhere."},
    {"zeros_(Tensor tensor)", initial, [](Arguments& a) { return I::zeros_(a.self()); }, "0 everywhere."},
    {"eye_(Tensor tensor)", initial, [](Arguments& a) { return I::eye_(a.self()); }, "The identity matrix."},
    {"dirac_(Tensor tensor, int groups=1)", initial, [](Arguments& a) { return I::dirac_(a.self(), a.integer(1)); },
     "The weights of a convolution that gives its input back, as far as there are channels."},
    {"xavier_uniform_(Tensor tensor, float gain=1.0, Generator? generator=None)", initial,
     [](Arguments& a) { return I::xavier_uniform_(a.self(), a.number(1), stream(a, 2)); },
     "Evenly between bounds that keep the variance of both directions. Glorot and Bengio, 2010"},
    {"xavier_normal_(Tensor tensor, float gain=1.0, Generator? generator=None)", initial,
     [](Arguments& a) { return I::xavier_normal_(a.self(), a.number(1), stream(a, 2)); },
     "Normally distributed, with the deviation that keeps the variance of both directions."},
    {"kaiming_uniform_(Tensor tensor, object a=0, str mode=\"fan_in\", str nonlinearity=\"leaky_relu\", Generator? generator=None)",
     initial, [](Arguments& a) { return I::kaiming_uniform_(a.self(), *slope(a, 1), a.string(2), a.string(3), stream(a, 4)); },
     "Evenly between bounds that keep the variance through rectifiers. He et al., 2015"},
    {"kaiming_normal_(Tensor tensor, object a=0, str mode=\"fan_in\", str nonlinearity=\"leaky_relu\", Generator? generator=None)",
     initial, [](Arguments& a) { return I::kaiming_normal_(a.self(), *slope(a, 1), a.string(2), a.string(3), stream(a, 4)); },
     "Normally distributed, with the deviation that keeps the variance through rectifiers."},
    {"orthogonal_(Tensor tensor, float gain=1, Generator? generator=None)", initial,
     [](Arguments& a) { return I::orthogonal_(a.self(), a.number(1), stream(a, 2)); },
     "An orthogonal matrix, times gain; further dims count as columns."},
    {"sparse_(Tensor tensor, float sparsity, float std=0.01, Generator? generator=None)", initial,
     [](Arguments& a) { return I::sparse_(a.self(), a.number(1), a.number(2), stream(a, 3)); },
     "Normally distributed, with that fraction of each column zero."},
};

}  // namespace

}  // namespace braze::python
