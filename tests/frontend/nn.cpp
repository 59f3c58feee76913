// Modules: names, text, order of parameters and initial values as PyTorch 2.15 gives them.
#include "braze/nn.h"

#include <cmath>

#include "braze/braze.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

std::vector<std::string> names(const auto& named) {
  std::vector<std::string> all;
  for (const auto& [name, value] : named) all.push_back(name);
  return all;
}
using Names = std::vector<std::string>;

struct NetImpl : nn::Module {
  nn::Linear first = register_module("first", nn::Linear(2, 3)), second = register_module("second", nn::Linear(3, 1));
  Tensor& scale = register_parameter("scale", ones({1}));
  Tensor& seen = register_buffer("seen", zeros({}));
  Tensor forward(const Tensor& x) {
    seen.add_(1);
    return second(tanh(first(x))) * scale;
  }
};
using Net = nn::ModuleHolder<NetImpl>;

}  // namespace

TEST_CASE("nn: a module's names, in PyTorch's order") {
  const Net net;
  CHECK(names(net->named_parameters()) == Names{"scale", "first.weight", "first.bias", "second.weight", "second.bias"});
  CHECK(names(net->named_buffers()) == Names{"seen"});
  CHECK(names(net->named_children()) == Names{"first", "second"});
  CHECK(names(net->named_modules()) == Names{"", "first", "second"});
  CHECK(names(net->state_dict()) == Names{"scale", "seen", "first.weight", "first.bias", "second.weight", "second.bias"});
  CHECK(net->parameters().size() == 5);
  CHECK(net->get_parameter("first.weight").impl() == net->first->weight.impl());
  CHECK(net->get_submodule("second").ptr() == nn::AnyModule(net->second).ptr());
  CHECK(refused<IndexError>([&] { net->get_submodule("third"); }) == "Net has no attribute `third`");
  CHECK(refused<IndexError>([&] { net->get_parameter("seen"); }) == "`seen` is not an nn.Parameter");
  CHECK(net->str() ==
        "Net(\n  (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (second): Linear(in_features=3, out_features=1, bias=True)\n)");
  CHECK(net(ones({4, 2})).sizes() == Sizes{4, 1});
  CHECK(net->seen.item<float>() == 1);
}

TEST_CASE("nn: initial values are those of the seed, bit for bit") {
  manual_seed(0);
  const nn::Linear linear(2, 3);
  CHECK(linear->weight.to_vector<float>() ==
        Floats{-0x1.5af244p-8F, 0x1.846d38p-2F, -0x1.29f962p-1F, -0x1.0a703ap-1F, -0x1.16e1acp-2F, 0x1.845556p-3F});
  CHECK(linear->bias.to_vector<float>() == Floats{-0x1.cb14aep-7F, 0x1.1f0e8p-1F, -0x1.0107bcp-4F});
  manual_seed(3);
  const nn::Conv2d conv(3, 2, 3);
  CHECK(conv->weight(1, 2).to_vector<float>() == Floats{-0x1.7bcc88p-5F, -0x1.0d7a86p-3F, -0x1.7bac02p-5F, -0x1.b8818p-6F,
                                                        0x1.6c6c0cp-3F, 0x1.9ad0f2p-4F, -0x1.3e4bcp-4F, -0x1.bf561ap-6F,
                                                        0x1.5c499ap-3F});
  CHECK(conv->bias.to_vector<float>() == Floats{0x1.fa6acep-4F, 0x1.8916aap-5F});
}

