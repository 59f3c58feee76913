#include "braze/nn/recurrent.h"

#include <cmath>

#include "braze/functions.h"
#include "braze/nn/init.h"
#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::nn {

namespace {

void draw(const Module& module, std::int64_t hidden_size) {
  const double bound = hidden_size > 0 ? 1 / std::sqrt(static_cast<double>(hidden_size)) : 0;
  for (const Tensor& parameter : module.parameters()) init::uniform_(parameter, -bound, bound);
}

const LSTMOptions& checked(std::int64_t hidden_size, const LSTMOptions& o) {
  require<ValueError>(o.dropout >= 0 && o.dropout <= 1,
                      "dropout should be a number in range [0, 1] representing the probability of an element being zeroed");
  require<ValueError>(hidden_size > 0, "hidden_size must be greater than zero");
  require<ValueError>(o.num_layers > 0, "num_layers must be greater than zero");
  require<ValueError>(o.proj_size >= 0, "proj_size should be a positive integer or zero to disable projections");
  require<ValueError>(o.proj_size < hidden_size, "proj_size has to be smaller than hidden_size");
  return o;
}

const Tensor& tensor_of(const Module& module, const In& input) {
  if (input.is_scalar()) detail::refuse_number(module);
  return input.tensor();
}

}  // namespace

RNNBase::RNNBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size, const LSTMOptions& options)
    : input_size(input_size), hidden_size(hidden_size), options(checked(hidden_size, options)) {
  const std::int64_t directions = options.bidirectional ? 2 : 1, rows = gates * hidden_size;
  for (std::int64_t layer = 0; layer < options.num_layers; ++layer)
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const auto add = [&](const char* name, SizesView sizes) {
        names_.push_back(fmt::format("{}_l{}{}", name, layer, direction ? "_reverse" : ""));
        register_parameter(names_.back(), empty(sizes, {options.dtype}));
      };
      add("weight_ih", {rows, layer == 0 ? input_size : output_size() * directions});
      add("weight_hh", {rows, output_size()});
      if (options.bias) add("bias_ih", {rows}), add("bias_hh", {rows});
      if (options.proj_size) add("weight_hr", {options.proj_size, hidden_size});
    }
  reset_parameters();
}

void RNNBase::reset_parameters() { draw(*this, hidden_size); }

std::vector<Tensor> RNNBase::flat_weights() const {
  std::vector<Tensor> weights;
  for (const std::string& name : names_) weights.push_back(const_cast<RNNBase*>(this)->get_parameter(name));
  return weights;
}

RecurrentOptions RNNBase::call_options() const {
  return {.num_layers = options.num_layers,
          .has_biases = options.bias,
          .bidirectional = options.bidirectional,
          .batch_first = options.batch_first,
          .dropout = options.dropout,
          .train = is_training(),
          .batch_sizes = {}};
}

std::vector<Tensor> RNNBase::states(const In& input, const std::vector<Tensor>& given,
                                    const std::vector<std::int64_t>& widths) const {
  const Tensor& x = tensor_of(*this, input);
  require<ValueError>(x.dim() == 2 || x.dim() == 3, "{}: Expected input to be 2D or 3D, got {}D tensor instead", name(), x.dim());
  require(x.size(-1) == input_size, "input.size(-1) must be equal to input_size. Expected {}, got {}", input_size, x.size(-1));
  const bool alone = x.dim() == 2;
  const std::int64_t count = options.num_layers * (options.bidirectional ? 2 : 1);
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    Sizes expected{count};
    if (!alone) expected.push_back(x.size(options.batch_first ? 0 : 1));
    expected.push_back(widths[i]);
    if (!given[i].defined()) {
      result.push_back(zeros(expected, {x.dtype()}));
      continue;
    }
    require(given[i].dim() == static_cast<std::int64_t>(expected.size()),
            "For {} input, hx should also be {}-D but got {}-D tensor", alone ? "unbatched 2-D" : "batched 3-D", expected.size(),
            given[i].dim());
    require(given[i].sizes() == expected, "Expected hidden{} size {}, got [{}]", widths.size() > 1 ? fmt::format("[{}]", i) : "",
            repr(expected), fmt::join(given[i].sizes(), ", "));
    result.push_back(given[i]);
  }
  return result;
}

std::string RNNBase::extra_repr() const {
  std::string text = fmt::format("{}, {}", input_size, hidden_size);
  if (options.proj_size != 0) text += fmt::format(", proj_size={}", options.proj_size);
  if (options.num_layers != 1) text += fmt::format(", num_layers={}", options.num_layers);
  if (!options.bias) text += ", bias=False";
  if (options.batch_first) text += ", batch_first=True";
  if (options.dropout != 0) text += ", dropout=" + repr(options.dropout);
  if (options.bidirectional) text += ", bidirectional=True";
  return text;
}

