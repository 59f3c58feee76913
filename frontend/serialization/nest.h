// What an IValue's lists and dicts are inside.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "braze/ivalue.h"

namespace braze::serialization {

// Nothing may be nested deeper: what walks a value recurses.
constexpr int max_depth = 1000;

struct Sequence {
  bool is_tuple = false;
  std::vector<IValue> elements;
};

struct Mapping {
  bool is_ordered = false;  // collections.OrderedDict
  IValue::Items items;
  std::unordered_map<std::string, std::size_t> texts;     // places in items
  std::unordered_map<std::int64_t, std::size_t> numbers;  // bools and whole floats too: as in Python, True is 1 and 1.0
  std::unordered_map<std::string, std::size_t> others;    // by what they are, as text

  // Over the value of an equal key, which stays. Throws TypeError for a key that is a list or dict, or holds one.
  void put(const IValue& key, const IValue& value);
};

// What a pickle may name, beside dtypes.
enum class Function : std::uint8_t {
  rebuild_tensor,
  rebuild_parameter,
  rebuild_from_type,
  tensor_class,
  storage_class,
  size,
  device,
  get_layout,
  ordered_dict,
  counter,
  set,
  byte_array,
  complex,
  encode,
};

}  // namespace braze::serialization
