// Functions with a derivative of their own.
#include <cxxabi.h>

#include <cstdlib>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "frontend/autograd/tracking.h"

namespace braze::autograd {

namespace {

class UserGradient;
thread_local UserGradient* running = nullptr;  // whose backward is being called

class UserGradient final : public CustomGradient {
 public:
  using Backward = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
  struct Shape {
    DType type;
    Sizes sizes;
  };

  UserGradient(std::span<const Tensor> in, std::span<const Tensor> out, std::string name, Backward backward,
               std::function<void()> release, bool materialize)
      : materialize_(materialize), name_(std::move(name)), backward_(std::move(backward)), release_(std::move(release)) {
    for (const Tensor& t : in) {
      const bool wanted = t.defined() && t.requires_grad();
      inputs.push_back(wanted ? read_as(*t.impl(), t.dtype(), {}) : engine::Value());
      in_.push_back(t.defined() ? Shape{t.dtype(), t.sizes()} : Shape{DType::f32, {}});
    }
    for (const Tensor& t : out) out_.push_back({t.dtype(), t.sizes()});
  }

  void add_output(const engine::Value& value) { outputs.push_back(value.type_ref()); }
  std::string name() const override { return name_; }
  bool reads_values() const override { return true; }
  void release() override {
    if (release_) std::exchange(release_, nullptr)();
  }

  std::vector<engine::Value> pull(std::span<const engine::Value> cotangents) override {
    std::vector<Tensor> gradients;
    for (std::size_t k = 0; k < out_.size(); ++k)
      gradients.push_back(cotangents[k]  ? wrap(cotangents[k], out_[k].type)
                          : materialize_ ? zeros(out_[k].sizes, {out_[k].type})
                                         : Tensor());
    const std::vector<Tensor> found = call(gradients);
    // Too many are no error as long as they are undefined.
    bool fits = found.size() >= inputs.size();
    for (std::size_t k = inputs.size(); k < found.size(); ++k) fits = fits && !found[k].defined();
    require(fits, "function {} returned an incorrect number of gradients (expected {}, got {})", name_, inputs.size(),
            found.size());
    std::vector<engine::Value> values(inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k] && found[k].defined()) values[k] = fitting(found[k], k);
    return values;
  }

 private:
  std::vector<Tensor> call(std::span<const Tensor> gradients) {
    struct Running {
      explicit Running(UserGradient* now) : before(std::exchange(running, now)) {}
      ~Running() { running = before; }
      UserGradient* before;
    } const scope(this);
    return backward_(gradients);
  }

  // Of the input's sizes, where it is what the input would broadcast to.
  engine::Value fitting(Tensor gradient, std::size_t k) const {
    const Sizes& wanted = in_[k].sizes;
    const Sizes given = gradient.sizes();
    if (given != wanted) {
      Sizes dims;
      bool fits = given.size() >= wanted.size();
      const std::size_t added = fits ? given.size() - wanted.size() : 0;
      for (std::size_t i = 0; fits && i < given.size(); ++i) {
        if (i < added || (wanted[i - added] == 1 && given[i] != 1))
          dims.push_back(static_cast<std::int64_t>(i));
        else
          fits = wanted[i - added] == given[i];
      }
      require<ShapeError>(fits,
                          "Function {} returned an invalid gradient at index {} - got {} but expected shape compatible with {}",
                          name_, k, sizes_text(given), sizes_text(wanted));
      gradient = (dims.empty() ? gradient : gradient.sum(dims)).reshape(wanted);
    }
    return read_as(checked(gradient), in_[k].type, {});
  }

  bool materialize_;
  std::string name_;
  Backward backward_;
  std::function<void()> release_;
  std::vector<Shape> in_, out_;
};

}  // namespace

std::vector<Tensor> with_gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::string name,
                                  std::function<std::vector<Tensor>(std::span<const Tensor>)> backward,
                                  std::function<void()> release, bool materialize) {
  bool any = false;
  for (const Tensor& t : inputs) any = any || (t.defined() && t.requires_grad());
  if (!any || !is_grad_enabled()) return {outputs.begin(), outputs.end()};
  auto* custom = new UserGradient(inputs, outputs, std::move(name), std::move(backward), std::move(release), materialize);
  std::vector<Tensor> results;
  for (std::uint32_t k = 0; k < outputs.size(); ++k) {
    const DType type = outputs[k].dtype();
    engine::Value value;
    {
      const NoGradGuard off;
      value = read_as(checked(outputs[k]), type, {});
    }
    custom->add_output(value);
    results.push_back(is_float(type) || is_complex(type) ? wrap(engine::identity(value, true, new CustomOutput(custom, k)), type)
                                                         : outputs[k]);
  }
  custom->drop();
  return results;
}

Tensor output_again(const Tensor& output, std::uint32_t number) {
  if (!running || !is_grad_enabled()) return output;
  const DType type = output.dtype();
  return wrap(engine::identity(read_as(checked(output.detach()), type, {}), true, new CustomOutput(running, number)), type);
}

const std::vector<Tensor>& Context::saved_tensors() const {
  require(
      !released_,
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
      "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
      "you need to backward through the graph a second time or if you need to access saved tensors after calling backward.");
  return saved_;
}

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type.name();
  std::free(text);
  name = name.substr(0, name.find('<'));  // without a template's arguments
  return name.substr(name.rfind(':') + 1);
}

}  // namespace braze::autograd
