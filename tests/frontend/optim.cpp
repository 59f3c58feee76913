// Optimizers and schedulers beyond what calls.txt calls: groups, state, L-BFGS, steps as one program. Values as PyTorch 2.15 gives them.
#include "braze/optim.h"

#include <sstream>

#include "braze/braze.h"
#include "braze/nn.h"
#include "braze/optim/schedulers.h"
#include "braze/serialization.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

Tensor parameter(const NestedData& data) { return tensor(data, {float32}).requires_grad_(); }
// A step down the sum of squares.
void descend(optim::Optimizer& optimizer, const Tensor& p) {
  optimizer.zero_grad();
  (p * p).sum().backward();
  optimizer.step();
}

}  // namespace

TEST_CASE("optim: two groups of a network, with PyTorch's losses") {
  manual_seed(0);
  const nn::Linear first(4, 8), second(8, 3);
  const nn::Sequential net{first, nn::Tanh(), second};
  const Tensor x = linspace(-1, 1, 24).reshape({6, 4}), y = tensor({0, 1, 2, 0, 1, 2});
  optim::SGD sgd({{first->parameters()}, {second->parameters(), optim::SGDOptions{.lr = 0.5, .momentum = 0.9}}},
                 {.lr = 0.1, .momentum = 0.9});
  const double expected[] = {1.1251604557037354, 1.0862466096878052, 1.0443376302719116, 1.0224833488464355};
  for (const double loss : expected) {
    sgd.zero_grad();
    const Tensor got = nn::functional::cross_entropy(net(x), y);
    got.backward();
    sgd.step();
    CHECK(got.item<double>() == Approx(loss).epsilon(1e-5));
  }
  const optim::OptimizerState state = sgd.state_dict();
  REQUIRE(state.param_groups.size() == 2);
  CHECK(state.param_groups[0].params == std::vector<std::int64_t>{0, 1});
  CHECK(state.param_groups[1].params == std::vector<std::int64_t>{2, 3});
  CHECK(state.state.at(3).begin()->first == "momentum_buffer");
}

TEST_CASE("optim: what is saved goes on as it would have") {
  const Tensor a = parameter({1.0, -2.0, 0.5}), b = parameter({1.0, -2.0, 0.5});
  optim::Adam one({a}, {.lr = 0.1, .amsgrad = true}), other({b}, {.lr = 0.5});
  for (int i = 0; i < 3; ++i) descend(one, a);
  {
    const NoGradGuard off;
    Tensor(b).copy_(a);
  }
  optim::OptimizerState state = one.state_dict();
  for (auto& [number, kept] : state.state)  // what is loaded is shared, as in PyTorch
    for (const auto& [name, value] : StateDict(kept)) kept[name] = value.clone();
  other.load_state_dict(state);
  CHECK(other.lr() == 0.1);
  CHECK(other.options().amsgrad);
  CHECK(other.state(b)["step"].item<float>() == 3);
  descend(one, a);
  descend(other, b);
  CHECK(a.to_vector<float>() == b.to_vector<float>());
  CHECK(refused<ValueError>([&] { optim::Adam({parameter({1.0}), parameter({2.0})}).load_state_dict(one.state_dict()); }) ==
        "loaded state dict contains a parameter group that doesn't match the size of optimizer's group");
}

TEST_CASE("optim: what PyTorch refuses") {
  const Tensor p = parameter({1.0});
  CHECK(refused<ValueError>([] { optim::SGD(std::vector<Tensor>()); }) == "optimizer got an empty parameter list");
  CHECK(refused<ValueError>([&] { optim::SGD({p}, {.lr = -1}); }) == "Invalid learning rate: -1.0");
  CHECK(refused<ValueError>([&] { optim::SGD({p}, {.nesterov = true}); }) ==
        "Nesterov momentum requires a momentum and zero dampening");
  CHECK(refused<ValueError>([&] { optim::Adam({p}, {.betas = {1.0, 0.9}}); }) == "Invalid beta parameter at index 0: 1.0");
  CHECK(refused<ValueError>([&] { optim::SGD({p * 2}); }) == "can't optimize a non-leaf Tensor");
  optim::SGD sgd({p});
  CHECK(refused<ValueError>([&] { sgd.add_param_group({{p}}); }) == "some parameters appear in more than one parameter group");
  CHECK(refused<ValueError>([&] { sgd.set(0, "beta", 1.0); }) == "the optimizer has no setting 'beta'");
}

