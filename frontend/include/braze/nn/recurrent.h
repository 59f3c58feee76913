// Recurrent layers and their cells: parameters, and the calls of braze/recurrent.h. https://pytorch.org/docs/stable/nn.html#recurrent-layers
#pragma once

#include "braze/nn/module.h"
#include "braze/recurrent.h"

namespace braze::nn {

struct RecurrentLayerOptions {
  std::int64_t num_layers = 1;
  bool bias = true, batch_first = false;
  double dropout = 0;  // between layers, while training
  bool bidirectional = false;
  std::optional<DType> dtype = {};
};
struct RNNOptions {
  std::int64_t num_layers = 1;
  std::string nonlinearity = "tanh";  // or "relu"
  bool bias = true, batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  std::optional<DType> dtype = {};
};
struct LSTMOptions {
  std::int64_t num_layers = 1;
  bool bias = true, batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  std::int64_t proj_size = 0;  // the width that outputs are projected to
  std::optional<DType> dtype = {};
};

// Input [T, N, input_size], with batch_first [N, T, input_size]; without a batch [T, input_size]. States are
// [layers directions, N, hidden_size]; zeros where they are undefined. Throws ValueError and Error in PyTorch's words for other sizes.
class RNNBase : public Module {
 public:
  void reset_parameters();
  // Of each layer and direction: weight_ih, weight_hh, bias_ih, bias_hh, weight_hr.
  std::vector<Tensor> flat_weights() const;
  std::string extra_repr() const override;

  const std::int64_t input_size, hidden_size;
  const LSTMOptions options;

 protected:
  RNNBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size, const LSTMOptions& options);
  RecurrentOptions call_options() const;
  // Checks the input; the initial states, given or zeros, of these widths.
  std::vector<Tensor> states(const In& input, const std::vector<Tensor>& given, const std::vector<std::int64_t>& widths) const;
  std::int64_t output_size() const { return options.proj_size ? options.proj_size : hidden_size; }

 private:
  std::vector<std::string> names_;
};

// https://pytorch.org/docs/stable/generated/torch.nn.RNN.html
class RNNImpl : public RNNBase {
 public:
  using Options = RNNOptions;
  RNNImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});
  RecurrentResult forward(const In& input, const Tensor& hx = {});

  const std::string nonlinearity;
};
using RNN = ModuleHolder<RNNImpl, std::int64_t, std::int64_t>;

// https://pytorch.org/docs/stable/generated/torch.nn.LSTM.html
class LSTMImpl : public RNNBase {
 public:
  using Options = LSTMOptions;
  LSTMImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});
  LstmResult forward(const In& input, const Tensor& hidden = {}, const Tensor& cell = {});
};
using LSTM = ModuleHolder<LSTMImpl, std::int64_t, std::int64_t>;

// https://pytorch.org/docs/stable/generated/torch.nn.GRU.html
class GRUImpl : public RNNBase {
 public:
  using Options = RecurrentLayerOptions;
  GRUImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});
  RecurrentResult forward(const In& input, const Tensor& hx = {});
};
using GRU = ModuleHolder<GRUImpl, std::int64_t, std::int64_t>;

// ---- one step: input [N, input_size] or [input_size] ----

struct CellOptions {
  bool bias = true;
  std::optional<DType> dtype = {};
};
struct RNNCellOptions {
  bool bias = true;
  std::string nonlinearity = "tanh";
  std::optional<DType> dtype = {};
};

class RNNCellBase : public Module {
 public:
  void reset_parameters();
  std::string extra_repr() const override;

  const std::int64_t input_size, hidden_size;
  Tensor &weight_ih, &weight_hh, &bias_ih, &bias_hh;

 protected:
  RNNCellBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size, bool bias, std::optional<DType> dtype);
  // The state, or zeros. Throws ValueError for other dims.
  Tensor state(const In& input, const Tensor& given) const;
};

// https://pytorch.org/docs/stable/generated/torch.nn.RNNCell.html
class RNNCellImpl : public RNNCellBase {
 public:
  using Options = RNNCellOptions;
  RNNCellImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {});
  Tensor forward(const In& input, const Tensor& hx = {});
  std::string extra_repr() const override;

  const std::string nonlinearity;
};
using RNNCell = ModuleHolder<RNNCellImpl, std::int64_t, std::int64_t>;

// Hidden and cell. https://pytorch.org/docs/stable/generated/torch.nn.LSTMCell.html
class LSTMCellImpl : public RNNCellBase {
 public:
  using Options = CellOptions;
  LSTMCellImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {})
      : RNNCellBase(4, input_size, hidden_size, options.bias, options.dtype) {}
  std::pair<Tensor, Tensor> forward(const In& input, const Tensor& hidden = {}, const Tensor& cell = {});
};
using LSTMCell = ModuleHolder<LSTMCellImpl, std::int64_t, std::int64_t>;

// https://pytorch.org/docs/stable/generated/torch.nn.GRUCell.html
class GRUCellImpl : public RNNCellBase {
 public:
  using Options = CellOptions;
  GRUCellImpl(std::int64_t input_size, std::int64_t hidden_size, const Options& options = {})
      : RNNCellBase(3, input_size, hidden_size, options.bias, options.dtype) {}
  Tensor forward(const In& input, const Tensor& hx = {});
};
using GRUCell = ModuleHolder<GRUCellImpl, std::int64_t, std::int64_t>;

}  // namespace braze::nn
