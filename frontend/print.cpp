// A tensor's text, as PyTorch prints it. https://pytorch.org/docs/stable/generated/torch.set_printoptions.html
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <ostream>

#include "braze/autograd.h"
#include "braze/functions.h"
#include "braze/printing.h"
#include "frontend/promotion.h"
#include "frontend/tensor_impl.h"
#include "ir/scalar.h"

namespace braze {

namespace {

struct Style {
  std::int64_t precision = 4, threshold = 1000, edge_items = 3, line_width = 80;
  std::optional<bool> scientific;
};

std::mutex style_mutex;
Style current_style;

Style style_now() {
  std::lock_guard lock(style_mutex);
  return current_style;
}

// Elements where they lie in memory, by offset: of a large tensor only what is shown is touched. Of a complex tensor one part of each.
class Elements {
 public:
  explicit Elements(const Tensor& tensor, std::int64_t part = 0)
      : tensor_(tensor),
        sizes_(tensor.sizes()),
        strides_(tensor.strides()),
        type_(component_type(tensor.dtype())),
        step_(size_of(tensor.dtype())),
        data_(static_cast<const std::byte*>(tensor.data()) + part * size_of(type_)) {}
  bool floating() const { return is_float(type_); }
  double as_double(std::int64_t offset) const { return std::bit_cast<double>(converted(offset, DType::f64)); }
  std::int64_t as_int(std::int64_t offset) const { return static_cast<std::int64_t>(converted(offset, DType::i64)); }
  DType type() const { return type_; }
  const Sizes& sizes() const { return sizes_; }
  const Sizes& strides() const { return strides_; }

 private:
  std::uint64_t converted(std::int64_t offset, DType to) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, data_ + offset * step_, static_cast<std::size_t>(size_of(type_)));
    if (type_ == to) return bits;
    return ir::evaluate({.op = ir::Primitive::convert, .type = to, .from = type_}, bits);
  }
  Tensor tensor_;  // keeps the memory
  Sizes sizes_, strides_;
  DType type_;
  std::int64_t step_;  // bytes from one element to the next
  const std::byte* data_;
};

std::string unsigned_nan(double value, std::string text) { return std::isnan(value) ? "nan" : std::move(text); }

// One width and one notation for all elements.
class Formatter {
 public:
  Formatter(const Elements& elements, std::span<const std::int64_t> shown, const Style& style)
      : elements_(elements), precision_(static_cast<int>(style.precision)) {
    if (!elements.floating()) {
      for (const std::int64_t i : shown) widen(integer_text(i).size());
      return;
    }
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    std::vector<double> values;
    for (const std::int64_t i : shown) {
      const double v = elements.as_double(i);
      if (!std::isfinite(v) || v == 0) continue;
      values.push_back(v);
      smallest = std::min(smallest, std::abs(v));
      largest = std::max(largest, std::abs(v));
      whole_ = whole_ && v == std::ceil(v);
    }
    if (values.empty()) return;
    scientific_ = style.scientific.value_or(largest / smallest > 1000 || largest > 1e8 || (!whole_ && smallest < 1e-4));
    for (const double v : values)
      widen(scientific_ ? fmt::format("{:.{}e}", v, precision_).size()
            : whole_    ? fmt::format("{:.0f}", v).size() + 1
                        : fmt::format("{:.{}f}", v, precision_).size());
  }

  std::int64_t width() const { return width_; }

  std::string text(std::int64_t i) const {
    std::string out;
    if (!elements_.floating()) {
      out = integer_text(i);
    } else {
      const double v = elements_.as_double(i);
      if (scientific_)
        out = unsigned_nan(v, fmt::format("{:.{}e}", v, precision_));
      else if (whole_)
        out = std::isfinite(v) ? fmt::format("{:.0f}.", v) : unsigned_nan(v, fmt::format("{:.0f}", v));
      else
        out = unsigned_nan(v, fmt::format("{:.{}f}", v, precision_));
    }
    return std::string(static_cast<std::size_t>(std::max<std::int64_t>(0, width_ - static_cast<std::int64_t>(out.size()))), ' ') +
           out;
  }

 private:
  void widen(std::size_t width) { width_ = std::max(width_, static_cast<std::int64_t>(width)); }
  std::string integer_text(std::int64_t i) const {
    const std::int64_t v = elements_.as_int(i);
    return elements_.type() == DType::boolean ? (v ? "True" : "False") : fmt::format("{}", v);
  }
  const Elements& elements_;
  int precision_;
  std::int64_t width_ = 1;
  bool whole_ = true, scientific_ = false;
};

// What one element prints as: a number, or two of a complex one, each part with a width and notation of its own.
class ElementText {
 public:
  ElementText(const Formatter& real, const Formatter* imaginary) : real_(real), imaginary_(imaginary) {}
  std::int64_t width() const { return real_.width() + (imaginary_ ? imaginary_->width() + 1 : 0); }
  std::string text(std::int64_t i) const {
    if (!imaginary_) return real_.text(i);
    std::string part = imaginary_->text(i) + "j";
    part.erase(0, part.find_first_not_of(' '));
    return real_.text(i) + (part[0] == '-' ? "" : "+") + part;
  }

 private:
  const Formatter& real_;
  const Formatter* imaginary_;
};

// Which indices of a dim are shown; -1 stands for the dots.
std::vector<std::int64_t> shown_indices(std::int64_t size, bool summarise, std::int64_t edge_items) {
  std::vector<std::int64_t> out;
  const bool dots = summarise && size / 2 >= edge_items && size > 2 * edge_items;
  for (std::int64_t i = 0; i < size; ++i) {
    if (dots && i == edge_items) {
      out.push_back(-1);
      i = size - edge_items;  // the rest is not even looked at
      if (i == size) break;
    }
    out.push_back(i);
  }
  return out;
}

