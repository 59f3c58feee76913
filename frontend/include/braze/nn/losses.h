// Losses as modules: each keeps its settings and calls its function of braze/losses.h. https://pytorch.org/docs/stable/nn.html#loss-functions
//
// `reduction` is "mean", "sum" or "none". Weights are buffers, so that they follow the module.
#pragma once

#include "braze/nn/module.h"

namespace braze::nn {

struct ReductionOptions {
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.L1Loss.html
class L1LossImpl : public Configured<ReductionOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using L1Loss = ModuleHolder<L1LossImpl>;

// https://pytorch.org/docs/stable/generated/torch.nn.MSELoss.html
class MSELossImpl : public Configured<ReductionOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using MSELoss = ModuleHolder<MSELossImpl>;

struct SmoothL1LossOptions {
  double beta = 1;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.SmoothL1Loss.html
class SmoothL1LossImpl : public Configured<SmoothL1LossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using SmoothL1Loss = ModuleHolder<SmoothL1LossImpl>;

struct HuberLossOptions {
  double delta = 1;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.HuberLoss.html
class HuberLossImpl : public Configured<HuberLossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using HuberLoss = ModuleHolder<HuberLossImpl>;

struct NLLLossOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
class NLLLossImpl : public Configured<NLLLossOptions> {
 public:
  explicit NLLLossImpl(const Options& options = {});
  Tensor forward(const In& input, const Tensor& target);

  Tensor& weight;
};
using NLLLoss = ModuleHolder<NLLLossImpl>;

struct CrossEntropyLossOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
class CrossEntropyLossImpl : public Configured<CrossEntropyLossOptions> {
 public:
  explicit CrossEntropyLossImpl(const Options& options = {});
  Tensor forward(const In& input, const Tensor& target);

  Tensor& weight;
};
using CrossEntropyLoss = ModuleHolder<CrossEntropyLossImpl>;

struct BCELossOptions {
  Tensor weight = {};
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.BCELoss.html
class BCELossImpl : public Configured<BCELossOptions> {
 public:
  explicit BCELossImpl(const Options& options = {});
  Tensor forward(const In& input, const Tensor& target);

  Tensor& weight;
};
using BCELoss = ModuleHolder<BCELossImpl>;

struct BCEWithLogitsLossOptions {
  Tensor weight = {}, pos_weight = {};
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
class BCEWithLogitsLossImpl : public Configured<BCEWithLogitsLossOptions> {
 public:
  explicit BCEWithLogitsLossImpl(const Options& options = {});
  Tensor forward(const In& input, const Tensor& target);

  Tensor &weight, &pos_weight;
};
using BCEWithLogitsLoss = ModuleHolder<BCEWithLogitsLossImpl>;

struct KLDivLossOptions {
  bool log_target = false;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.KLDivLoss.html
class KLDivLossImpl : public Configured<KLDivLossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using KLDivLoss = ModuleHolder<KLDivLossImpl>;

struct PoissonNLLLossOptions {
  bool log_input = true, full = false;
  double eps = 1e-8;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.PoissonNLLLoss.html
class PoissonNLLLossImpl : public Configured<PoissonNLLLossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using PoissonNLLLoss = ModuleHolder<PoissonNLLLossImpl>;

struct GaussianNLLLossOptions {
  bool full = false;
  double eps = 1e-6;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.GaussianNLLLoss.html
class GaussianNLLLossImpl : public Configured<GaussianNLLLossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target, const Tensor& var);
};
using GaussianNLLLoss = ModuleHolder<GaussianNLLLossImpl>;

// https://pytorch.org/docs/stable/generated/torch.nn.SoftMarginLoss.html
class SoftMarginLossImpl : public Configured<ReductionOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using SoftMarginLoss = ModuleHolder<SoftMarginLossImpl>;

struct MultiMarginLossOptions {
  Tensor weight = {};
  std::int64_t p = 1;
  double margin = 1;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.MultiMarginLoss.html
class MultiMarginLossImpl : public Configured<MultiMarginLossOptions> {
 public:
  explicit MultiMarginLossImpl(const Options& options = {});
  Tensor forward(const In& input, const Tensor& target);