TEST_CASE("nn: load_state_dict names what is missing, unexpected and of another shape") {
  const nn::Sequential net{nn::Linear(2, 3), nn::Linear(3, 1)};
  StateDict state = net->state_dict();
  state.erase("1.bias");
  state["0.weight"] = zeros({4, 2});
  state["2.weight"] = zeros({1});
  state["0.more"] = zeros({1});
  CHECK(
      refused<Error>([&] { net->load_state_dict(state); }) ==
      "Error(s) in loading state_dict for Sequential:\n"
      "\tMissing key(s) in state_dict: \"1.bias\". \n"
      "\tUnexpected key(s) in state_dict: \"2.weight\", \"0.more\". \n"
      "\tsize mismatch for 0.weight: copying a param with shape torch.Size([4, 2]) from checkpoint, the shape in current model is "
      "torch.Size([3, 2]).");
  state = net->state_dict();
  state.erase("1.bias");
  state["more"] = zeros({1});
  state["0.weight"] = full({3, 2}, 0.5);
  const nn::IncompatibleKeys keys = net->load_state_dict(state, false);
  CHECK(keys.missing == Names{"1.bias"});
  CHECK(keys.unexpected == Names{"more"});
  CHECK(net->get_parameter("0.weight").to_vector<float>() == Floats(6, 0.5F));
}

TEST_CASE("nn: hooks run around a call, and take its place") {
  const nn::Linear linear(2, 2);
  std::vector<std::string> calls;
  HookHandle before = linear->register_forward_pre_hook([&](nn::Module& m, const nn::Module::Tensors& in) {
    calls.push_back(m.name() + " of " + std::to_string(in.size()));
    return in[0] * 0;
  });
  HookHandle after = linear->register_forward_hook(
      [&](nn::Module&, const nn::Module::Tensors&, const nn::Module::Tensors& out) { return out[0] * 2; });
  const Tensor got = linear(ones({1, 2}));
  CHECK(calls == Names{"Linear of 1"});
  CHECK(got.to_vector<float>() == (linear->bias * 2).to_vector<float>());
  const nn::Sequential net{linear};
  net(ones({1, 2}));
  CHECK(calls.size() == 2);
  before.remove();
  after.remove();
  CHECK(linear(zeros({1, 2})).to_vector<float>() == linear->bias.to_vector<float>());
}

TEST_CASE("nn: parameters are tied by assignment, and counted once") {
  const nn::Embedding table(5, 4);
  const nn::Linear head(4, 5, {.bias = false});
  head->weight = table->weight;
  const nn::Sequential net{table, head};
  CHECK(net->parameters().size() == 1);
  CHECK(net->state_dict().size() == 2);
  net(tensor({1, 2})).sum().backward();
  CHECK(table->weight.grad().defined());
  CHECK(refused<ValueError>([&] {
          head->register_parameter("weight", head->weight * 2);
        }).starts_with("Cannot assign non-leaf Tensor to parameter 'weight'."));
  CHECK(refused<IndexError>([&] { head->register_parameter("a.b", ones({1})); }) == "parameter name can't contain \".\"");
}

TEST_CASE("nn: to, train, apply, zero_grad on all of a network") {
  const Net net;
  const Tensor weight = net->first->weight;
  net->to(float64);
  CHECK(net->first->weight.dtype() == float64);
  CHECK(net->first->weight.impl() == weight.impl());  // optimizers keep what they have
  CHECK(net->seen.dtype() == float64);
  CHECK(refused<TypeError>([&] { net->to(int64); }).starts_with("nn.Module.to only accepts floating point or complex dtypes"));
  net->eval();
  CHECK(!net->second->is_training());
  std::vector<std::string> order;
  net->apply([&](nn::Module& m) {
    order.push_back(m.name());
    if (auto* linear = m.as<nn::Linear>()) nn::init::constant_(linear->weight, 0.5);
  });
  CHECK(order == Names{"Linear", "Linear", "Net"});
  CHECK(net->second->weight.to_vector<double>() == std::vector<double>(3, 0.5));
  net(ones({1, 2}, {float64})).sum().backward();
  CHECK(net->scale.grad().defined());
  net->zero_grad(false);
  CHECK(net->scale.grad().item<double>() == 0);
  net->zero_grad();
  CHECK(!net->scale.grad().defined());
  net->requires_grad_(false);
  CHECK(!net->first->weight.requires_grad());
}

TEST_CASE("nn: a module without forward of one tensor, and numbers, are refused") {
  const nn::ModuleList list{nn::Linear(1, 1)};
  const nn::AnyModule any = list;
  CHECK(refused<NotImplementedError>([&] { any(ones({1})); }) ==
        "Module [ModuleList] is missing the required \"forward\" function");
  CHECK((*list)[0](ones({1})).numel() == 1);
  CHECK(refused<IndexError>([&] { (*list)[1]; }) == "index 1 is out of range");
}

