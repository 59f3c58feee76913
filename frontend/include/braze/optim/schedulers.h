// Learning rates that change from epoch to epoch. https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
//
//   optim::StepLR scheduler(sgd, {.step_size = 30, .gamma = 0.1});
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     ...
//     scheduler.step();
//   }
//
// A scheduler refers to its optimizer, which must outlive it. Each step goes from the rate before, so that schedulers can be chained and
// rates changed by hand. The state, by PyTorch's names, is all but the optimizer and functions.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "braze/ivalue.h"
#include "braze/optim.h"

namespace braze::optim {

class LRScheduler {
 public:
  LRScheduler(const LRScheduler&) = delete;
  virtual ~LRScheduler() = default;
  // To be called after the optimizer's step, once an epoch.
  virtual void step() { advance(); }
  // The rates that step set last, one a group.
  const std::vector<double>& get_last_lr() const { return last_lr_; }
  std::int64_t last_epoch() const { return epoch_; }
  Optimizer& optimizer() const { return *optimizer_; }
  // https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LRScheduler.html
  virtual IValue state_dict() const;
  // Takes what state_dict gave, here or in PyTorch. The optimizer's rates are in its own state.
  virtual void load_state_dict(const IValue& state);

 protected:
  using Field =
      std::variant<std::int64_t*, double*, bool*, std::string*, std::vector<double>*, std::map<std::int64_t, std::int64_t>*>;
  explicit LRScheduler(Optimizer& optimizer);
  // A scheduler's own part of its state: visit(name, field) for each.
  using Visit = std::function<void(const char* name, Field field)>;
  virtual void fields(const Visit&) {}
  // The rates at last_epoch(), from base_lrs() or from what the groups have.
  virtual std::vector<double> rates() = 0;
  // Of the epoch itself, where a formula says so: what a jump to an epoch takes.
  virtual std::vector<double> closed_rates() { return rates(); }
  virtual void advance();
  void jump(std::int64_t epoch);  // to an epoch
  void start() { advance(); }     // at the end of a constructor
  std::vector<double> current() const;
  const std::vector<double>& base_lrs() const { return base_lrs_; }
  std::vector<double> each(const std::function<double(double rate)>& function) const;  // of the current rates
  std::vector<double> of_bases(const std::function<double(double base)>& function) const;
  void set(const std::vector<double>& rates);

  std::int64_t epoch_ = -1;

 private:
  friend class SequentialLR;
  Optimizer* optimizer_;
  std::vector<double> base_lrs_, last_lr_;
};

// The initial rate times a function of the epoch. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html
class LambdaLR : public LRScheduler {
 public:
  using Function = std::function<double(std::int64_t epoch)>;
  LambdaLR(Optimizer& optimizer, Function function);

 private:
  std::vector<double> rates() override;
  Function function_;
};

// The rate before times a function of the epoch. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiplicativeLR.html
class MultiplicativeLR : public LRScheduler {
 public:
  using Function = std::function<double(std::int64_t epoch)>;
  MultiplicativeLR(Optimizer& optimizer, Function function);

 private:
  std::vector<double> rates() override;
  Function function_;
};

struct StepLROptions {
  std::int64_t step_size = 1;
  double gamma = 0.1;
};
// Times gamma every step_size epochs. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, const StepLROptions& options);

 private:
  void fields(const Visit& visit) override { visit("step_size", &options_.step_size), visit("gamma", &options_.gamma); }
  std::vector<double> rates() override;
  std::vector<double> closed_rates() override;
  StepLROptions options_;
};

struct MultiStepLROptions {
  std::vector<std::int64_t> milestones = {};
  double gamma = 0.1;
};
// Times gamma at each milestone. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiStepLR.html
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, const MultiStepLROptions& options);

 private:
  void fields(const Visit& visit) override { visit("milestones", &milestones_), visit("gamma", &gamma_); }
  std::vector<double> rates() override;
  std::vector<double> closed_rates() override;
  std::map<std::int64_t, std::int64_t> milestones_;  // how often each
  double gamma_;
};

struct ConstantLROptions {
  double factor = 1.0 / 3;
  std::int64_t total_iters = 5;
};
// Times factor for the first total_iters epochs. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ConstantLR.html
class ConstantLR : public LRScheduler {
 public:
  explicit ConstantLR(Optimizer& optimizer, const ConstantLROptions& options = {});

 private:
  void fields(const Visit& visit) override { visit("factor", &options_.factor), visit("total_iters", &options_.total_iters); }
  std::vector<double> rates() override;
  std::vector<double> closed_rates() override;
  ConstantLROptions options_;
};

