#include "braze/ivalue.h"

#include <fmt/format.h>

#include <cmath>

#include "frontend/serialization/nest.h"
#include "ir/error.h"

namespace braze {

using serialization::Mapping;
using serialization::Sequence;

namespace {

// The whole number that a key equals, if it does.
std::optional<std::int64_t> whole(const IValue& key) {
  if (key.is_int()) return key.to_int();
  if (key.is_bool()) return key.to_bool();
  if (!key.is_double() && !key.is_complex()) return std::nullopt;
  const std::complex<double> c = key.to_complex();
  constexpr double limit = 9223372036854775808.0;  // 2^63
  if (c.imag() != 0 || std::trunc(c.real()) != c.real() || c.real() < -limit || c.real() >= limit) return std::nullopt;
  return static_cast<std::int64_t>(c.real());
}

// The same text for equal keys, and for no others; none where no other key is equal, as with NaN.
std::optional<std::string> identity_of(const IValue& key) {
  require<TypeError>(!key.is_list() && !key.is_dict(), "unhashable type: '{}'", key.kind());
  if (const auto number = whole(key)) return fmt::format("i{};", *number);
  if (key.is_double() || key.is_complex()) {
    const std::complex<double> c = key.to_complex();
    if (std::isnan(c.real()) || std::isnan(c.imag())) return std::nullopt;
    return fmt::format("c{:a},{:a};", c.real(), c.imag() + 0.0);
  }
  if (key.is_none()) return "n";
  if (key.is_string()) return fmt::format("s{}:{}", key.to_string().size(), key.to_string());
  if (key.is_bytes()) return fmt::format("b{}:{}", key.to_bytes().size(), key.to_bytes());
  if (key.is_tensor()) return fmt::format("t{};", static_cast<const void*>(key.to_tensor().impl()));
  if (key.is_dtype()) return fmt::format("d{};", static_cast<int>(key.to_dtype()));
  if (key.is_device()) return fmt::format("v{};", key.to_device().str());
  if (!key.is_tuple()) return std::nullopt;
  std::string text = fmt::format("({}:", key.size());
  for (const IValue& element : key.elements()) {
    const std::optional<std::string> each = identity_of(element);
    if (!each) return std::nullopt;
    text += *each;
  }
  return text;
}

}  // namespace

void serialization::Mapping::put(const IValue& key, const IValue& value) {
  const auto place = [&](auto& places, const auto& name) {
    const auto [found, fresh] = places.try_emplace(name, items.size());
    if (fresh)
      items.emplace_back(key, value);
    else
      items[found->second].second = value;
  };
  if (key.is_string())
    place(texts, key.to_string());
  else if (const auto number = whole(key))
    place(numbers, *number);
  else if (const auto identity = identity_of(key))
    place(others, *identity);
  else
    items.emplace_back(key, value);
}

IValue::IValue(std::string_view text) : data_(std::make_shared<const std::string>(text)) {}

IValue::IValue(const StateDict& state) {
  auto map = std::make_shared<Mapping>();
  map->is_ordered = true;
  for (const auto& [name, tensor] : state) map->put(name, tensor);
  data_ = Map(std::move(map));
}

IValue::IValue(std::initializer_list<std::pair<std::string, IValue>> items) : IValue(dict({items.begin(), items.end()})) {}

IValue IValue::list(std::vector<IValue> elements) {
  IValue result;
  result.data_ = List(std::make_shared<const Sequence>(Sequence{false, std::move(elements)}));
  return result;
}

IValue IValue::tuple(std::vector<IValue> elements) {
  IValue result;
  result.data_ = List(std::make_shared<const Sequence>(Sequence{true, std::move(elements)}));
  return result;
}

IValue IValue::dict(const Items& items) {
  auto map = std::make_shared<Mapping>();
  for (const auto& [key, value] : items) map->put(key, value);
  IValue result;
  result.data_ = Map(std::move(map));
  return result;
}

IValue IValue::bytes(std::string_view data) {
  IValue result;
  result.data_ = Bytes{std::make_shared<const std::string>(data)};
  return result;
}

bool IValue::is_list() const {
  const List* list = std::get_if<List>(&data_);
  return list && !(*list)->is_tuple;
}
bool IValue::is_tuple() const {
  const List* list = std::get_if<List>(&data_);
  return list && (*list)->is_tuple;
}

const char* IValue::kind() const {
  constexpr const char* kinds[] = {"NoneType", "bool",  "int",    "float", "complex", "str",     "bytes",
                                   "Tensor",   "dtype", "device", "list",  "dict",    "function"};
  static_assert(std::size(kinds) == std::variant_size_v<Data>);
  return is_tuple() ? "tuple" : kinds[data_.index()];
}

template <class T>
const T& IValue::get(const char* wanted) const {
  const T* found = std::get_if<T>(&data_);
  require<TypeError>(found != nullptr, "expected a value of type {}, but got {}", wanted, kind());
  return *found;
}

bool IValue::to_bool() const { return get<bool>("bool"); }
std::int64_t IValue::to_int() const { return get<std::int64_t>("int"); }
double IValue::to_double() const { return is_int() ? static_cast<double>(to_int()) : get<double>("float"); }
std::complex<double> IValue::to_complex() const {
  return is_int() || is_double() ? to_double() : get<std::complex<double>>("complex");
}
const std::string& IValue::to_string() const { return *get<Text>("str"); }
const std::string& IValue::to_bytes() const { return *get<Bytes>("bytes").data; }
const Tensor& IValue::to_tensor() const { return get<Tensor>("Tensor"); }
DType IValue::to_dtype() const { return get<DType>("dtype"); }
const Device& IValue::to_device() const { return get<Device>("device"); }
const std::vector<IValue>& IValue::elements() const { return get<List>("list or tuple")->elements; }
const IValue::Items& IValue::items() const { return get<Map>("dict")->items; }

StateDict IValue::to_state_dict() const {
  StateDict state;
  for (const auto& [key, value] : items()) {
    require<TypeError>(key.is_string(), "a state dict has names as its keys, not a value of type {}", key.kind());
    require<TypeError>(value.is_tensor(), "a state dict holds tensors; at '{}' there is a value of type {}", key.to_string(),
                       value.kind());
    state[key.to_string()] = value.to_tensor();
  }
  return state;
}

std::size_t IValue::size() const { return is_dict() ? items().size() : elements().size(); }

const IValue* IValue::find(std::string_view key) const {
  const Mapping& map = *get<Map>("dict");
  const auto found = map.texts.find(std::string(key));
  return found == map.texts.end() ? nullptr : &map.items[found->second].second;
}

const IValue* IValue::find(std::int64_t key) const {
  const Mapping& map = *get<Map>("dict");
  const auto found = map.numbers.find(key);
  return found == map.numbers.end() ? nullptr : &map.items[found->second].second;
}

const IValue& IValue::at(std::string_view key) const {
  const IValue* found = find(key);
  require<IndexError>(found != nullptr, "'{}' is not in the dict", key);
  return *found;
}

const IValue& IValue::at(std::int64_t index) const {
  if (is_dict()) {
    const IValue* found = find(index);
    require<IndexError>(found != nullptr, "{} is not in the dict", index);
    return *found;
  }
  const auto count = static_cast<std::int64_t>(elements().size());
  require<IndexError>(index >= -count && index < count, "{} index {} out of range for {} elements", kind(), index, count);
  return elements()[static_cast<std::size_t>(index < 0 ? index + count : index)];
}

}  // namespace braze