TEST_CASE("nn: gradients clipped and parameters in a row") {
  const Tensor p = tensor({3.0, 4.0}).requires_grad_();
  (p * p).sum().backward();
  CHECK(nn::utils::clip_grad_norm_({p}, 1).item<float>() == 10);
  CHECK(p.grad()(0).item<double>() == Approx(0.6));
  nn::utils::clip_grad_value_({p}, 0.7);
  CHECK(p.grad()(1).item<float>() == 0.7F);
  manual_seed(1);
  const nn::Linear linear(2, 2);
  const Tensor row = nn::utils::parameters_to_vector(linear->parameters());
  CHECK(row(0).item<double>() == Approx(0.364346).epsilon(1e-5));
  CHECK(row(5).item<double>() == Approx(0.424064).epsilon(1e-5));
  nn::utils::vector_to_parameters(arange(6.), linear->parameters());
  CHECK(linear->bias.to_vector<float>() == Floats{4, 5});
}

TEST_CASE("nn: batch norm keeps running statistics, and uses them afterwards") {
  const nn::BatchNorm1d norm(2);
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 6.0}});
  norm(x);
  CHECK(norm->running_mean.to_vector<float>()[1] == Approx(0.4F));
  CHECK(norm->num_batches_tracked.item<std::int64_t>() == 1);
  norm->eval();
  const Floats got = norm(x).to_vector<float>();
  CHECK(got[0] == Approx((1 - 0.2) / std::sqrt(1.1 + 1e-5)).epsilon(1e-5));
  CHECK(norm->num_batches_tracked.item<std::int64_t>() == 1);
}

TEST_CASE("RReLU draws a slope for each element that is not positive, as PyTorch's generator gives them") {
  manual_seed(5);
  Tensor x = tensor({-1., 2., -3., 0., NAN, -4., 5., -6.});
  x.requires_grad_();
  const Tensor y = nn::functional::rrelu(x, 1. / 8, 1. / 3, true);
  y.sum().backward();
  const Floats slopes{0.25875312089920044f, 1, 0.17911623418331146f, 0.20017242431640625f, 1,
                      0.19065262377262115f, 1, 0.18044106662273407f};
  CHECK(floats(x.grad()) == slopes);
  CHECK(y.select(0, 5).item<float>() == -0.7626104950904846f);
  CHECK(rand({1}).item<float>() == 0.6064285635948181f);  // the generator stands where PyTorch's does

  const nn::RReLU layer;
  manual_seed(5);
  CHECK(floats(layer(full({2, 2}, -1.))) ==
        Floats{-0.25875312089920044f, -0.17911623418331146f, -0.20017242431640625f, -0.19065262377262115f});
  layer->eval();
  CHECK(layer(full({1}, -24.)).item<float>() == -5.5f);
  CHECK_THROWS_AS(nn::functional::rrelu(ones({1}, {float16}), 0.1, 0.2, true), NotImplementedError);
  CHECK_THROWS_AS(nn::functional::rrelu(ones({1}), 0.3, 0.2, true), Error);
}

