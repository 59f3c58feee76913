// Recurrent layers: the product with the input is one for all steps, the one with the hidden state is of each step.
#include "braze/recurrent.h"

#include <algorithm>

#include "braze/functional.h"
#include "frontend/composing.h"

namespace braze {

namespace {

enum class Kind { tanh, relu, gru, lstm };

std::int64_t gates(Kind kind) { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }

struct State {
  Tensor hidden, cell;  // the cell of an LSTM alone
};

struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

// A step from what the input gives (its product and bias) and the state.
State advance(Kind kind, const Tensor& from_input, const State& state, const Weights& w) {
  const Tensor from_hidden = linear(state.hidden, w.w_hh, w.b_hh);
  if (kind == Kind::tanh) return {tanh(from_input + from_hidden), {}};
  if (kind == Kind::relu) return {relu(from_input + from_hidden), {}};
  const std::int64_t width = from_hidden.size(-1) / gates(kind);
  const auto part = [&](const Tensor& x, std::int64_t i) { return x.narrow(-1, i * width, width); };
  if (kind == Kind::gru) {
    const Tensor reset = sigmoid(part(from_input, 0) + part(from_hidden, 0));
    const Tensor update = sigmoid(part(from_input, 1) + part(from_hidden, 1));
    const Tensor fresh = tanh(part(from_input, 2) + reset * part(from_hidden, 2));
    return {(state.hidden - fresh) * update + fresh, {}};
  }
  const Tensor sums = from_input + from_hidden;
  const Tensor cell = sigmoid(part(sums, 1)) * state.cell + sigmoid(part(sums, 0)) * tanh(part(sums, 2));
  const Tensor hidden = sigmoid(part(sums, 3)) * tanh(cell);
  return {w.w_hr.defined() ? linear(hidden, w.w_hr) : hidden, cell};
}

State step(std::string_view function, Kind kind, const In& input, const State& state, const Weights& w) {
  const Tensor& x = require_tensor(function, input);
  require(x.dim() == 1 || x.dim() == 2, "{}: Expected input to be 1D or 2D, got {}D instead", function, x.dim());
  require(x.size(-1) == w.w_ih.size(1), "input has inconsistent input_size: got {} expected {}", x.size(-1), w.w_ih.size(1));
  for (const Tensor* each : {&state.hidden, &state.cell}) {
    if (!each->defined()) continue;
    require(each->dim() == x.dim(), "{}: Expected hidden to be {}D, got {}D instead", function, x.dim(), each->dim());
    require(x.dim() == 1 || each->size(0) == x.size(0), "Input batch size {} doesn't match hidden batch size {}", x.size(0),
            each->size(0));
  }
  require(state.hidden.size(-1) == w.w_hh.size(1), "hidden has inconsistent hidden_size: got {}, expected {}",
          state.hidden.size(-1), w.w_hh.size(1));
  const SourceLine line(input.where());
  return advance(kind, linear(x, w.w_ih, w.b_ih), state, w);
}

// One layer in one direction. `inputs` is [T, N, in], or [all samples, in] where batch_sizes says how many each step has.
struct Run {
  std::vector<Tensor> outputs;
  State last;
};

Run run(Kind kind, const Tensor& inputs, const State& initial, const Weights& w, const Sizes& batch_sizes, bool backwards) {
  const Tensor from_inputs = linear(inputs, w.w_ih, w.b_ih);
  const bool packed = !batch_sizes.empty();
  const std::int64_t steps = packed ? static_cast<std::int64_t>(batch_sizes.size()) : inputs.size(0);
  const auto rows = [](const Tensor& x, std::int64_t from, std::int64_t count) {
    return x.defined() && !(from == 0 && count == x.size(0)) ? x.narrow(0, from, count) : x;
  };
  Run out;
  out.outputs.resize(static_cast<std::size_t>(steps));
  std::vector<std::int64_t> starts(static_cast<std::size_t>(steps) + 1, 0);
  for (std::size_t t = 0; packed && t < batch_sizes.size(); ++t) starts[t + 1] = starts[t] + batch_sizes[t];
  State state = initial;
  std::vector<State> ended;  // of samples that had their last step, the later the longer
  if (packed) {
    const std::int64_t first = backwards ? batch_sizes.back() : batch_sizes.front();
    state = {rows(state.hidden, 0, first), rows(state.cell, 0, first)};
  }
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = backwards ? steps - 1 - i : i;
    const auto at = static_cast<std::size_t>(t);
    if (packed) {
      const std::int64_t have = state.hidden.size(0), want = batch_sizes[at];
      if (want < have) {
        ended.push_back(
            {rows(state.hidden, want, have - want), state.cell.defined() ? rows(state.cell, want, have - want) : Tensor{}});
        state = {rows(state.hidden, 0, want), rows(state.cell, 0, want)};
      } else if (want > have) {  // backwards, shorter samples join later
        state.hidden = cat({state.hidden, rows(initial.hidden, have, want - have)}, 0);
        if (state.cell.defined()) state.cell = cat({state.cell, rows(initial.cell, have, want - have)}, 0);
      }
    }
    const Tensor from_input = packed ? rows(from_inputs, starts[at], batch_sizes[at]) : from_inputs.select(0, t);
    state = advance(kind, from_input, state, w);
    out.outputs[at] = state.hidden;
  }
  std::vector<Tensor> hidden{state.hidden}, cell{state.cell};
  for (auto each = ended.rbegin(); each != ended.rend(); ++each) {
    hidden.push_back(each->hidden);
    cell.push_back(each->cell);
  }
  out.last.hidden = hidden.size() == 1 ? hidden[0] : cat(hidden, 0);
  if (state.cell.defined()) out.last.cell = cell.size() == 1 ? cell[0] : cat(cell, 0);
  return out;
}

Weights weights_at(std::span<const Tensor> params, std::size_t& at, bool has_biases, bool projected) {
  Weights w;
  w.w_ih = params[at++];
  w.w_hh = params[at++];
  if (has_biases) {
    w.b_ih = params[at++];
    w.b_hh = params[at++];
  }
  if (projected) w.w_hr = params[at++];
  return w;
}

LstmResult layers(std::string_view function, Kind kind, const In& input, const State& initial, std::span<const Tensor> params,
                  const RecurrentOptions& o) {
  const Tensor& given = require_tensor(function, input);
  const SourceLine line(input.where());
  const bool packed = !o.batch_sizes.empty(), alone = !packed && given.dim() == 2;
  require(packed ? given.dim() == 2 : given.dim() == 2 || given.dim() == 3,
          "{}: Expected input to be 2D or 3D, got {}D tensor instead", function, given.dim());
  const auto directions = static_cast<std::size_t>(o.bidirectional ? 2 : 1);
  const std::size_t cells = static_cast<std::size_t>(o.num_layers) * directions, plain = o.has_biases ? 4 : 2;
  require(cells > 0 && (params.size() == cells * plain || (kind == Kind::lstm && params.size() == cells * (plain + 1))),
          "{}: expected {} parameters for each of {} layers and directions, but got {}", function, plain, cells, params.size());
  const bool projected = params.size() != cells * plain;
  Tensor x = alone ? given.unsqueeze(1) : o.batch_first && !packed ? given.transpose(0, 1) : given;
  require(packed || x.size(0) > 0, "Expected sequence length to be larger than 0 in RNN");
  State states = initial;
  if (alone) {
    states.hidden = states.hidden.unsqueeze(1);
    if (states.cell.defined()) states.cell = states.cell.unsqueeze(1);
  }
  std::vector<Tensor> hidden, cell;
  std::size_t at = 0;
  for (std::int64_t layer = 0; layer < o.num_layers; ++layer) {
    std::vector<Tensor> sides;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const auto index = static_cast<std::int64_t>(hidden.size());
      const State start{states.hidden.select(0, index), states.cell.defined() ? states.cell.select(0, index) : Tensor{}};
      const Run done = run(kind, x, start, weights_at(params, at, o.has_biases, projected), o.batch_sizes, direction == 1);
      sides.push_back(packed ? cat(done.outputs, 0) : stack(done.outputs, 0));
      hidden.push_back(done.last.hidden);
      cell.push_back(done.last.cell);
    }
    x = sides.size() == 1 ? sides[0] : cat(sides, -1);
    if (o.dropout > 0 && o.train && layer + 1 < o.num_layers) x = nn::functional::dropout(x, o.dropout, true);
  }
  const auto joined = [&](const std::vector<Tensor>& each) {
    const Tensor all = stack(each, 0);
    return alone ? all.squeeze(1) : all;
  };
  const Tensor output = alone ? x.squeeze(1) : o.batch_first && !packed ? x.transpose(0, 1) : x;
  return {output, joined(hidden), kind == Kind::lstm ? joined(cell) : Tensor{}};
}

