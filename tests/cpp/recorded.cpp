#include "tests/cpp/calls.h"
#include "tests/cpp/snippet.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "ir/half.h"

namespace braze::recorded {

namespace {

using nlohmann::json;

json read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return json::parse(in);
}

std::vector<std::byte> from_base64(std::string_view text) {
  std::vector<std::byte> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    int digit = 0;
    if (c >= 'A' && c <= 'Z')
      digit = c - 'A';
    else if (c >= 'a' && c <= 'z')
      digit = c - 'a' + 26;
    else if (c >= '0' && c <= '9')
      digit = c - '0' + 52;
    else if (c == '+')
      digit = 62;
    else if (c == '/')
      digit = 63;
    else
      break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count & 0xff));
  }
  return bytes;
}

// ---- numbers ----

// What a NumPy array of these bytes holds. `type` is NumPy's: "<f4".
template <class To>
std::vector<To> numbers(std::string_view type, const std::vector<std::byte>& bytes) {
  std::vector<To> out;
  const auto read = [&]<class From>(From, auto convert) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(From)) {
      From element;
      std::memcpy(&element, bytes.data() + at, sizeof element);
      out.push_back(static_cast<To>(convert(element)));
    }
  };
  const auto same = [](auto x) { return x; };
  if (type == "<f4")
    read(float(), same);
  else if (type == "<f8")
    read(double(), same);
  else if (type == "<f2")
    read(std::uint16_t(), [](std::uint16_t x) { return to_f32(Float16{x}); });
  else if (type == "bf16")
    read(std::uint16_t(), [](std::uint16_t x) { return to_f32(BFloat16{x}); });
  else if (type == "<i8")
    read(std::int64_t(), same);
  else if (type == "<i4")
    read(std::int32_t(), same);
  else if (type == "<i2")
    read(std::int16_t(), same);
  else if (type == "|i1")
    read(std::int8_t(), same);
  else if (type == "|u1" || type == "|b1")
    read(std::uint8_t(), same);
  else
    throw std::runtime_error("no reader for arrays of type " + std::string(type));
  return out;
}

// NumPy's name of a dtype, of a complex one's parts; it has none for bfloat16, of which the kit records float32.
std::string numpy_type(DType dtype) {
  if (dtype == DType::bf16) return "bf16";
  if (dtype == DType::boolean) return "|b1";
  if (is_complex(dtype)) return dtype == complex64 ? "<f4" : "<f8";
  const char kind = is_float(dtype) ? 'f' : is_signed(dtype) ? 'i' : 'u';
  return fmt::format("{}{}{}", size_of(dtype) == 1 ? '|' : '<', kind, size_of(dtype));
}

struct Tolerance {
  double relative, absolute;
};
Tolerance tolerance_of(std::string_view dtype) {
  if (dtype == "float32" || dtype == "complex64") return {1e-5, 1e-6};
  if (dtype == "float64" || dtype == "complex128") return {1e-12, 1e-12};
  if (dtype == "float16") return {2e-3, 2e-3};
  if (dtype == "bfloat16") return {1.6e-2, 1e-2};
  return {0, 0};
}

bool alike(double recorded, double got, Tolerance t) {
  if (std::isnan(recorded) || std::isnan(got)) return std::isnan(recorded) && std::isnan(got);
  if (recorded == got) return true;
  return std::isfinite(recorded) && std::isfinite(got) && std::abs(recorded - got) <= t.absolute + t.relative * std::abs(recorded);
}

std::string join(const auto& numbers) {
  std::string text;
  for (const auto& n : numbers) text += (text.empty() ? "" : ", ") + fmt::format("{}", n);
  return "[" + text + "]";
}

