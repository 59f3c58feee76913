// einsum: labels name dims. Dims that a label names twice become diagonals; then two operands at a time are joined, cheapest pair
// first, by one batched dot (or a product, where nothing is summed). tensordot and bilinear are written in it.
#include <algorithm>
#include <array>
#include <limits>

#include "braze/functions.h"
#include "frontend/autograd/names.h"
#include "frontend/linalg.h"
#include "frontend/source_line.h"
#include "frontend/tensor_impl.h"

namespace braze {

namespace {

constexpr int letters = 52;  // A-Z, a-z; the ellipsis' dims are labels from here on
constexpr int ellipsis_label = -1;
using Labels = std::vector<int>;

std::string label_text(int label) {
  return label >= letters ? "..." : std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
}

struct Operand {
  Tensor tensor;
  Labels labels;  // one a dim, none twice

  std::ptrdiff_t find(int label) const {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? -1 : at - labels.begin();
  }
  std::int64_t size(int label) const {
    const std::ptrdiff_t at = find(label);
    return at < 0 ? 1 : tensor.size(at);
  }
};

bool contains(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

// ---- reading the equation ----

// What stands between commas, "..." as ellipsis_label.
Labels parse_labels(std::string_view text, std::size_t start, std::string_view what) {
  Labels labels;
  bool has_ellipsis = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      require(!has_ellipsis, "einsum(): found '.' for {} for which an ellipsis was already found", what);
      require(text.substr(i, 3) == "...", "einsum(): found '.' for {} that is not part of any ellipsis", what);
      i += 2;
      has_ellipsis = true;
      labels.push_back(ellipsis_label);
      continue;
    }
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    require(upper || lower, "einsum(): invalid subscript given at index {} in the equation string, subscripts must be in [a-zA-Z]",
            start + i);
    labels.push_back(upper ? c - 'A' : 26 + c - 'a');
  }
  return labels;
}

// What is asked for: labels an operand, and of the output where it is written.
struct Equation {
  std::vector<Labels> operands;
  std::optional<Labels> output;
};

Equation parse_equation(std::string_view text, std::size_t operand_count) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  const std::string_view left = text.substr(0, arrow);
  std::size_t start = 0;
  for (;;) {
    const std::size_t comma = std::min(left.find(',', start), left.size());
    require(equation.operands.size() < operand_count, "einsum(): fewer operands were provided than specified in the equation");
    equation.operands.push_back(
        parse_labels(left.substr(start, comma - start), start, fmt::format("operand {}", equation.operands.size())));
    if (comma == left.size()) break;
    start = comma + 1;
  }
  require(equation.operands.size() == operand_count, "einsum(): more operands were provided than specified in the equation");
  if (arrow != std::string_view::npos) equation.output = parse_labels(text.substr(arrow + 2), arrow + 2, "the output");
  return equation;
}

// The operand with the ellipsis spelled out (`most` dims over all operands, aligned at the right) and repeated labels as diagonals.
Operand prepare(const Tensor& tensor, const Labels& written, std::size_t number, std::int64_t most) {
  const std::int64_t given = std::count_if(written.begin(), written.end(), [](int l) { return l != ellipsis_label; });
  const std::int64_t covered = tensor.dim() - given;
  Operand out{tensor, {}};
  std::int64_t dim = 0;
  const auto take = [&](int label) {
    const std::ptrdiff_t before = out.find(label);
    if (before < 0) {
      out.labels.push_back(label);
      ++dim;
      return;
    }
    require<ShapeError>(out.tensor.size(before) == out.tensor.size(dim),
                        "einsum(): subscript {} is repeated for operand {} but the sizes don't match, {} != {}", label_text(label),
                        number, out.tensor.size(dim), out.tensor.size(before));
    out.tensor = out.tensor.diagonal(0, before, dim).movedim(-1, before);
  };
  for (const int label : written) {
    if (label != ellipsis_label) {
      take(label);
      continue;
    }
    for (std::int64_t i = 0; i < covered; ++i) take(static_cast<int>(letters + most - covered + i));
  }
  return out;
}

