// Whole derivatives of functions, and the comparison with finite differences.
#include <algorithm>
#include <cmath>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "frontend/tensor_impl.h"

namespace braze::autograd {

namespace {

Tensor fresh(const Tensor& x, bool create_graph) { return create_graph ? x.view_as(x) : x.detach().requires_grad_(); }

// The gradient in `input`, zeros where the output does not depend on it.
Tensor gradient(const Tensor& output, const Tensor& input, const Tensor& v, bool create_graph) {
  if (!output.requires_grad()) return zeros(input.sizes(), {input.dtype()});
  return grad(std::span(&output, 1), std::span(&input, 1), std::span(&v, 1),
              {.retain_graph = true, .create_graph = create_graph, .materialize_grads = true})[0];
}

Sizes joined(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

namespace functional {

Tensor jacobian(const Map& function, const Tensor& input, bool create_graph) {
  const EnableGradGuard on;
  const Tensor x = fresh(input, create_graph), y = function(x), flat = y.reshape({-1});
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < flat.numel(); ++i) rows.push_back(gradient(flat(i), x, {}, create_graph));
  const Sizes sizes = joined(y.sizes(), x.sizes());
  return rows.empty() ? zeros(sizes, {x.dtype()}) : stack(rows, 0).reshape(sizes);
}

Tensor hessian(const Map& function, const Tensor& input, bool create_graph) {
  return jacobian(
      [&](const Tensor& x) {
        const Tensor y = function(x);
        require(y.numel() == 1, "The Tensor returned by the function given to hessian should contain a single element");
        return gradient(y.reshape({}), x, {}, true);
      },
      input, create_graph);
}

std::pair<Tensor, Tensor> vjp(const Map& function, const Tensor& input, const Tensor& v, bool create_graph) {
  const EnableGradGuard on;
  const Tensor x = fresh(input, create_graph), y = function(x);
  require(v.defined() || y.numel() == 1, "The vector v can only be None if the user-provided function returns a single Tensor with a single "
          "element.");
  const Tensor g = gradient(y, x, v, create_graph);
  return {create_graph ? y : y.detach(), g};
}

// Twice in reverse: the gradient in w of the product of w and the Jacobian.
std::pair<Tensor, Tensor> jvp(const Map& function, const Tensor& input, const Tensor& v, bool create_graph) {
  const EnableGradGuard on;
  const Tensor x = fresh(input, create_graph), y = function(x);
  const Tensor w = zeros(y.sizes(), {y.dtype()}).requires_grad_();
  const Tensor g = gradient(y, x, w, true);
  return {create_graph ? y : y.detach(), gradient(g, w, v, create_graph)};
}

std::pair<Tensor, Tensor> hvp(const Map& function, const Tensor& input, const Tensor& v, bool create_graph) {
  const EnableGradGuard on;
  const Tensor x = fresh(input, create_graph), y = function(x);
  require(y.numel() == 1, "The Tensor returned by the function given to hvp should contain a single element");
  const Tensor g = gradient(y.reshape({}), x, {}, true);
  return {create_graph ? y : y.detach(), gradient(g, x, v, create_graph)};
}

}  // namespace functional

namespace {

// d output / d input by central differences: [elements of the input, elements of the output].
std::vector<std::vector<double>> differences(const TensorFunction& function, std::vector<Tensor> inputs, std::size_t which,
                                             std::size_t output, double eps) {
  const NoGradGuard off;
  const Tensor kept = inputs[which].detach().clone(MemoryFormat::contiguous);
  std::vector<double> values = kept.to(DType::f64).to_vector<double>();
  std::vector<std::vector<double>> rows;
  const auto at = [&](std::size_t i, double value) {
    std::vector<double> moved = values;
    moved[i] = value;
    inputs[which] = from_data(moved.data(), kept.sizes()).to(kept.dtype());
    return function(inputs)[output].to(DType::f64).to_vector<double>();
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::vector<double> high = at(i, values[i] + eps), low = at(i, values[i] - eps);
    rows.emplace_back();
    for (std::size_t k = 0; k < high.size(); ++k) rows.back().push_back((high[k] - low[k]) / (2 * eps));
  }
  return rows;
}

std::vector<double> row_of(const Tensor& output, const Tensor& input, std::int64_t element) {
  Tensor v = zeros({output.numel()}, {output.dtype()});
  v(element) = 1;
  return gradient(output, input, v.reshape(output.sizes()), false).to(DType::f64).to_vector<double>();
}

}  // namespace

bool gradcheck(const TensorFunction& function, std::span<const Tensor> inputs, const GradcheckOptions& options) {
  const EnableGradGuard on;
  const auto refuse = [&](const std::string& why) {
    require(!options.raise_exception, "{}", why);
    return false;
  };
  require<ValueError>(std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.requires_grad(); }),
                      "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.");
  const std::vector<Tensor> given(inputs.begin(), inputs.end()), outputs = function(inputs);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!is_float(outputs[o].dtype())) continue;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].requires_grad()) continue;
      const std::vector<std::vector<double>> numerical = differences(function, given, i, o, options.eps);
      for (std::int64_t k = 0; k < outputs[o].numel(); ++k) {
        const std::vector<double> analytical = row_of(outputs[o], inputs[i], k);
        for (std::size_t e = 0; e < analytical.size(); ++e) {
          const double n = numerical[e][static_cast<std::size_t>(k)], a = analytical[e];
          if (std::isnan(n) && std::isnan(a)) return refuse(fmt::format("gradcheck met NaN: output {} with respect to input {}, at {} and {}", o, i, k, e));
          if (!(std::abs(n - a) <= options.atol + options.rtol * std::abs(n)) && n != a)
            return refuse(fmt::format("Jacobian mismatch for output {} with respect to input {},\nnumerical:{}\nanalytical:{}\nat element {} of "
                                      "the output and {} of the input",
                                      o, i, n, a, k, e));
        }
      }
    }
  }
  return true;
}

bool gradgradcheck(const TensorFunction& function, std::span<const Tensor> inputs, const GradcheckOptions& options) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].requires_grad()) wanted.push_back(i);
  const TensorFunction first = [&](std::span<const Tensor> at) {
    const EnableGradGuard on;
    std::vector<Tensor> outputs, in;
    // Without grad mode gradcheck hands over plain tensors.
    std::vector<Tensor> leaves(at.begin(), at.end());
    for (const std::size_t i : wanted) {
      if (!leaves[i].requires_grad()) leaves[i] = leaves[i].detach().requires_grad_();
      in.push_back(leaves[i]);
    }
    for (const Tensor& y : function(leaves))
      if (is_float(y.dtype()) && y.requires_grad()) outputs.push_back(y.sin().sum());
    return grad(outputs, in, {}, {.create_graph = true, .materialize_grads = true});
  };
  return gradcheck(first, inputs, options);
}

}  // namespace braze::autograd