RNNImpl::RNNImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& o)
    : RNNBase(1, input_size, hidden_size, {o.num_layers, o.bias, o.batch_first, o.dropout, o.bidirectional, 0, o.dtype}),
      nonlinearity(o.nonlinearity) {
  require<ValueError>(nonlinearity == "tanh" || nonlinearity == "relu", "Unknown nonlinearity '{}'. Select from 'tanh' or 'relu'.",
                      nonlinearity);
}

RecurrentResult RNNImpl::forward(const In& input, const Tensor& hx) {
  const std::vector<Tensor> state = states(input, {hx}, {hidden_size});
  return (nonlinearity == "tanh" ? rnn_tanh : rnn_relu)(input, state[0], flat_weights(), call_options());
}

LSTMImpl::LSTMImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& options)
    : RNNBase(4, input_size, hidden_size, options) {}

LstmResult LSTMImpl::forward(const In& input, const Tensor& hidden, const Tensor& cell) {
  require(hidden.defined() == cell.defined(), "LSTM: hidden and cell states go together");
  const std::vector<Tensor> state = states(input, {hidden, cell}, {output_size(), hidden_size});
  return lstm(input, state, flat_weights(), call_options());
}

GRUImpl::GRUImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& o)
    : RNNBase(3, input_size, hidden_size, {o.num_layers, o.bias, o.batch_first, o.dropout, o.bidirectional, 0, o.dtype}) {}

RecurrentResult GRUImpl::forward(const In& input, const Tensor& hx) {
  const std::vector<Tensor> state = states(input, {hx}, {hidden_size});
  return gru(input, state[0], flat_weights(), call_options());
}

// ---- cells ----

RNNCellBase::RNNCellBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size, bool bias,
                         std::optional<DType> dtype)
    : input_size(input_size),
      hidden_size(hidden_size),
      weight_ih(register_parameter("weight_ih", empty({gates * hidden_size, input_size}, {dtype}))),
      weight_hh(register_parameter("weight_hh", empty({gates * hidden_size, hidden_size}, {dtype}))),
      bias_ih(register_parameter("bias_ih", bias ? empty({gates * hidden_size}, {dtype}) : Tensor())),
      bias_hh(register_parameter("bias_hh", bias ? empty({gates * hidden_size}, {dtype}) : Tensor())) {
  reset_parameters();
}

void RNNCellBase::reset_parameters() { draw(*this, hidden_size); }

Tensor RNNCellBase::state(const In& input, const Tensor& given) const {
  const Tensor& x = tensor_of(*this, input);
  const auto check = [&](const char* what, const Tensor& t) {
    require<ValueError>(t.dim() == 1 || t.dim() == 2, "{}: Expected {} to be 1D or 2D, got {}D instead", name(), what, t.dim());
  };
  check("input", x);
  if (given.defined()) {
    check("hidden", given);
    return given;
  }
  Sizes sizes = x.sizes();
  sizes.back() = hidden_size;
  return zeros(sizes, {x.dtype()});
}

std::string RNNCellBase::extra_repr() const {
  return fmt::format("{}, {}{}", input_size, hidden_size, bias_ih.defined() ? "" : ", bias=False");
}

RNNCellImpl::RNNCellImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& options)
    : RNNCellBase(1, input_size, hidden_size, options.bias, options.dtype), nonlinearity(options.nonlinearity) {
  require(nonlinearity == "tanh" || nonlinearity == "relu", "Unknown nonlinearity: {}", nonlinearity);
}

Tensor RNNCellImpl::forward(const In& input, const Tensor& hx) {
  const auto function = nonlinearity == "tanh" ? rnn_tanh_cell : rnn_relu_cell;
  return function(input, state(input, hx), weight_ih, weight_hh, bias_ih, bias_hh);
}

std::string RNNCellImpl::extra_repr() const {
  return RNNCellBase::extra_repr() + (nonlinearity == "tanh" ? "" : ", nonlinearity=" + nonlinearity);
}

std::pair<Tensor, Tensor> LSTMCellImpl::forward(const In& input, const Tensor& hidden, const Tensor& cell) {
  const Tensor states[] = {state(input, hidden), state(input, cell)};
  return lstm_cell(input, states, weight_ih, weight_hh, bias_ih, bias_hh);
}

Tensor GRUCellImpl::forward(const In& input, const Tensor& hx) {
  return gru_cell(input, state(input, hx), weight_ih, weight_hh, bias_ih, bias_hh);
}

}  // namespace braze::nn
