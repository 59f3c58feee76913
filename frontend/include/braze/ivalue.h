// IValue: what a checkpoint holds beside tensors: numbers, text, and lists, tuples and dicts of such, as Python has them. A
// list or dict is never changed once made, so copies share it.
//
//   IValue checkpoint = {{"model", model}, {"optimizer", adam}, {"epoch", 3}};
//   checkpoint["epoch"].to_int();
//   model->load_state_dict(checkpoint["model"]);
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "braze/device.h"
#include "braze/dtype.h"
#include "braze/state_dict.h"
#include "braze/tensor.h"

namespace braze {

class IValue;
namespace serialization {
class Unpickler;
class Pickler;
struct Sequence;
struct Mapping;
enum class Function : std::uint8_t;
}  // namespace serialization

// Modules, their handles and optimizers: they count as their state_dict.
template <class T>
concept HasState = requires(const T& x) { x.state_dict(); } || requires(const T& x) { x->state_dict(); };

class IValue {
 public:
  using Items = std::vector<std::pair<IValue, IValue>>;

  IValue() = default;  // None
  template <class T>
    requires std::is_arithmetic_v<T>
  IValue(T value) {  // NOLINT: as Python, where a number is an object
    if constexpr (std::same_as<T, bool>)
      data_ = value;
    else if constexpr (std::integral<T>)
      data_ = static_cast<std::int64_t>(value);
    else
      data_ = static_cast<double>(value);
  }
  IValue(std::complex<double> value) : data_(value) {}                 // NOLINT
  IValue(std::string_view text);                                       // NOLINT
  IValue(const char* text) : IValue(std::string_view(text)) {}         // NOLINT
  IValue(const std::string& text) : IValue(std::string_view(text)) {}  // NOLINT
  IValue(Tensor tensor) : data_(std::move(tensor)) {}                  // NOLINT
  IValue(DType dtype) : data_(dtype) {}                                // NOLINT
  IValue(Device device) : data_(std::move(device)) {}                  // NOLINT
  IValue(const StateDict& state);                                      // NOLINT: a dict that keeps its order
  IValue(std::initializer_list<std::pair<std::string, IValue>> items);
  template <class T>
    requires std::convertible_to<const T&, IValue>
  IValue(const std::vector<T>& elements) : IValue(list({elements.begin(), elements.end()})) {}  // NOLINT
  template <class T>
    requires HasState<T>
  IValue(const T& x) : IValue(state_of(x)) {}  // NOLINT

  static IValue list(std::vector<IValue> elements);
  static IValue tuple(std::vector<IValue> elements);
  // Of two equal keys the later counts. Throws TypeError for a key that Python could not hash.
  static IValue dict(const Items& items);
  static IValue bytes(std::string_view data);

  bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_double() const { return std::holds_alternative<double>(data_); }
  bool is_complex() const { return std::holds_alternative<std::complex<double>>(data_); }
  bool is_string() const { return std::holds_alternative<Text>(data_); }
  bool is_bytes() const { return std::holds_alternative<Bytes>(data_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(data_); }
  bool is_dtype() const { return std::holds_alternative<DType>(data_); }
  bool is_device() const { return std::holds_alternative<Device>(data_); }
  bool is_list() const;
  bool is_tuple() const;
  bool is_dict() const { return std::holds_alternative<Map>(data_); }

  // Throw TypeError, naming both kinds, where it is something else. An int is taken for a double, and a real number for a
  // complex one.
  bool to_bool() const;
  std::int64_t to_int() const;
  double to_double() const;
  std::complex<double> to_complex() const;
  const std::string& to_string() const;
  const std::string& to_bytes() const;
  const Tensor& to_tensor() const;
  DType to_dtype() const;
  const Device& to_device() const;
  const std::vector<IValue>& elements() const;  // of a list or tuple
  const Items& items() const;                   // of a dict, in its order
  // A dict from names to tensors. Throws TypeError naming a key of something else.
  StateDict to_state_dict() const;

  std::size_t size() const;  // of a list, tuple or dict
  // The value of a key, or an element. Throw IndexError where there is none.
  const IValue& operator[](std::string_view key) const { return at(key); }
  const IValue& operator[](const char* key) const { return at(std::string_view(key)); }
  template <std::integral T>
  const IValue& operator[](T index) const {
    return at(static_cast<std::int64_t>(index));
  }
  // Null where the dict has no such key.
  const IValue* find(std::string_view key) const;
  const IValue* find(std::int64_t key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }

  // As Python calls it: "int", "dict", "NoneType".
  const char* kind() const;

 private:
  friend class serialization::Unpickler;
  friend class serialization::Pickler;
  using Text = std::shared_ptr<const std::string>;
  struct Bytes {
    std::shared_ptr<const std::string> data;
  };
  using List = std::shared_ptr<const serialization::Sequence>;
  using Map = std::shared_ptr<const serialization::Mapping>;
  // A function or class that a pickle names: only while it is read.
  struct Named {
    serialization::Function function;
    DType dtype;
  };
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::complex<double>, Text, Bytes, Tensor, DType, Device,
                            List, Map, Named>;

  template <class T>
  static IValue state_of(const T& x) {
    if constexpr (requires { x.state_dict(); })
      return to_ivalue(x.state_dict());
    else
      return to_ivalue(x->state_dict());
  }
  static IValue to_ivalue(const StateDict& state) { return IValue(state); }
  static IValue to_ivalue(IValue state) { return state; }
  template <class T>
    requires requires(const T& state) { state.to_ivalue(); }
  static IValue to_ivalue(const T& state) {
    return state.to_ivalue();
  }
  template <class T>
  const T& get(const char* wanted) const;
  const IValue& at(std::string_view key) const;
  const IValue& at(std::int64_t index) const;

  Data data_;
};

}  // namespace braze
