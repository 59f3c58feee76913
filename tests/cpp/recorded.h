// Nests of values, and whether they are what PyTorch gave (tests/conformance/golden.json, tests/cpp/calls.json).
#pragma once

#include <complex>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "braze/braze.h"

namespace braze::recorded {

class Value {
 public:
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    floating,
    complex,
    text,
    dtype,
    device,
    tensor,
    array,
    tuple,
    list,
    pythons_own
  };

  Value() = default;
  Value(bool v) : kind_(Kind::boolean), integer_(v) {}                                                 // NOLINT
  Value(int v) : kind_(Kind::integer), integer_(v) {}                                                  // NOLINT
  Value(std::int64_t v) : kind_(Kind::integer), integer_(v) {}                                         // NOLINT
  Value(std::size_t v) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(v)) {}               // NOLINT
  Value(double v) : kind_(Kind::floating), floating_(v) {}                                             // NOLINT
  Value(std::complex<double> v) : kind_(Kind::complex), floating_(v.real()), imaginary_(v.imag()) {}   // NOLINT
  Value(const char* v) : kind_(Kind::text), text_(v) {}                                                // NOLINT
  Value(std::string v) : kind_(Kind::text), text_(std::move(v)) {}                                     // NOLINT
  Value(DType v) : kind_(Kind::dtype), dtype_(v) {}                                                    // NOLINT
  Value(const Device& v) : kind_(Kind::device), text_(v.str()) {}                                      // NOLINT
  Value(const Tensor& v) : kind_(Kind::tensor), tensor_(v) {}                                          // NOLINT
  Value(const Picked& v) : Value(v.value()) {}                                                         // NOLINT
  Value(const ValuesAndIndices& v) : Value(Kind::tuple, {v.values, v.indices}) {}                      // NOLINT
  Value(const Sizes& v) : Value(Kind::tuple, std::vector<Value>(v.begin(), v.end())) {}                // NOLINT
  Value(const std::vector<Tensor>& v) : Value(Kind::tuple, std::vector<Value>(v.begin(), v.end())) {}  // NOLINT
  Value(Kind kind, std::vector<Value> items) : kind_(kind), items_(std::move(items)) {}
  // Memory of the host's, which the kit's case has as a NumPy array.
  static Value array(const Tensor& memory) {
    Value v = memory;
    v.kind_ = Kind::array;
    return v;
  }
  // A part of the case's result that is Python's or NumPy's and not the library's, such as the text of an array.
  static Value pythons_own() {
    Value v;
    v.kind_ = Kind::pythons_own;
    return v;
  }

  Kind kind() const { return kind_; }
  std::int64_t integer() const { return integer_; }
  double floating() const { return floating_; }
  double imaginary() const { return imaginary_; }
  const std::string& text() const { return text_; }
  DType dtype() const { return dtype_; }
  const Tensor& tensor() const { return tensor_; }
  const std::vector<Value>& items() const { return items_; }

 private:
  Kind kind_ = Kind::none;
  std::int64_t integer_ = 0;
  double floating_ = 0, imaginary_ = 0;
  std::string text_;
  DType dtype_ = DType::f32;
  Tensor tensor_;
  std::vector<Value> items_;
};

template <class... Ts>
Value tuple(const Ts&... items) {
  return {Value::Kind::tuple, {Value(items)...}};
}
template <class... Ts>
Value list(const Ts&... items) {
  return {Value::Kind::list, {Value(items)...}};
}
Value tolist(const Tensor& tensor);  // nested lists of numbers

// ---- text as Python's print gives it ----
inline std::string str(bool v) { return v ? "True" : "False"; }
inline std::string str(std::int64_t v) { return std::to_string(v); }
inline std::string str(std::string v) { return v; }
inline std::string str(const char* v) { return v; }
// What the library prints, through its stream operators.
template <class T>
std::string str(const T& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}
std::string str(const Sizes& v);

// print that keeps what it prints: p("x", 1); p.text.
struct Paper {
  std::string text;
  template <class... Ts>
  void operator()(const Ts&... items) {
    write({str(items)...});
  }

 private:
  void write(const std::vector<std::string>& parts);
};
// The kit's pair of a program's text and whether it is what the document prints.
inline Value printed(const Paper& p) { return tuple(p.text, true); }

// "raised RuntimeError": what `call` threw, under the name of the class that Python raises for it; words that the message must hold.
std::string raised(const std::function<void()>& call, std::initializer_list<std::string_view> has = {});
// Its message.
std::string message_of(const std::function<void()>& call);

// Empty where `got` is what the kit recorded for this case, else what differs.
std::string difference_from_case(std::string_view group, std::string_view name, const Value& got);
// The same for a call of calls.txt, strides included.
std::string difference_from_call(std::string_view text, const Value& got);
std::size_t recorded_calls();

// Names of the kit's cases that begin so, and of those that the Python module fails (tests/python/not_yet.txt).
std::vector<std::string> kit_cases(std::string_view prefix);
std::vector<std::string> not_yet_cases();

}  // namespace braze::recorded