std::int64_t ellipsis_dims(const Tensor& tensor, const Labels& written, std::size_t number) {
  const std::int64_t given = std::count_if(written.begin(), written.end(), [](int l) { return l != ellipsis_label; });
  if (contains(written, ellipsis_label)) {
    require(given <= tensor.dim(),
            "einsum(): the number of subscripts in the equation ({}) is more than the number of dimensions ({}) for operand {}",
            given, tensor.dim(), number);
    return tensor.dim() - given;
  }
  require(
      given == tensor.dim(),
      "einsum(): the number of subscripts in the equation ({}) does not match the number of dimensions ({}) for operand {} and no "
      "ellipsis was given",
      given, tensor.dim(), number);
  return 0;
}

// The output's labels: as written, or the ellipsis and then what occurs once, in order.
Labels output_labels(const Equation& equation, std::int64_t most) {
  Labels out;
  const auto ellipsis = [&] {
    for (std::int64_t i = 0; i < most; ++i) out.push_back(static_cast<int>(letters + i));
  };
  std::array<int, letters> count{};
  for (const Labels& labels : equation.operands)
    for (const int label : labels)
      if (label != ellipsis_label) ++count[static_cast<std::size_t>(label)];
  if (!equation.output) {
    ellipsis();
    for (int label = 0; label < letters; ++label)
      if (count[static_cast<std::size_t>(label)] == 1) out.push_back(label);
    return out;
  }
  for (const int label : *equation.output) {
    if (label == ellipsis_label) {
      ellipsis();
      continue;
    }
    require(!contains(out, label), "einsum(): output subscript {} appears more than once in the output", label_text(label));
    require(count[static_cast<std::size_t>(label)] > 0,
            "einsum(): output subscript {} does not appear in the equation for any input operand", label_text(label));
    out.push_back(label);
  }
  return out;
}

void require_sizes(const std::vector<Operand>& operands) {
  for (std::size_t n = 0; n < operands.size(); ++n)
    for (const int label : operands[n].labels) {
      std::int64_t seen = 1;
      for (std::size_t before = 0; before < n && seen == 1; ++before) seen = operands[before].size(label);
      const std::int64_t own = operands[n].size(label);
      require<ShapeError>(own == seen || own == 1 || seen == 1,
                          "einsum(): subscript {} has size {} for operand {} which does not broadcast with previously seen size {}",
                          label_text(label), own, n, seen);
    }
}

// ---- joining ----

// Sums the labels that `keep` does not hold; the dtype stays.
Operand sum_out(const Operand& x, const auto& keep) {
  Sizes dims;
  Operand out{x.tensor, {}};
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (keep(x.labels[i]))
      out.labels.push_back(x.labels[i]);
    else
      dims.push_back(static_cast<std::int64_t>(i));
  }
  if (!dims.empty()) out.tensor = x.tensor.sum(dims, false).to(x.tensor.dtype());
  return out;
}

// A dim of one element against a longer one repeats: it goes.
Operand without_repeating(const Operand& x, const Operand& other) {
  Operand out{x.tensor, {}};
  std::int64_t dim = 0;
  for (const int label : x.labels) {
    if (x.size(label) == 1 && other.size(label) > 1) {
      out.tensor = out.tensor.squeeze(dim);
    } else {
      out.labels.push_back(label);
      ++dim;
    }
  }
  return out;
}

// The operand's dims in the order of `labels`; those it lacks have one element.
Tensor arranged(const Operand& x, const Labels& labels) {
  Sizes order;
  for (const int label : labels)
    if (const std::ptrdiff_t at = x.find(label); at >= 0) order.push_back(at);
  Tensor out = x.tensor.permute(order);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (x.find(labels[i]) < 0) out = out.unsqueeze(static_cast<std::int64_t>(i));
  return out;
}

Labels joined(std::initializer_list<const Labels*> lists) {
  Labels out;
  for (const Labels* list : lists) out.insert(out.end(), list->begin(), list->end());
  return out;
}

std::int64_t extent(const Operand& x, const Labels& labels) {
  std::int64_t product = 1;
  for (const int label : labels) product *= x.size(label);
  return product;
}