  Tensor& weight;
};
using MultiMarginLoss = ModuleHolder<MultiMarginLossImpl>;

// https://pytorch.org/docs/stable/generated/torch.nn.MultiLabelMarginLoss.html
class MultiLabelMarginLossImpl : public Configured<ReductionOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using MultiLabelMarginLoss = ModuleHolder<MultiLabelMarginLossImpl>;

struct MultiLabelSoftMarginLossOptions {
  Tensor weight = {};
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.MultiLabelSoftMarginLoss.html
class MultiLabelSoftMarginLossImpl : public Configured<MultiLabelSoftMarginLossOptions> {
 public:
  explicit MultiLabelSoftMarginLossImpl(const Options& options = {});
  Tensor forward(const In& input, const Tensor& target);

  Tensor& weight;
};
using MultiLabelSoftMarginLoss = ModuleHolder<MultiLabelSoftMarginLossImpl>;

struct HingeEmbeddingLossOptions {
  double margin = 1;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.HingeEmbeddingLoss.html
class HingeEmbeddingLossImpl : public Configured<HingeEmbeddingLossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& target);
};
using HingeEmbeddingLoss = ModuleHolder<HingeEmbeddingLossImpl>;

struct CosineEmbeddingLossOptions {
  double margin = 0;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.CosineEmbeddingLoss.html
class CosineEmbeddingLossImpl : public Configured<CosineEmbeddingLossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& input2, const Tensor& target);
};
using CosineEmbeddingLoss = ModuleHolder<CosineEmbeddingLossImpl>;

struct MarginRankingLossOptions {
  double margin = 0;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.MarginRankingLoss.html
class MarginRankingLossImpl : public Configured<MarginRankingLossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& input2, const Tensor& target);
};
using MarginRankingLoss = ModuleHolder<MarginRankingLossImpl>;

struct TripletMarginLossOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;
  std::string reduction = "mean";
};

// https://pytorch.org/docs/stable/generated/torch.nn.TripletMarginLoss.html
class TripletMarginLossImpl : public Configured<TripletMarginLossOptions> {
 public:
  explicit TripletMarginLossImpl(const Options& options = {});
  Tensor forward(const In& input, const Tensor& positive, const Tensor& negative);
};
using TripletMarginLoss = ModuleHolder<TripletMarginLossImpl>;

struct PairwiseDistanceOptions {
  double p = 2, eps = 1e-6;
  bool keepdim = false;
};

// https://pytorch.org/docs/stable/generated/torch.nn.PairwiseDistance.html
class PairwiseDistanceImpl : public Configured<PairwiseDistanceOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& other);
};
using PairwiseDistance = ModuleHolder<PairwiseDistanceImpl>;

struct CosineSimilarityOptions {
  std::int64_t dim = 1;
  double eps = 1e-8;
};

// https://pytorch.org/docs/stable/generated/torch.nn.CosineSimilarity.html
class CosineSimilarityImpl : public Configured<CosineSimilarityOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& input, const Tensor& other);
};
using CosineSimilarity = ModuleHolder<CosineSimilarityImpl>;

struct CTCLossOptions {
  std::int64_t blank = 0;
  std::string reduction = "mean";
  bool zero_infinity = false;
};

// https://pytorch.org/docs/stable/generated/torch.nn.CTCLoss.html
class CTCLossImpl : public Configured<CTCLossOptions> {
 public:
  using Configured::Configured;
  Tensor forward(const In& log_probs, const Tensor& targets, const Sizes& input_lengths, const Sizes& target_lengths);
};
using CTCLoss = ModuleHolder<CTCLossImpl>;

}  // namespace braze::nn