class Printer {
 public:
  Printer(const Tensor& tensor, const Style& style)
      : elements_(tensor), style_(style), summarise_(tensor.numel() > style.threshold) {
    if (is_complex(tensor.dtype())) imaginary_.emplace(tensor, 1);
    collect(0, 0);
  }

  std::string body(std::int64_t indent) const {
    const Formatter real(elements_, shown_, style_);
    if (!imaginary_) return part(ElementText(real, nullptr), 0, 0, indent);
    const Formatter imaginary(*imaginary_, shown_, style_);
    return part(ElementText(real, &imaginary), 0, 0, indent);
  }

 private:
  std::size_t rank() const { return elements_.sizes().size(); }

  // Rank is at most 64: this recursion is over dims, not over data.
  void collect(std::size_t dim, std::int64_t offset) {
    if (dim == rank()) {
      shown_.push_back(offset);
      return;
    }
    for (const std::int64_t i : shown_indices(elements_.sizes()[dim], summarise_, style_.edge_items))
      if (i >= 0) collect(dim + 1, offset + i * elements_.strides()[dim]);
  }

  std::string part(const ElementText& formatter, std::size_t dim, std::int64_t offset, std::int64_t indent) const {
    if (dim == rank()) return formatter.text(offset);
    const std::int64_t size = elements_.sizes()[dim];
    std::vector<std::string> items;
    const bool vector = dim + 1 == rank();
    for (const std::int64_t i : shown_indices(size, summarise_, style_.edge_items))
      items.push_back(i < 0 ? (vector ? " ..." : "...")
                            : part(formatter, dim + 1, offset + i * elements_.strides()[dim], indent + 1));
    const std::string margin(static_cast<std::size_t>(indent) + 1, ' ');
    if (!vector) return fmt::format("[{}]", fmt::join(items, "," + std::string(rank() - dim - 1, '\n') + margin));
    const auto per_line =
        static_cast<std::size_t>(std::max<std::int64_t>(1, (style_.line_width - indent) / (formatter.width() + 2)));
    std::string out = "[";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += i % per_line == 0 ? ",\n" + margin : ", ";
      out += items[i];
    }
    return out + "]";
  }

  Elements elements_;
  std::optional<Elements> imaginary_;
  Style style_;
  bool summarise_;
  std::vector<std::int64_t> shown_;
};

std::string python_tuple(const Sizes& sizes) {
  return sizes.size() == 1 ? fmt::format("({},)", sizes[0]) : fmt::format("({})", fmt::join(sizes, ", "));
}

}  // namespace

std::string Tensor::str() const {
  if (!defined()) return "tensor(undefined)";
  constexpr std::string_view prefix = "tensor(";
  const Style style = style_now();
  const DType type = dtype();
  const bool default_type =
      type == get_default_dtype() || type == complex_type(get_default_dtype()) || type == DType::i64 || type == DType::boolean;
  std::vector<std::string> suffixes;
  std::string text(prefix);
  if (numel() == 0) {
    text += "[]";
    if (dim() != 1) suffixes.push_back("size=" + python_tuple(sizes()));
    if (type != get_default_dtype()) suffixes.push_back(fmt::format("dtype=braze.{}", info(type).torch_name));
  } else {
    text += Printer(resolve_conj(), style).body(static_cast<std::int64_t>(prefix.size()));
    if (!default_type) suffixes.push_back(fmt::format("dtype=braze.{}", info(type).torch_name));
  }
  if (const GradFn made = grad_fn())
    suffixes.push_back(fmt::format("grad_fn=<{}>", made.name().substr(made.name().rfind(':') + 1)));
  else if (requires_grad())
    suffixes.emplace_back("requires_grad=True");
  const std::size_t newline = text.rfind('\n');
  std::size_t last_line = text.size() - (newline == std::string::npos ? std::size_t(-1) : newline) + 1;
  for (const std::string& suffix : suffixes) {
    if (last_line + suffix.size() + 2 > static_cast<std::size_t>(style.line_width)) {
      text += ",\n" + std::string(prefix.size(), ' ') + suffix;
      last_line = prefix.size() + suffix.size();
    } else {
      text += ", " + suffix;
      last_line += suffix.size() + 2;
    }
  }
  return text + ")";
}

void set_printoptions(const PrintOptions& options) {
  const auto profile = options.profile;
  require<ValueError>(profile.empty() || profile == "default" || profile == "short" || profile == "full",
                      "the profile must be default, short or full, not '{}'", profile);
  for (const auto& [name, number] : {std::pair{"precision", options.precision},
                                     {"threshold", options.threshold},
                                     {"edgeitems", options.edgeitems},
                                     {"linewidth", options.linewidth}})
    require<ValueError>(number.value_or(0) >= 0, "set_printoptions: {} must not be negative, got {}", name, number.value_or(0));
  std::lock_guard lock(style_mutex);
  Style& s = current_style;
  if (!profile.empty()) s = {};
  if (profile == "short") s.precision = s.edge_items = 2;
  if (profile == "full") s.threshold = std::numeric_limits<std::int64_t>::max();
  s.precision = options.precision.value_or(s.precision);
  s.threshold = options.threshold.value_or(s.threshold);
  s.edge_items = options.edgeitems.value_or(s.edge_items);
  s.line_width = options.linewidth.value_or(s.line_width);
  s.scientific = options.sci_mode;
}

PrintOptions get_printoptions() {
  const Style s = style_now();
  return {s.precision, s.threshold, s.edge_items, s.line_width, s.scientific, {}};
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << "braze." << info(dtype).torch_name; }
std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }
std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.str(); }

}  // namespace braze
