// Recurrent layers and their cells. https://pytorch.org/docs/stable/nn.html#recurrent-layers
//
// Weights of a cell stand as torch has them: w_ih [gates hidden, input], w_hh [gates hidden, hidden], b_ih and b_hh [gates hidden]; an LSTM's
// gates are input, forget, cell, output, a GRU's reset, update, new.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "braze/tensor.h"

namespace braze {

// ---- one step: input [N, in] or [in], hidden [N, hidden] or [hidden] ----
Tensor rnn_tanh_cell(const In& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                     const Tensor& b_hh = {});
Tensor rnn_relu_cell(const In& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                     const Tensor& b_hh = {});
Tensor gru_cell(const In& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                const Tensor& b_hh = {});
// hx is hidden and cell, and so is the result.
std::pair<Tensor, Tensor> lstm_cell(const In& input, std::span<const Tensor> hx, const Tensor& w_ih, const Tensor& w_hh,
                                    const Tensor& b_ih = {}, const Tensor& b_hh = {});

// ---- all steps: input [T, N, in], with batch_first [N, T, in]; without a batch [T, in] ----
struct RecurrentOptions {
  std::int64_t num_layers = 1;
  bool has_biases = true, bidirectional = false, batch_first = false;
  double dropout = 0;  // between layers, while training
  bool train = false;
  // Of a packed sequence: how many samples each step has, not growing; the input is then [all steps' samples, in].
  Sizes batch_sizes;
};

// `params` are the weights of each layer, forward and backward: w_ih, w_hh, with biases b_ih and b_hh, with a projection w_hr. The initial
// states are [layers directions, N, hidden], and so are the last ones that come back beside the outputs.
struct RecurrentResult {
  Tensor output, hidden;
};
RecurrentResult rnn_tanh(const In& input, const Tensor& hx, std::span<const Tensor> params, const RecurrentOptions& options = {});
RecurrentResult rnn_relu(const In& input, const Tensor& hx, std::span<const Tensor> params, const RecurrentOptions& options = {});
RecurrentResult gru(const In& input, const Tensor& hx, std::span<const Tensor> params, const RecurrentOptions& options = {});
struct LstmResult {
  Tensor output, hidden, cell;
};
LstmResult lstm(const In& input, std::span<const Tensor> hx, std::span<const Tensor> params, const RecurrentOptions& options = {});

}  // namespace braze