struct LinearLROptions {
  double start_factor = 1.0 / 3, end_factor = 1;
  std::int64_t total_iters = 5;
};
// From start_factor to end_factor in total_iters epochs. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LinearLR.html
class LinearLR : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, const LinearLROptions& options = {});

 private:
  void fields(const Visit& visit) override {
    visit("start_factor", &options_.start_factor), visit("end_factor", &options_.end_factor),
        visit("total_iters", &options_.total_iters);
  }
  std::vector<double> rates() override;
  std::vector<double> closed_rates() override;
  LinearLROptions options_;
};

// Times gamma every epoch. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ExponentialLR.html
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 private:
  void fields(const Visit& visit) override { visit("gamma", &gamma_); }
  std::vector<double> rates() override;
  std::vector<double> closed_rates() override;
  double gamma_;
};

struct PolynomialLROptions {
  std::int64_t total_iters = 5;
  double power = 1;
};
// Down to 0 in total_iters epochs, by a power. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.PolynomialLR.html
class PolynomialLR : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, const PolynomialLROptions& options = {});

 private:
  void fields(const Visit& visit) override { visit("total_iters", &options_.total_iters), visit("power", &options_.power); }
  std::vector<double> rates() override;
  std::vector<double> closed_rates() override;
  PolynomialLROptions options_;
};

struct CosineAnnealingLROptions {
  std::int64_t T_max = 1;
  double eta_min = 0;
};
// Down to eta_min in T_max epochs, along a cosine, and up again.
// https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, const CosineAnnealingLROptions& options);

 private:
  void fields(const Visit& visit) override { visit("T_max", &options_.T_max), visit("eta_min", &options_.eta_min); }
  std::vector<double> rates() override;
  std::vector<double> closed_rates() override;
  CosineAnnealingLROptions options_;
};

struct CosineAnnealingWarmRestartsOptions {
  std::int64_t T_0 = 1, T_mult = 1;
  double eta_min = 0;
};
// Down along a cosine again and again, each time T_mult as long.
// https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, const CosineAnnealingWarmRestartsOptions& options);

 private:
  void fields(const Visit& visit) override {
    visit("T_0", &options_.T_0), visit("T_i", &length_), visit("T_mult", &options_.T_mult), visit("eta_min", &options_.eta_min),
        visit("T_cur", &within_);
  }
  std::vector<double> rates() override;
  void advance() override;
  CosineAnnealingWarmRestartsOptions options_;
  std::int64_t within_ = -1, length_;
};

struct OneCycleLROptions {
  double max_lr = 1;
  std::int64_t total_steps = 1;
  double pct_start = 0.3;
  std::string anneal_strategy = "cos";  // or "linear"
  bool cycle_momentum = true;
  double base_momentum = 0.85, max_momentum = 0.95, div_factor = 25, final_div_factor = 1e4;
  bool three_phase = false;
};
// Up to max_lr and far down, in total_steps. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, const OneCycleLROptions& options);

 private:
  void fields(const Visit& visit) override {
    visit("total_steps", &options_.total_steps), visit("cycle_momentum", &options_.cycle_momentum);
  }
  std::vector<double> rates() override;
  double between(double start, double end, double share) const;
  struct Phase {
    double end, lr_from, lr_to, momentum_from, momentum_to;
  };
  OneCycleLROptions options_;
  std::vector<Phase> phases_;
};

struct ReduceLROnPlateauOptions {
  std::string mode = "min";  // or "max"
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;
  std::string threshold_mode = "rel";  // or "abs"
  std::int64_t cooldown = 0;
  double min_lr = 0, eps = 1e-8;
};
// Times factor when the metric has not got better for more than `patience` epochs.
// https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
class ReduceLROnPlateau : public LRScheduler {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options = {});
  void step(double metric);

 private:
  void step() override;  // throws TypeError: it needs the metric
  void fields(const Visit& visit) override;
  std::vector<double> rates() override { return current(); }
  bool is_better(double a) const;
  ReduceLROnPlateauOptions options_;
  double best_;
  std::int64_t bad_epochs_ = 0, cooling_ = 0;
};

// Schedulers one after another, each from its milestone on: as many milestones as schedulers, less one.
// https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.SequentialLR.html
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers, std::vector<std::int64_t> milestones);
  void step() override;
  IValue state_dict() const override;
  void load_state_dict(const IValue& state) override;

 private:
  std::vector<double> rates() override { return current(); }
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<std::int64_t> milestones_;
};

// Schedulers that step together. https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ChainedScheduler.html
class ChainedScheduler : public LRScheduler {
 public:
  explicit ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers);
  void step() override;
  IValue state_dict() const override;
  void load_state_dict(const IValue& state) override;

 private:
  std::vector<double> rates() override { return current(); }
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
};

}  // namespace braze::optim
