#include "braze/optim/schedulers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontend/nn/text.h"
#include "ir/error.h"

namespace braze::optim {

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(&optimizer) {
  for (std::size_t group = 0; group < optimizer.groups(); ++group) base_lrs_.push_back(optimizer.initial_lr(group));
  last_lr_ = current();
}

std::vector<double> LRScheduler::current() const {
  std::vector<double> rates;
  for (std::size_t group = 0; group < optimizer_->groups(); ++group) rates.push_back(optimizer_->lr(group));
  return rates;
}

void LRScheduler::set(const std::vector<double>& rates) {
  for (std::size_t group = 0; group < rates.size(); ++group) optimizer_->set_lr(rates[group], group);
  last_lr_ = current();
}

void LRScheduler::advance() {
  ++epoch_;
  set(rates());
}

void LRScheduler::jump(std::int64_t epoch) {
  epoch_ = epoch;
  set(closed_rates());
}

std::vector<double> LRScheduler::each(const std::function<double(double)>& function) const {
  std::vector<double> rates = current();
  std::transform(rates.begin(), rates.end(), rates.begin(), function);
  return rates;
}

std::vector<double> LRScheduler::of_bases(const std::function<double(double)>& function) const {
  std::vector<double> rates = base_lrs_;
  std::transform(rates.begin(), rates.end(), rates.begin(), function);
  return rates;
}

// ---- state ----

namespace {

void read(const IValue& from, std::int64_t& to) { to = from.to_int(); }
void read(const IValue& from, double& to) { to = from.is_tensor() ? from.to_tensor().item<double>() : from.to_double(); }
void read(const IValue& from, bool& to) { to = from.to_bool(); }
void read(const IValue& from, std::string& to) { to = from.to_string(); }
void read(const IValue& from, std::vector<double>& to) {
  to.clear();
  for (const IValue& each : from.elements()) read(each, to.emplace_back());
}
void read(const IValue& from, std::map<std::int64_t, std::int64_t>& to) {
  to.clear();
  for (const auto& [key, value] : from.items()) to[key.to_int()] = value.to_int();
}

template <class T>
IValue written(const T& from) {
  return from;
}
IValue written(const std::map<std::int64_t, std::int64_t>& from) {
  IValue::Items items;
  for (const auto& [key, value] : from) items.emplace_back(key, value);
  return IValue::dict(items);
}

IValue states(const std::vector<std::shared_ptr<LRScheduler>>& schedulers) {
  std::vector<IValue> all;
  for (const auto& scheduler : schedulers) all.push_back(scheduler->state_dict());
  return IValue::list(std::move(all));
}
void read_states(const IValue& from, const std::vector<std::shared_ptr<LRScheduler>>& schedulers) {
  require<ValueError>(from.size() == schedulers.size(), "the state is of {} schedulers, and there are {}", from.size(),
                      schedulers.size());
  for (std::size_t i = 0; i < schedulers.size(); ++i) schedulers[i]->load_state_dict(from[i]);
}

IValue with(const IValue& dict, const char* name, IValue value) {
  IValue::Items items = dict.items();
  items.emplace_back(name, std::move(value));
  return IValue::dict(items);
}

}  // namespace

IValue LRScheduler::state_dict() const {
  IValue::Items items;
  const_cast<LRScheduler*>(this)->fields(  // which it reads alone
      [&](const char* name, Field field) {
        std::visit([&](const auto* place) { items.emplace_back(name, written(*place)); }, field);
      });
  items.emplace_back("base_lrs", base_lrs_);
  items.emplace_back("last_epoch", epoch_);
  items.emplace_back("_step_count", epoch_ + 1);
  items.emplace_back("_last_lr", last_lr_);
  return IValue::dict(items);
}

void LRScheduler::load_state_dict(const IValue& state) {
  const auto take = [&](const char* name, auto& place) {
    if (const IValue* found = state.find(name)) read(*found, place);
  };
  fields([&](const char* name, Field field) { std::visit([&](auto* place) { take(name, *place); }, field); });
  take("base_lrs", base_lrs_);
  take("_last_lr", last_lr_);
  read(state["last_epoch"], epoch_);
  require<ValueError>(base_lrs_.size() == optimizer_->groups(), "the state is of {} parameter groups, and the optimizer has {}",
                      base_lrs_.size(), optimizer_->groups());
}

IValue SequentialLR::state_dict() const { return with(LRScheduler::state_dict(), "_schedulers", states(schedulers_)); }
void SequentialLR::load_state_dict(const IValue& state) {
  LRScheduler::load_state_dict(state);
  read_states(state["_schedulers"], schedulers_);
}

IValue ChainedScheduler::state_dict() const { return with(LRScheduler::state_dict(), "_schedulers", states(schedulers_)); }
void ChainedScheduler::load_state_dict(const IValue& state) {  // PyTorch's has no epoch
  read_states(state["_schedulers"], schedulers_);
  epoch_ = schedulers_[0]->last_epoch();
  set(current());
}

// ---- formulas ----

LambdaLR::LambdaLR(Optimizer& optimizer, Function function) : LRScheduler(optimizer), function_(std::move(function)) { start(); }
std::vector<double> LambdaLR::rates() {
  return of_bases([factor = function_(epoch_)](double base) { return base * factor; });
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, Function function)
    : LRScheduler(optimizer), function_(std::move(function)) {
  start();
}
std::vector<double> MultiplicativeLR::rates() {
  if (epoch_ == 0) return current();
  return each([factor = function_(epoch_)](double rate) { return rate * factor; });
}

StepLR::StepLR(Optimizer& optimizer, const StepLROptions& options) : LRScheduler(optimizer), options_(options) {
  require<ValueError>(options.step_size > 0, "step_size should be a positive integer, but got {}", options.step_size);
  start();
}
std::vector<double> StepLR::rates() {
  if (epoch_ == 0 || epoch_ % options_.step_size != 0) return current();
  return each([&](double rate) { return rate * options_.gamma; });
}
std::vector<double> StepLR::closed_rates() {
  const std::int64_t steps = epoch_ / options_.step_size;
  return of_bases([&](double base) { return base * std::pow(options_.gamma, static_cast<double>(steps)); });
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, const MultiStepLROptions& options) : LRScheduler(optimizer), gamma_(options.gamma) {
  for (const std::int64_t milestone : options.milestones) ++milestones_[milestone];
  start();
}
std::vector<double> MultiStepLR::rates() {
  const auto here = milestones_.find(epoch_);
  if (here == milestones_.end()) return current();
  return each([&](double rate) { return rate * std::pow(gamma_, static_cast<double>(here->second)); });
}
std::vector<double> MultiStepLR::closed_rates() {
  std::int64_t passed = 0;
  for (const auto& [milestone, count] : milestones_)
    if (milestone <= epoch_) passed += count;
  return of_bases([&](double base) { return base * std::pow(gamma_, static_cast<double>(passed)); });
}

ConstantLR::ConstantLR(Optimizer& optimizer, const ConstantLROptions& options) : LRScheduler(optimizer), options_(options) {
  require<ValueError>(options.factor >= 0 && options.factor <= 1, "Constant multiplicative factor expected to be between 0 and 1.");
  start();
}
std::vector<double> ConstantLR::rates() {
  if (epoch_ == 0) return each([&](double rate) { return rate * options_.factor; });
  if (epoch_ != options_.total_iters) return current();
  return each([&](double rate) { return rate * (1.0 / options_.factor); });
}
std::vector<double> ConstantLR::closed_rates() {
  return of_bases([&](double base) { return base * (epoch_ < options_.total_iters ? options_.factor : 1); });
}

LinearLR::LinearLR(Optimizer& optimizer, const LinearLROptions& options) : LRScheduler(optimizer), options_(options) {
  require<ValueError>(options.start_factor > 0 && options.start_factor <= 1,
                      "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.");
  require<ValueError>(options.end_factor >= 0 && options.end_factor <= 1,
                      "Ending multiplicative factor expected to be between 0 and 1.");
  start();
}
std::vector<double> LinearLR::rates() {
  if (epoch_ == 0) return each([&](double rate) { return rate * options_.start_factor; });
  if (epoch_ > options_.total_iters) return current();
  const double climb = options_.end_factor - options_.start_factor;
  const double factor =
      1 + climb / (static_cast<double>(options_.total_iters) * options_.start_factor + static_cast<double>(epoch_ - 1) * climb);
  return each([&](double rate) { return rate * factor; });
}
std::vector<double> LinearLR::closed_rates() {
  const double share = static_cast<double>(std::min(options_.total_iters, epoch_)) / static_cast<double>(options_.total_iters);
  return of_bases(
      [&](double base) { return base * (options_.start_factor + (options_.end_factor - options_.start_factor) * share); });
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma) : LRScheduler(optimizer), gamma_(gamma) { start(); }
std::vector<double> ExponentialLR::rates() {
  if (epoch_ == 0) return current();
  return each([&](double rate) { return rate * gamma_; });
}
std::vector<double> ExponentialLR::closed_rates() {
  return of_bases([&](double base) { return base * std::pow(gamma_, static_cast<double>(epoch_)); });
}

PolynomialLR::PolynomialLR(Optimizer& optimizer, const PolynomialLROptions& options) : LRScheduler(optimizer), options_(options) {
  start();
}
std::vector<double> PolynomialLR::rates() {
  if (epoch_ == 0 || epoch_ > options_.total_iters) return current();
  const auto total = static_cast<double>(options_.total_iters);
  const double left = 1.0 - static_cast<double>(epoch_) / total;
  const double factor = std::pow(left / (1.0 - static_cast<double>(epoch_ - 1) / total), options_.power);
  return each([&](double rate) { return rate * factor; });
}
std::vector<double> PolynomialLR::closed_rates() {
  const double left = 1.0 - static_cast<double>(std::min(options_.total_iters, epoch_)) / static_cast<double>(options_.total_iters);
  return of_bases([&](double base) { return base * std::pow(left, options_.power); });
}

namespace {

double half_cosine(double share) { return (1 + std::cos(std::numbers::pi * share)) / 2; }

}  // namespace

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, const CosineAnnealingLROptions& options)
    : LRScheduler(optimizer), options_(options) {
  require<ValueError>(options.T_max > 0, "T_max should be a positive integer, but got {}", options.T_max);
  start();
}
std::vector<double> CosineAnnealingLR::rates() {
  if (epoch_ == 0) return current();
  const auto length = static_cast<double>(options_.T_max), epoch = static_cast<double>(epoch_);
  if ((epoch_ - 1 - options_.T_max) % (2 * options_.T_max) == 0) {  // at the bottom the rate before says nothing
    std::vector<double> rates = current();
    for (std::size_t i = 0; i < rates.size(); ++i)
      rates[i] += (base_lrs()[i] - options_.eta_min) * (1 - std::cos(std::numbers::pi / length)) / 2;
    return rates;
  }
  const double factor = (1 + std::cos(std::numbers::pi * epoch / length)) / (1 + std::cos(std::numbers::pi * (epoch - 1) / length));
  return each([&](double rate) { return factor * (rate - options_.eta_min) + options_.eta_min; });
}
std::vector<double> CosineAnnealingLR::closed_rates() {
  const double share = half_cosine(static_cast<double>(epoch_) / static_cast<double>(options_.T_max));
  return of_bases([&](double base) { return options_.eta_min + (base - options_.eta_min) * share; });
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, const CosineAnnealingWarmRestartsOptions& options)
    : LRScheduler(optimizer), options_(options), length_(options.T_0) {
  require<ValueError>(options.T_0 > 0, "Expected positive integer T_0, but got {}", options.T_0);
  require<ValueError>(options.T_mult >= 1, "Expected integer T_mult >= 1, but got {}", options.T_mult);
  start();
}
std::vector<double> CosineAnnealingWarmRestarts::rates() {
  const double share = half_cosine(static_cast<double>(within_) / static_cast<double>(length_));
  return of_bases([&](double base) { return options_.eta_min + (base - options_.eta_min) * share; });
}
void CosineAnnealingWarmRestarts::advance() {
  if (++within_ >= length_) {
    within_ -= length_;
    length_ *= options_.T_mult;
  }
  LRScheduler::advance();
}