TEST_CASE("nn: full backward hooks see the gradients at a module's borders, and change them") {
  // As PyTorch: y = 3 x by a weight, loss = sum(y): the gradient of y is 1, of x 3.
  nn::Linear linear(1, 1, {.bias = false});
  {
    const NoGradGuard off;
    linear->weight.fill_(3);
  }
  std::vector<Floats> seen;
  HookHandle pre = linear->register_full_backward_pre_hook([&](nn::Module&, const std::vector<Tensor>& out) {
    seen.push_back(floats(out[0]));
    return std::vector<Tensor>{out[0] * 2};
  });
  HookHandle hook =
      linear->register_full_backward_hook([&](nn::Module& m, const std::vector<Tensor>& in, const std::vector<Tensor>& out) {
        CHECK(&m == &*linear);
        seen.push_back(floats(in[0]));
        seen.push_back(floats(out[0]));
        return std::vector<Tensor>{in[0] + 1};
      });
  const Tensor x = tensor({{1.0}, {2.0}}, {float32}).requires_grad_();
  linear(x).sum().backward();
  CHECK(seen == std::vector<Floats>{{1, 1}, {6, 6}, {2, 2}});
  CHECK(floats(x.grad()) == Floats{7, 7});
  CHECK(floats(linear->weight.grad()) == Floats{6});
  // Inputs without a gradient: the hook runs once the gradients of the outputs are there.
  pre.remove();
  hook.remove();
  seen.clear();
  hook = linear->register_full_backward_hook([&](nn::Module&, const std::vector<Tensor>& in, const std::vector<Tensor>& out) {
    CHECK_FALSE(in[0].defined());
    seen.push_back(floats(out[0]));
  });
  linear(x.detach()).sum().backward();
  CHECK(seen == std::vector<Floats>{{1, 1}});
  hook.remove();
  linear->register_full_backward_hook([](nn::Module&, const auto&, const auto&) { return std::vector<Tensor>(2); });
  CHECK(refused([&] { linear(x).sum().backward(); }) ==
        "Backward hook returned an invalid number of grad_input, got 2, but expected 1");
}

TEST_CASE("nn: hooks around a state dict") {
  Net net;
  Names seen;
  net->first->register_state_dict_pre_hook([&](nn::Module&, const std::string& prefix) { seen.push_back("saving " + prefix); });
  net->register_state_dict_post_hook([&](nn::Module&, StateDict& state, const std::string& prefix) {
    seen.push_back("saved " + prefix);
    state.erase("scale");
  });
  net->first->register_load_state_dict_pre_hook([](nn::Module&, StateDict& state, const std::string& prefix) {
    const Tensor kernel = state.at(prefix + "kernel");
    state[prefix + "weight"] = kernel;
    state.erase(prefix + "kernel");
  });
  net->register_load_state_dict_post_hook([](nn::Module&, nn::IncompatibleKeys& keys) { keys.missing.clear(); });
  StateDict state = net->state_dict();
  CHECK(seen == Names{"saving first.", "saved "});
  CHECK_FALSE(state.contains("scale"));
  state["first.kernel"] = ones({3, 2});
  state.erase("first.weight");
  net->load_state_dict(state);  // without the scale, which is missed by nobody
  CHECK(floats(net->first->weight.detach()) == Floats(6, 1));
  CHECK(state.contains("first.kernel"));
}

TEST_CASE("nn: a clone is a module of its own") {
  Net net;
  net->scale = net->second->bias;  // tied
  net->second->bias.set_grad(ones({1}));
  net->eval();
  int calls = 0;
  net->first->register_forward_hook([&](nn::Module&, const auto&, const auto&) { ++calls; });
  manual_seed(5);
  const Tensor drawn = rand({1});
  manual_seed(5);
  const Net copy = nn::clone(net);
  CHECK(floats(rand({1})) == floats(drawn));
  CHECK(copy->str() == net->str());
  CHECK_FALSE(copy->is_training());
  const Tensor x = ones({2, 2});
  CHECK(floats(copy(x).detach()) == floats(net(x).detach()));
  CHECK(calls == 2);
  CHECK(copy->seen.item<float>() == 1);
  CHECK(copy->scale.impl() == copy->second->bias.impl());
  CHECK(floats(copy->second->bias.grad()) == Floats{1});
  {
    const NoGradGuard off;
    copy->first->weight.fill_(0);
  }
  CHECK(floats(net->first->weight.detach()) != floats(copy->first->weight.detach()));
  CHECK(copy->parameters().size() == net->parameters().size());

  const nn::Linear linear(2, 2);
  nn::Sequential list{linear, nn::BatchNorm1d(2), linear, nn::LSTM(2, 3, {.num_layers = 2})};
  list->push_back(nn::Dropout({.p = 0.25}));
  const nn::Sequential other = nn::clone(list);
  CHECK(other->str() == list->str());
  CHECK((*other)[0].ptr() == (*other)[2].ptr());
  CHECK((*other)[0].ptr() != (*list)[0].ptr());
  CHECK(names(other->state_dict()) == names(list->state_dict()));
  const nn::TransformerEncoder transformer(nn::TransformerEncoderLayer(4, 2, {.dim_feedforward = 3}), 2);
  CHECK(nn::clone(transformer)->str() == transformer->str());

  CHECK(nn::clone(Net(std::make_shared<NetImpl>()))->str() == net->str());
  net->first = net->register_module("first", nn::Linear(2, 3, {.bias = false}));
  CHECK(refused([&] { nn::clone(net); }) ==
        "Net cannot be cloned: its constructor makes 'first' a Linear(in_features=2, out_features=3, bias=True), which is a "
        "Linear(in_features=2, out_features=3, bias=False) by now");
}

