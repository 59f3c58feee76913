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
  struct Shape {
    DType type;
    Sizes sizes;
  };

  UserGradient(std::span<const Tensor> in, std::span<const Tensor> out, OwnGradient own) : own_(std::move(own)) {
    for (const Tensor& t : in) {
      const bool wanted = t.defined() && t.requires_grad();
      inputs.push_back(wanted ? read_as(*t.impl(), t.dtype(), {}) : engine::Value());
      in_.push_back(t.defined() ? Shape{t.dtype(), t.sizes()} : Shape{DType::f32, {}});
    }
    for (const Tensor& t : out) out_.push_back({t.dtype(), t.sizes()});
  }

  void add_output(const engine::Value& value) { outputs.push_back(value.type_ref()); }
  std::string name() const override { return own_.name; }
  bool reads_values() const override { return true; }
  void release() override {
    if (own_.release) std::exchange(own_.release, nullptr)();
  }

  std::vector<engine::Value> pull(std::span<const engine::Value> cotangents) override {
    const std::vector<Tensor> found = call(own_.backward, given(cotangents, out_));
    // Too many are no error as long as they are undefined.
    bool fits = found.size() >= inputs.size();
    for (std::size_t k = inputs.size(); k < found.size(); ++k) fits = fits && !found[k].defined();
    require(fits, "function {} returned an incorrect number of gradients (expected {}, got {})", own_.name, inputs.size(),
            found.size());
    std::vector<engine::Value> values(inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k] && found[k].defined()) values[k] = fitting(found[k], k);
    return values;
  }

  std::vector<engine::Value> push(std::span<const engine::Value> tangents) override {
    require<NotImplementedError>(
        static_cast<bool>(own_.jvp),
        "You must implement the jvp function for custom autograd.Function to use it with forward mode AD. ({})", own_.name);
    const std::vector<Tensor> found = call(own_.jvp, given(tangents, in_));
    require(found.size() == out_.size(), "Function's jvp returned an invalid number of forward gradients (expected {} but got {})",
            out_.size(), found.size());
    std::vector<engine::Value> values;
    for (std::size_t k = 0; k < out_.size(); ++k) {
      if (found[k].defined())
        require<ShapeError>(
            found[k].sizes() == out_[k].sizes,
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            "supported. Tensor is of size {} while the given forward gradient is of size {}.",
            sizes_text(out_[k].sizes), sizes_text(found[k].sizes()));
      values.push_back(found[k].defined() ? read_as(checked(found[k]), out_[k].type, {}) : engine::Value());
    }
    return values;
  }

 private:
  std::vector<Tensor> given(std::span<const engine::Value> values, std::span<const Shape> shapes) const {
    std::vector<Tensor> tensors;
    for (std::size_t k = 0; k < shapes.size(); ++k)
      tensors.push_back(values[k] ? wrap(values[k], shapes[k].type)
                        : own_.materialize && (is_float(shapes[k].type) || is_complex(shapes[k].type))
                            ? zeros(shapes[k].sizes, {shapes[k].type})
                            : Tensor());
    return tensors;
  }

  std::vector<Tensor> call(const OwnGradient::Map& map, std::span<const Tensor> tensors) {
    struct Running {
      explicit Running(UserGradient* now) : before(std::exchange(running, now)) {}
      ~Running() { running = before; }
      UserGradient* before;
    } const scope(this);
    return map(tensors);
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
                          own_.name, k, sizes_text(given), sizes_text(wanted));
      gradient = (dims.empty() ? gradient : gradient.sum(dims)).reshape(wanted);
    }
    return read_as(checked(gradient), in_[k].type, {});
  }

  OwnGradient own_;
  std::vector<Shape> in_, out_;
};

}  // namespace

std::vector<Tensor> with_gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs, OwnGradient gradient) {
  bool any = false;
  for (const Tensor& t : inputs) any = any || (t.defined() && t.requires_grad());
  if (!any || !is_grad_enabled()) return {outputs.begin(), outputs.end()};
  auto* custom = new UserGradient(inputs, outputs, std::move(gradient));
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