std::string compare_array(const json& recorded, const Tensor& got, std::string_view dtype, const std::string& at) {
  if (recorded[1].get<Sizes>() != got.sizes())
    return fmt::format("{}shape {}, expected {}", at, join(got.sizes()), join(recorded[1].get<Sizes>()));
  std::string type = recorded[0];
  if (type == "<c8" || type == "<c16") type = type == "<c8" ? "<f4" : "<f8";
  const std::vector<std::byte> bytes = from_base64(recorded[2]["b"].get<std::string>());
  std::vector<std::byte> ours(static_cast<std::size_t>(got.nbytes()));
  got.copy_to(ours.data(), got.dtype());
  const std::string our_type = numpy_type(got.dtype());
  const auto first_difference = [&](const auto& expected, const auto& values, auto same) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!same(expected[i], values[i])) return fmt::format("{}element {} is {}, expected {}", at, i, values[i], expected[i]);
    return std::string();
  };
  if (type.find('f') != std::string::npos) {
    const Tolerance t = tolerance_of(dtype);
    return first_difference(numbers<double>(type, bytes), numbers<double>(our_type, ours),
                            [&](double a, double b) { return alike(a, b, t); });
  }
  return first_difference(numbers<std::int64_t>(type, bytes), numbers<std::int64_t>(our_type, ours), std::equal_to<>());
}

// ---- nests ----

const char* name_of(Value::Kind kind) {
  constexpr const char* names[] = {"none",   "bool",   "int",     "float", "complex", "str", "dtype",
                                   "device", "tensor", "ndarray", "tuple", "list",    "any"};
  return names[static_cast<std::size_t>(kind)];
}

// braze.float32 counts as torch.float32.
std::string with_torchs_name(std::string text) {
  for (std::size_t at = 0; (at = text.find("braze.", at)) != std::string::npos;) text.replace(at, 6, "torch.");
  return text;
}

double number(const json& x) {
  if (!x.is_object()) return x.get<double>();
  const std::string text = x["f"];
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

std::string compare(const json& recorded, const Value& got, const std::string& at) {
  using Kind = Value::Kind;
  if (got.kind() == Kind::pythons_own) return "";
  const std::string kind = recorded[0];
  if (kind != name_of(got.kind()))
    return fmt::format("{}a {}, expected {}", at, name_of(got.kind()), recorded.dump().substr(0, 200));
  const auto differ = [&](const auto& ours, const auto& theirs) {
    return ours == theirs ? std::string() : fmt::format("{}{}, expected {}", at, ours, theirs);
  };
  switch (got.kind()) {
    case Kind::boolean:
      return differ(got.integer() != 0, recorded[1].get<bool>());
    case Kind::integer:
      return differ(got.integer(), recorded[1].get<std::int64_t>());
    case Kind::floating:
      return alike(number(recorded[1]), got.floating(), tolerance_of("float32"))
                 ? ""
                 : fmt::format("{}{}, expected {}", at, got.floating(), number(recorded[1]));
    case Kind::complex:
      for (const auto& [part, ours] : {std::pair{1, got.floating()}, {2, got.imaginary()}})
        if (!alike(number(recorded[part]), ours, tolerance_of("float32")))
          return fmt::format("{}{}, expected {}", at, ours, number(recorded[part]));
      return "";
    case Kind::text:
      return differ(with_torchs_name(got.text()), recorded[1].get<std::string>());
    case Kind::device:
      return differ(got.text(), recorded[1].get<std::string>());
    case Kind::dtype:
      return differ(std::string(info(got.dtype()).torch_name), recorded[1].get<std::string>());
    case Kind::tensor:
    case Kind::array: {
      const std::string dtype(info(got.tensor().dtype()).torch_name);
      if (dtype != recorded[1]) return fmt::format("{}dtype {}, expected {}", at, dtype, recorded[1].get<std::string>());
      const std::string why = compare_array(recorded[3], got.tensor(), dtype, at);
      if (!why.empty() || got.kind() == Kind::array) return why;
      if (recorded.size() > 4 && recorded[4].get<Sizes>() != got.tensor().strides())
        return fmt::format("{}strides {}, expected {}", at, join(got.tensor().strides()), join(recorded[4].get<Sizes>()));
      return differ(got.tensor().requires_grad(), recorded[2].get<bool>());
    }
    case Kind::tuple:
    case Kind::list: {
      const json& items = recorded[1];
      if (items.size() != got.items().size()) return fmt::format("{}{} items, expected {}", at, got.items().size(), items.size());
      for (std::size_t i = 0; i < items.size(); ++i)
        if (std::string why = compare(items[i], got.items()[i], fmt::format("{}[{}] ", at, i)); !why.empty()) return why;
      return "";
    }
    default:
      return "";
  }
}

const json& golden() {
  static const json file = read_file(BRAZE_SOURCE_DIR "/tests/conformance/golden.json")["cases"];
  return file;
}

const json& calls() {
  static const json file = read_file(BRAZE_SOURCE_DIR "/tests/cpp/calls.json");
  return file;
}

Value nested(const Tensor& tensor) {
  if (tensor.dim() > 0) {
    std::vector<Value> items;
    for (const Tensor& row : tensor.unbind()) items.push_back(nested(row));
    return {Value::Kind::list, items};
  }
  if (is_float(tensor.dtype())) return tensor.item<double>();
  return tensor.dtype() == DType::boolean ? Value(tensor.item<bool>()) : Value(tensor.item<std::int64_t>());
}

}  // namespace

