// Modules: names, text, order of parameters and initial values as PyTorch 2.15 gives them.
#include "braze/nn.h"

#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

namespace {

template <class E, class F>
std::string refused(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing thrown";
}
std::vector<std::string> names(const auto& named) {
  std::vector<std::string> all;
  for (const auto& [name, value] : named) all.push_back(name);
  return all;
}
using Names = std::vector<std::string>;
using Floats = std::vector<float>;

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
  const nn::Sequential net(nn::Linear(2, 3), nn::Linear(3, 1));
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