// ---- one cycle ----

namespace {

bool has(const Optimizer& optimizer, std::string_view name) {
  const Named<Setting> settings = optimizer.settings();
  return std::any_of(settings.begin(), settings.end(), [&](const auto& each) { return each.first == name; });
}

void set_momentum(Optimizer& optimizer, double momentum) {
  for (std::size_t group = 0; group < optimizer.groups(); ++group) {
    if (!has(optimizer, "betas")) {
      optimizer.set(group, "momentum", momentum);
      continue;
    }
    for (const auto& [name, value] : optimizer.settings(group))
      if (name == "betas") optimizer.set(group, "betas", Betas{momentum, std::get<Betas>(value).second});
  }
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& optimizer, const OneCycleLROptions& o) : LRScheduler(optimizer), options_(o) {
  require<ValueError>(o.total_steps > 0, "Expected positive integer total_steps, but got {}", o.total_steps);
  require<ValueError>(o.pct_start >= 0 && o.pct_start <= 1, "Expected float between 0 and 1 pct_start, but got {}",
                      repr(o.pct_start));
  require<ValueError>(o.anneal_strategy == "cos" || o.anneal_strategy == "linear",
                      "anneal_strategy must be one of 'cos' or 'linear', instead got {}", o.anneal_strategy);
  require<ValueError>(!o.cycle_momentum || has(optimizer, "momentum") || has(optimizer, "betas"),
                      "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
  const auto steps = static_cast<double>(o.total_steps);
  const double first = o.max_lr / o.div_factor, least = first / o.final_div_factor;
  phases_ = {{o.pct_start * steps - 1, first, o.max_lr, o.max_momentum, o.base_momentum}};
  if (o.three_phase) phases_.push_back({2 * o.pct_start * steps - 2, o.max_lr, first, o.base_momentum, o.max_momentum});
  const Phase last = phases_.back();
  phases_.push_back({steps - 1, last.lr_to, least, last.momentum_to, o.max_momentum});
  start();
}

double OneCycleLR::between(double start, double end, double share) const {
  if (options_.anneal_strategy == "linear") return (end - start) * share + start;
  return end + (start - end) / 2.0 * (std::cos(std::numbers::pi * share) + 1);
}

std::vector<double> OneCycleLR::rates() {
  require<ValueError>(epoch_ <= options_.total_steps, "Tried to step {} times. The specified number of total steps is {}", epoch_,
                      options_.total_steps);
  const auto step = static_cast<double>(epoch_);
  double begin = 0;
  std::size_t i = 0;
  while (i + 1 < phases_.size() && step > phases_[i].end) begin = phases_[i++].end;
  const Phase& phase = phases_[i];
  const double share = (step - begin) / (phase.end - begin);
  if (options_.cycle_momentum) set_momentum(optimizer(), between(phase.momentum_from, phase.momentum_to, share));
  return each([&](double) { return between(phase.lr_from, phase.lr_to, share); });
}

// ---- by a metric ----

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& o)
    : LRScheduler(optimizer), options_(o) {
  require<ValueError>(o.factor < 1, "Factor should be < 1.0.");
  require<ValueError>(o.mode == "min" || o.mode == "max", "mode {} is unknown!", o.mode);
  require<ValueError>(o.threshold_mode == "rel" || o.threshold_mode == "abs", "threshold mode {} is unknown!", o.threshold_mode);
  best_ = o.mode == "min" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  epoch_ = 0;
}

void ReduceLROnPlateau::fields(const Visit& visit) {
  visit("factor", &options_.factor), visit("patience", &options_.patience), visit("cooldown", &options_.cooldown);
  visit("eps", &options_.eps), visit("mode", &options_.mode), visit("threshold", &options_.threshold);
  visit("threshold_mode", &options_.threshold_mode), visit("best", &best_), visit("num_bad_epochs", &bad_epochs_);
  visit("cooldown_counter", &cooling_);
}

void ReduceLROnPlateau::step() { fail<TypeError>("ReduceLROnPlateau's step needs a metric"); }

bool ReduceLROnPlateau::is_better(double a) const {
  const bool least = options_.mode == "min";
  const double by = least ? options_.threshold : -options_.threshold;
  const double target = options_.threshold_mode == "rel" ? best_ * (1 - by) : best_ - by;
  return least ? a < target : a > target;
}

void ReduceLROnPlateau::step(double metric) {
  ++epoch_;
  if (is_better(metric)) {
    best_ = metric;
    bad_epochs_ = 0;
  } else {
    ++bad_epochs_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_epochs_ = 0;
  }
  std::vector<double> rates = current();
  if (bad_epochs_ > options_.patience) {
    for (double& rate : rates) {
      const double after = std::max(rate * options_.factor, options_.min_lr);
      if (rate - after > options_.eps) rate = after;
    }
    cooling_ = options_.cooldown;
    bad_epochs_ = 0;
  }
  set(rates);
}

// ---- several ----

SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<std::int64_t> milestones)
    : LRScheduler(optimizer), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  require<ValueError>(!schedulers_.empty(), "SequentialLR expects at least one scheduler, but got no scheduler.");
  for (const auto& scheduler : schedulers_)
    require<ValueError>(scheduler->optimizer_ == &optimizer, "SequentialLR expects all schedulers to belong to the same optimizer");
  require<ValueError>(
      milestones_.size() + 1 == schedulers_.size(),
      "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but "
      "got number of schedulers {} and the number of milestones to be equal to {}",
      schedulers_.size(), milestones_.size());
  epoch_ = 0;
  set(base_lrs());  // the later schedulers have stepped once as they were made
  for (const auto& scheduler : schedulers_) --scheduler->epoch_;
  schedulers_[0]->advance();
  set(schedulers_[0]->get_last_lr());
}

void SequentialLR::step() {
  ++epoch_;
  const auto at = static_cast<std::size_t>(std::upper_bound(milestones_.begin(), milestones_.end(), epoch_) - milestones_.begin());
  if (at > 0 && milestones_[at - 1] == epoch_)
    schedulers_[at]->jump(0);
  else
    schedulers_[at]->step();
  set(current());
}

ChainedScheduler::ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers)
    : LRScheduler([&]() -> Optimizer& {
        require<ValueError>(!schedulers.empty(),
                            "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.");
        return schedulers[0]->optimizer();
      }()),
      schedulers_(std::move(schedulers)) {
  for (const auto& scheduler : schedulers_)
    require<ValueError>(&scheduler->optimizer() == &optimizer(),
                        "ChainedScheduler expects all schedulers to belong to the same optimizer");
  epoch_ = 0;
}

void ChainedScheduler::step() {
  ++epoch_;
  for (const auto& scheduler : schedulers_) scheduler->step();
  set(current());
}

}  // namespace braze::optim