TEST_CASE("optim: L-BFGS goes down Rosenbrock's valley as PyTorch's does") {
  const auto run = [](const optim::LBFGSOptions& options) {
    const Tensor p = tensor({-1.2, 1.0}, {float64}).requires_grad_();
    optim::LBFGS lbfgs({p}, options);
    std::vector<double> losses;
    for (int i = 0; i < 2; ++i) {
      const Tensor first = lbfgs.step([&] {
        lbfgs.zero_grad();
        const Tensor loss = pow(1 - p(0), 2) + 100 * pow(p(1) - pow(p(0), 2), 2);
        loss.backward();
        return loss;
      });
      losses.push_back(first.item<double>());
    }
    losses.push_back(p(0).item<double>());
    losses.push_back(p(1).item<double>());
    return losses;
  };
  const std::vector<double> plain = run({.lr = 0.1, .max_iter = 8});
  CHECK(plain[1] == Approx(5.773396957586572));
  CHECK(plain[2] == Approx(-1.0536999156192495));
  CHECK(plain[3] == Approx(1.0617302017305377));
  const std::vector<double> searched = run({.max_iter = 30, .line_search_fn = "strong_wolfe"});
  CHECK(searched[1] == Approx(0.0008257500503591216).epsilon(1e-6));
  CHECK(searched[2] == Approx(0.9999814210791366));
  CHECK(searched[3] == Approx(0.9999619651810989));
}

TEST_CASE("optim: after three steps nothing is compiled, though the rate changes") {
  manual_seed(0);
  const nn::Sequential net{nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4)};
  optim::Adam adam(net->parameters(), {.lr = 0.01});
  optim::ExponentialLR scheduler(adam, 0.9);
  const Tensor x = randn({5, 8}), y = randn({5, 4});
  std::uint64_t compilations = 0;
  for (int step = 0; step < 6; ++step) {
    adam.zero_grad();
    const Tensor loss = nn::functional::mse_loss(net(x), y);
    loss.backward();
    adam.step();
    scheduler.step();
    CHECK(loss.item<double>() > 0);
    if (step == 2) compilations = engine_statistics().compilations;
  }
  CHECK(engine_statistics().compilations == compilations);
}

TEST_CASE("optim: schedulers in a row, together, and by a metric") {
  const Tensor p = parameter({1.0});
  {
    optim::SGD sgd({p}, {.lr = 1});
    const auto warm = std::make_shared<optim::ConstantLR>(sgd, optim::ConstantLROptions{.factor = 0.1, .total_iters = 2});
    const auto decay = std::make_shared<optim::ExponentialLR>(sgd, 0.9);
    optim::SequentialLR scheduler(sgd, {warm, decay}, {2});
    std::vector<double> rates;
    for (int i = 0; i < 5; ++i) {
      rates.push_back(sgd.lr());
      scheduler.step();
    }
    for (const auto& [i, rate] : {std::pair{0, 0.1}, {1, 0.1}, {2, 1.0}, {3, 0.9}, {4, 0.81}})
      CHECK(rates[static_cast<std::size_t>(i)] == Approx(rate));
  }
  {
    optim::SGD sgd({p}, {.lr = 1});
    optim::ReduceLROnPlateau scheduler(sgd, {.factor = 0.5, .patience = 1});
    for (const double metric : {3.0, 2.0, 2.0, 2.0, 2.0, 1.0}) scheduler.step(metric);
    CHECK(sgd.lr() == 0.5);
  }
}

TEST_CASE("optim: L-BFGS goes on from PyTorch's state, and from its own") {
  const IValue saved = load(std::string(BRAZE_SOURCE_DIR) + "/tests/data/checkpoints/training.pt")["lbfgs"];
  const Tensor p = saved["point"].to_tensor().clone().requires_grad_();
  optim::LBFGS lbfgs({p}), other({p});
  lbfgs.load_state_dict(saved["state"]);
  CHECK(lbfgs.state(p)["n_iter"].item<std::int64_t>() == 9);
  for (std::size_t i = 0; i < saved["losses"].size(); ++i) {
    optim::LBFGS& now = i == 2 ? other : lbfgs;
    if (i == 2) other.load_state_dict(optim::OptimizerState::from_ivalue(lbfgs.state_dict().to_ivalue()));
    const Tensor loss = now.step([&] {
      now.zero_grad();
      Tensor value = pow(1 - p(0), 2) + 100 * pow(p(1) - pow(p(0), 2), 2);
      value.backward();
      return value;
    });
    CHECK(loss.item<double>() == Approx(saved["losses"][i].to_double()).epsilon(1e-9));
  }
}