RecurrentResult without_cell(const LstmResult& result) { return {result.output, result.hidden}; }

}  // namespace

Tensor rnn_tanh_cell(const In& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  return step("RNNCell", Kind::tanh, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).hidden;
}
Tensor rnn_relu_cell(const In& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh) {
  return step("RNNCell", Kind::relu, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).hidden;
}
Tensor gru_cell(const In& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  return step("GRUCell", Kind::gru, input, {hx, {}}, {w_ih, w_hh, b_ih, b_hh, {}}).hidden;
}
std::pair<Tensor, Tensor> lstm_cell(const In& input, std::span<const Tensor> hx, const Tensor& w_ih, const Tensor& w_hh,
                                    const Tensor& b_ih, const Tensor& b_hh) {
  require(hx.size() == 2, "lstm_cell expects two hidden states");
  const State next = step("LSTMCell", Kind::lstm, input, {hx[0], hx[1]}, {w_ih, w_hh, b_ih, b_hh, {}});
  return {next.hidden, next.cell};
}

RecurrentResult rnn_tanh(const In& input, const Tensor& hx, std::span<const Tensor> params, const RecurrentOptions& options) {
  return without_cell(layers("rnn_tanh", Kind::tanh, input, {hx, {}}, params, options));
}
RecurrentResult rnn_relu(const In& input, const Tensor& hx, std::span<const Tensor> params, const RecurrentOptions& options) {
  return without_cell(layers("rnn_relu", Kind::relu, input, {hx, {}}, params, options));
}
RecurrentResult gru(const In& input, const Tensor& hx, std::span<const Tensor> params, const RecurrentOptions& options) {
  return without_cell(layers("gru", Kind::gru, input, {hx, {}}, params, options));
}
LstmResult lstm(const In& input, std::span<const Tensor> hx, std::span<const Tensor> params, const RecurrentOptions& options) {
  require(hx.size() == 2, "lstm expects two hidden states");
  return layers("lstm", Kind::lstm, input, {hx[0], hx[1]}, params, options);
}

}  // namespace braze