// Both operands' product, summed over the labels that neither `keep` nor the other operands need. The result's memory has the labels of
// `output` in its order as far as one matrix product allows, as PyTorch's: each side's own, and the second's first where all come first.
Operand join(const Operand& first, const Operand& second, const Labels& output, const auto& keep) {
  Operand a = without_repeating(first, second), b = without_repeating(second, first);
  a = sum_out(a, [&](int label) { return keep(label) || b.find(label) >= 0; });
  b = sum_out(b, [&](int label) { return keep(label) || a.find(label) >= 0; });
  Labels batch, summed, left, right;
  for (const int label : a.labels) (b.find(label) < 0 ? left : keep(label) ? batch : summed).push_back(label);
  for (const int label : b.labels)
    if (a.find(label) < 0) right.push_back(label);
  const auto place = [&](int label) { return std::find(output.begin(), output.end(), label) - output.begin(); };
  const auto earlier = [&](int x, int y) { return place(x) < place(y); };
  for (Labels* side : {&batch, &left, &right}) std::stable_sort(side->begin(), side->end(), earlier);
  if (!summed.empty() && !left.empty() && !right.empty() && place(right.back()) < place(left.front())) {
    std::swap(a, b);
    std::swap(left, right);
  }
  Operand out{{}, joined({&batch, &left, &right})};
  if (summed.empty()) {
    out.tensor = arranged(a, out.labels) * arranged(b, out.labels);
    return out;
  }
  const std::int64_t batches = extent(a, batch), depth = extent(a, summed);
  const Tensor rows = arranged(a, joined({&batch, &left, &summed})).reshape({batches, extent(a, left), depth});
  const Tensor columns = arranged(b, joined({&batch, &summed, &right})).reshape({batches, depth, extent(b, right)});
  Sizes sizes;
  for (const int label : out.labels) sizes.push_back(a.find(label) < 0 ? b.size(label) : a.size(label));
  out.tensor = batched_dot(rows, columns).reshape(sizes);
  return out;
}

// Multiplications that joining two operands takes.
double work(const Operand& a, const Operand& b) {
  double product = 1;
  for (const int label : a.labels) product *= static_cast<double>(std::max(a.size(label), b.size(label)));
  for (const int label : b.labels)
    if (a.find(label) < 0) product *= static_cast<double>(b.size(label));
  return product;
}

std::pair<std::size_t, std::size_t> cheapest_pair(const std::vector<Operand>& operands) {
  std::pair<std::size_t, std::size_t> best{0, 1};
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (std::size_t j = i + 1; j < operands.size(); ++j)
      if (const double w = work(operands[i], operands[j]); w < least) {
        least = w;
        best = {i, j};
      }
  return best;
}

Tensor contract(const Equation& equation, std::span<const Tensor> tensors) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    checked(tensors[i]);
    most = std::max(most, ellipsis_dims(tensors[i], equation.operands[i], i));
  }
  const Labels output = output_labels(equation, most);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < tensors.size(); ++i) operands.push_back(prepare(tensors[i], equation.operands[i], i, most));
  require_sizes(operands);
  while (operands.size() > 1) {
    const auto [i, j] = cheapest_pair(operands);
    const Operand a = operands[i], b = operands[j];
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    const auto keep = [&](int label) {
      return contains(output, label) ||
             std::any_of(operands.begin(), operands.end(), [&](const Operand& o) { return o.find(label) >= 0; });
    };
    operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(i), join(a, b, output, keep));
  }
  Operand last = operands[0];
  Sizes dims;
  Labels kept;
  for (std::size_t i = 0; i < last.labels.size(); ++i) {
    if (contains(output, last.labels[i]))
      kept.push_back(last.labels[i]);
    else
      dims.push_back(static_cast<std::int64_t>(i));
  }
  if (!dims.empty()) last = {last.tensor.sum(dims, false), kept};
  return arranged(last, output);
}

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands, std::source_location where) {
  const SourceLine line(where);
  require<ValueError>(!operands.empty(), "einsum(): must provide at least one operand");
  return contract(parse_equation(equation, operands.size()), operands);
}

Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands, std::source_location where) {
  const SourceLine line(where);
  return einsum(equation, std::span(operands.begin(), operands.size()));
}

Tensor einsum(std::span<const Subscripted> operands, const std::optional<Sizes>& output, std::source_location where) {
  const SourceLine line(where);
  require<ValueError>(!operands.empty(), "einsum(): must provide at least one operand");
  const auto labels = [](const Sizes& list, std::string_view what) {
    Labels out;
    for (const std::int64_t label : list) {
      require(label == einsum_ellipsis || (label >= 0 && label < letters),
              "einsum(): subscript {} of {} is not within the valid range [0, 52)", label, what);
      require(label != einsum_ellipsis || !contains(out, ellipsis_label), "einsum(): {} has more than one ellipsis", what);
      out.push_back(static_cast<int>(label));
    }
    return out;
  };
  Equation equation;
  std::vector<Tensor> tensors;
  for (const Subscripted& s : operands) {
    equation.operands.push_back(labels(s.labels, fmt::format("operand {}", tensors.size())));
    tensors.push_back(s.operand);
  }
  if (output) equation.output = labels(*output, "the output");
  return contract(equation, tensors);
}