Value tolist(const Tensor& tensor) { return nested(tensor); }

std::string str(const Sizes& v) { return "torch.Size(" + join(v) + ")"; }

void Paper::write(const std::vector<std::string>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i ? " " : "") + parts[i];
  text += "\n";
}

std::string raised(const std::function<void()>& call, std::initializer_list<std::string_view> has) {
  std::string message, name;
  try {
    call();
    return "raised nothing";
  } catch (const IndexError& e) {
    message = e.what(), name = "IndexError";
  } catch (const TypeError& e) {
    message = e.what(), name = "TypeError";
  } catch (const ValueError& e) {
    message = e.what(), name = "ValueError";
  } catch (const NotImplementedError& e) {
    message = e.what(), name = "NotImplementedError";
  } catch (const Error& e) {
    message = e.what(), name = "RuntimeError";
  }
  for (const std::string_view word : has)
    if (message.find(word) == std::string::npos) return fmt::format("raised {}, message lacks {}: {}", name, word, message);
  return "raised " + name;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

std::string difference_from_case(std::string_view group, std::string_view name, const Value& got) {
  return compare(golden().at(fmt::format("{}/{}", group, name))["result"], got, "");
}

std::string difference_from_call(std::string_view text, const Value& got) {
  const auto found = calls()["calls"].find(std::string(text));
  return found == calls()["calls"].end() ? "not recorded: run tests/cpp/calls.py record" : compare(*found, got, "");
}

std::size_t recorded_calls() { return calls()["calls"].size(); }

Tensor input(const char* name) {
  const json& recorded = calls()["inputs"].at(name);
  const std::vector<std::byte> bytes = from_base64(recorded[3][2]["b"].get<std::string>());
  const auto sizes = recorded[3][1].get<Sizes>(), strides = recorded[4].get<Sizes>();
  DType dtype = DType::boolean;
  for (const DType t : surface_dtypes)
    if (info(t).torch_name == recorded[1].get<std::string>()) dtype = t;
  const Tensor dense = from_bytes(bytes.data(), sizes, dtype);
  if (dense.strides() == strides) return dense;
  Tensor laid_out = empty_strided(sizes, strides, {dtype});
  laid_out.copy_(dense);
  return laid_out.eval();
}

std::vector<std::string> kit_cases(std::string_view prefix) {
  std::vector<std::string> names;
  for (const auto& [name, recorded] : golden().items())
    if (name.starts_with(prefix)) names.push_back(name);
  return names;
}

std::vector<std::string> not_yet_cases() {
  std::ifstream in(BRAZE_SOURCE_DIR "/tests/python/not_yet.txt");
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);)
    if (std::string name = line.substr(0, line.find_first_of(" #")); !name.empty()) names.push_back(name);
  return names;
}

Snippet::Snippet(const char* group, const char* name) { snippets().push_back(fmt::format("{}/{}", group, name)); }

std::vector<std::string>& snippets() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace braze::recorded