TEST_CASE("optim: schedulers go on from PyTorch's state, and from their own") {
  namespace o = optim;
  const IValue recorded = load(std::string(BRAZE_SOURCE_DIR) + "/tests/data/checkpoints/training.pt")["schedules"];
  using Made = std::shared_ptr<o::LRScheduler>;
  using Maker = std::function<Made(o::Optimizer&)>;
  const auto both = [](o::Optimizer& sgd) {
    return std::vector<Made>{std::make_shared<o::ConstantLR>(sgd, o::ConstantLROptions{0.1, 4}),
                             std::make_shared<o::ExponentialLR>(sgd, 0.5)};
  };
  // Options that the state has are others here, so that they must come from there.
  const std::vector<Maker> makers{
      [](auto& sgd) { return std::make_shared<o::StepLR>(sgd, o::StepLROptions{7}); },
      [](auto& sgd) { return std::make_shared<o::MultiStepLR>(sgd, o::MultiStepLROptions{}); },
      [](auto& sgd) { return std::make_shared<o::ConstantLR>(sgd); },
      [](auto& sgd) { return std::make_shared<o::LinearLR>(sgd, o::LinearLROptions{1, 1, 9}); },
      [](auto& sgd) { return std::make_shared<o::ExponentialLR>(sgd, 0.1); },
      [](auto& sgd) { return std::make_shared<o::PolynomialLR>(sgd); },
      [](auto& sgd) { return std::make_shared<o::CosineAnnealingLR>(sgd, o::CosineAnnealingLROptions{2}); },
      [](auto& sgd) { return std::make_shared<o::CosineAnnealingWarmRestarts>(sgd, o::CosineAnnealingWarmRestartsOptions{9}); },
      [](auto& sgd) { return std::make_shared<o::OneCycleLR>(sgd, o::OneCycleLROptions{1.0, 12}); },
      [](auto& sgd) { return std::make_shared<o::LambdaLR>(sgd, [](std::int64_t e) { return 1.0 / static_cast<double>(e + 1); }); },
      [&](auto& sgd) { return std::make_shared<o::SequentialLR>(sgd, both(sgd), std::vector<std::int64_t>{5}); },
      [&](auto& sgd) { return std::make_shared<o::ChainedScheduler>(both(sgd)); },
      [](auto& sgd) { return std::make_shared<o::ReduceLROnPlateau>(sgd); }};
  REQUIRE(recorded.size() == makers.size());
  for (std::size_t i = 0; i < makers.size(); ++i) {
    INFO("scheduler " << i);
    const Tensor p = parameter({0.0});
    o::SGD sgd({p}, {.lr = 0.5, .momentum = 0.9}), again({p}, {.lr = 0.5, .momentum = 0.9});
    Made scheduler = makers[i](sgd), other = makers[i](again);
    sgd.load_state_dict(recorded[i][1]);
    scheduler->load_state_dict(recorded[i][0]);
    CHECK(scheduler->last_epoch() == 3);
    const auto& rates = recorded[i][2].elements();
    for (std::size_t k = 0; k < rates.size(); ++k) {
      if (k == 3) {  // on with its own state, through a file
        std::stringstream file;
        save({{"optimizer", sgd}, {"scheduler", scheduler}}, file);
        const IValue saved = load(file);
        again.load_state_dict(saved["optimizer"]);
        other->load_state_dict(saved["scheduler"]);
      }
      o::LRScheduler& now = k < 3 ? *scheduler : *other;
      if (auto* plateau = dynamic_cast<o::ReduceLROnPlateau*>(&now))
        plateau->step(1.0);
      else
        now.step();
      CHECK(now.optimizer().lr() == Approx(rates[k].to_double()).epsilon(1e-12));
    }
  }
}

TEST_CASE("optim: hooks around a step and around the state") {
  const Tensor p = parameter({2.0});
  optim::SGD sgd({p}, {.lr = 0.5});
  std::vector<std::string> seen;
  const auto note = [&](const char* text) { return [&seen, text](optim::Optimizer&) { seen.push_back(text); }; };
  HookHandle before = sgd.register_step_pre_hook(note("before"));
  sgd.register_step_post_hook(note("after"));
  sgd.register_state_dict_pre_hook(note("saving"));
  sgd.register_state_dict_post_hook(
      [](optim::Optimizer&, optim::OptimizerState& s) { s.param_groups[0].settings[0].second = 0.25; });
  sgd.register_load_state_dict_pre_hook(
      [](optim::Optimizer&, optim::OptimizerState& s) { s.param_groups[0].settings[2].second = 0.5; });
  sgd.register_load_state_dict_post_hook(note("loaded"));
  descend(sgd, p);
  before.remove();
  descend(sgd, p);
  sgd.load_state_dict(sgd.state_dict());
  CHECK(seen == std::vector<std::string>{"before", "after", "after", "saving", "loaded"});
  CHECK(sgd.lr() == 0.25);
  CHECK(sgd.options().dampening == 0.5);
}