namespace {

// Of another width than the constructor without arguments gives.
struct WideImpl : nn::Module {
  explicit WideImpl(std::int64_t width = 1) : width(width) {}
  std::string extra_repr() const override { return "width=" + std::to_string(width); }
  Tensor forward(const Tensor& x) { return inner(x); }
  std::int64_t width;
  nn::Linear inner = register_module("inner", nn::Linear(2, width));
};
struct SayingImpl : WideImpl {
  using WideImpl::WideImpl;
  std::shared_ptr<nn::Module> remade() const override { return std::make_shared<SayingImpl>(width); }
};
struct AskingImpl : WideImpl {
  explicit AskingImpl(std::int64_t width) : WideImpl(width) {}
};

}  // namespace

TEST_CASE("nn: what can be cloned") {
  const auto saying = std::make_shared<SayingImpl>(3);
  const std::shared_ptr<SayingImpl> copy = nn::clone(saying);
  CHECK(copy != saying);
  CHECK(copy->width == 3);
  CHECK(floats(copy->inner->weight.detach()) == floats(saying->inner->weight.detach()));
  CHECK(nn::clone(nn::ModuleHolder<SayingImpl>(saying))(ones({1, 2})).sizes() == Sizes{1, 3});
  CHECK(nn::clone(nn::AnyModule(nn::Linear(2, 2)))(ones({1, 2})).sizes() == Sizes{1, 2});
  CHECK(nn::clone(nn::Sequential{nn::ModuleHolder<SayingImpl>(saying)})(ones({1, 2})).sizes() == Sizes{1, 3});
  CHECK(nn::clone(std::make_shared<WideImpl>())->inner(ones({1, 2})).sizes() == Sizes{1, 1});
  CHECK(nn::clone(std::static_pointer_cast<WideImpl>(saying))->width == 3);
  CHECK(refused([] { nn::clone(std::make_shared<AskingImpl>(3)); }) ==
        "Asking cannot be cloned: it was not made by its handle, and does not override remade()");
  CHECK(refused([] { nn::clone(std::make_shared<WideImpl>(3)); }) ==
        "Wide cannot be cloned: made anew it is a Wide(width=1), and not a Wide(width=3)");
  CHECK(refused([] { nn::clone(nn::ModuleHolder<WideImpl>(std::make_shared<WideImpl>(3))); }) ==
        "Wide cannot be cloned: made anew it is a Wide(width=1), and not a Wide(width=3)");
}

TEST_CASE("nn: a clone of none is none") {
  CHECK_FALSE(nn::clone(nn::Linear(nullptr)));
  CHECK_FALSE(nn::clone(nn::Linear(std::shared_ptr<nn::LinearImpl>())));
  CHECK_FALSE(nn::clone(nn::AnyModule()));
  CHECK(nn::clone(std::shared_ptr<WideImpl>()) == nullptr);
}

TEST_CASE("nn: layers of an encoder are copies, for which nothing is drawn") {
  manual_seed(0);
  const nn::TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 3});
  const nn::TransformerEncoder encoder(layer, 2);
  CHECK(floats(rand({2})) == Floats{0x1.b25c6p-3F, 0x1.f0d4f2p-1F});
}