// ---- tensordot, bilinear ----

Tensor tensordot(const In& input, const Tensor& other, std::int64_t dims) {
  const SourceLine line(input.where());
  const Tensor& a = tensor_argument(input, "tensordot", "input");
  require(dims >= 0, "tensordot expects dims >= 0, but got dims={}", dims);
  require(dims <= a.dim() && dims <= other.dim(),
          "tensordot expects dims <= ndim_a or ndim_b, but got dims={} for {}-D and {}-D tensors", dims, a.dim(), other.dim());
  Sizes left, right;
  for (std::int64_t i = 0; i < dims; ++i) {
    left.push_back(i - dims);
    right.push_back(i);
  }
  return tensordot(input, other, left, right);
}

Tensor tensordot(const In& input, const Tensor& other, SizesView dims_self, SizesView dims_other) {
  const GradientScope scope(GradientName::ViewBackward0);
  const SourceLine line(input.where());
  const Tensor& first = tensor_argument(input, "tensordot", "input");
  require(dims_self.size() == dims_other.size(), "both dimension lists should have same length");
  require(first.dtype() == other.dtype(), "both inputs should have same dtype");
  // Labels of its own for each dim, shared where dims meet.
  Operand a{first, {}}, b{other, {}};
  for (std::int64_t i = 0; i < first.dim(); ++i) a.labels.push_back(static_cast<int>(i));
  for (std::int64_t i = 0; i < other.dim(); ++i) b.labels.push_back(static_cast<int>(first.dim() + i));
  Labels met;
  for (std::size_t i = 0; i < dims_self.size(); ++i) {
    const std::int64_t left = wrap_dim(dims_self[i], first.dim()), right = wrap_dim(dims_other[i], other.dim());
    require(!contains(met, static_cast<int>(left)), "dim {} appears multiple times in the list of dims", left);
    const std::int64_t m = first.size(left), n = other.size(right);
    require<ShapeError>(m == n || m == 1 || n == 1,
                        "contracted dimensions need to match, but first has size {} in dim {} and second has size {} in dim {}", m,
                        dims_self[i], n, dims_other[i]);
    int& label = b.labels[static_cast<std::size_t>(right)];
    require(label >= first.dim(), "dim {} appears multiple times in the list of dims", right);
    label = static_cast<int>(left);
    met.push_back(label);
  }
  Labels output;
  for (const Labels* labels : {&a.labels, &b.labels})
    for (const int label : *labels)
      if (!contains(met, label)) output.push_back(label);
  const auto keep = [&](int label) { return !contains(met, label); };
  return arranged(join(a, b, output, keep), output);
}

Tensor bilinear(const In& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  const SourceLine line(input1.where());
  const Tensor& a = tensor_argument(input1, "bilinear", "input1");
  require(a.dim() == input2.dim(), "bilinear(): input dimensions do not match: got {} and {}", a.dim(), input2.dim());
  require(weight.dim() == 3, "bilinear(): the weight must have 3 dims, not {}", weight.dim());
  for (std::int64_t i = 0; i + 1 < a.dim(); ++i)
    require<ShapeError>(a.size(i) == input2.size(i), "bilinear(): input batch dimensions do not match at dim {}: got {} and {}", i,
                        a.size(i), input2.size(i));
  require<ShapeError>(a.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size: got {} but expected {}",
                      a.size(-1), weight.size(1));
  require<ShapeError>(input2.size(-1) == weight.size(2),
                      "bilinear(): input2 size does not match weight size: got {} but expected {}", input2.size(-1),
                      weight.size(2));
  require<ShapeError>(!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)),
                      "bilinear(): bias size does not match weight size: got {} but expected {}", bias.defined() ? bias.numel() : 0,
                      weight.size(0));
  const Tensor out = einsum("...i,oij,...j->...o", {a, weight, input2});
  return bias.defined() ? out + bias : out;
}

}  // namespace braze
