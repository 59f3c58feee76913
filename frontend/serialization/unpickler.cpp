#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "frontend/serialization/nest.h"
#include "frontend/serialization/opcodes.h"
#include "frontend/serialization/pickle.h"
#include "ir/error.h"

namespace braze::serialization {

namespace {

struct Known {
  const char *module, *name;
  Function function;
};
constexpr Known known[] = {
    {"torch._utils", "_rebuild_tensor_v2", Function::rebuild_tensor},
    {"torch._utils", "_rebuild_tensor", Function::rebuild_tensor},
    {"torch._utils", "_rebuild_parameter", Function::rebuild_parameter},
    {"torch._tensor", "_rebuild_from_type_v2", Function::rebuild_from_type},
    {"torch", "Tensor", Function::tensor_class},
    {"torch.nn.parameter", "Parameter", Function::tensor_class},
    {"torch", "Size", Function::size},
    {"torch", "device", Function::device},
    {"torch.serialization", "_get_layout", Function::get_layout},
    {"collections", "OrderedDict", Function::ordered_dict},
    {"collections", "Counter", Function::counter},
    {"builtins", "set", Function::set},
    {"__builtin__", "set", Function::set},
    {"builtins", "bytearray", Function::byte_array},
    {"__builtin__", "bytearray", Function::byte_array},
    {"builtins", "complex", Function::complex},
    {"__builtin__", "complex", Function::complex},
    {"_codecs", "encode", Function::encode},
};

// Characters up to 255 as the bytes of their numbers.
std::string latin1(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80) {
      require((c == 0xc2 || c == 0xc3) && i + 1 < text.size(), "a pickle spells bytes by a character that is none");
      c = static_cast<unsigned char>((c << 6) | (text[++i] & 0x3f));
    }
    bytes.push_back(static_cast<char>(c));
  }
  return bytes;
}

}  // namespace

class Unpickler {
 public:
  Unpickler(std::string_view pickle, Container& container) : bytes_(pickle), container_(container) {}
  Unpickler(const Unpickler&) = delete;
  // Lists may hold themselves or be nested without end, so that those which nobody gets are taken apart one by one.
  ~Unpickler() {
    for (const auto& sequence : sequences_)
      if (!kept_.contains(sequence.get())) sequence->elements.clear();
    for (const auto& mapping : mappings_)
      if (!kept_.contains(mapping.get())) mapping->items.clear();
  }

  IValue run() {
    while (true) {
      const auto opcode = static_cast<Opcode>(take<unsigned char>());
      if (opcode == Opcode::stop) break;
      step(opcode);
    }
    IValue result = pop();
    keep(result);
    return result;
  }

 private:
  using Args = std::span<const IValue>;

  // ---- bytes ----

  std::string_view take_bytes(std::uint64_t count) {
    require(count <= bytes_.size() - at_, "the pickle ends within a value");
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return taken;
  }
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', at_);
    require(end != std::string_view::npos, "the pickle ends within a name");
    const std::string_view line = take_bytes(end - at_);
    ++at_;
    return line;
  }
  // Two's complement, the lowest byte first.
  std::int64_t take_long(std::uint64_t count) {
    const std::string_view digits = take_bytes(count);
    require(count <= 8, "an integer of {} bytes does not fit into 64 bits", count);
    std::uint64_t value = count > 0 && (digits.back() & 0x80) ? ~std::uint64_t{0} : 0;
    std::memcpy(&value, digits.data(), digits.size());
    return static_cast<std::int64_t>(value);
  }

  // ---- the stack ----

  std::size_t base() const { return marks_.empty() ? 0 : marks_.back(); }
  void push(IValue value) { stack_.push_back(std::move(value)); }
  IValue& top() {
    require(stack_.size() > base(), "the pickle takes a value from an empty stack");
    return stack_.back();
  }
  IValue pop() {
    IValue value = std::move(top());
    stack_.pop_back();
    return value;
  }
  std::vector<IValue> pop_many(std::size_t count) {
    require(stack_.size() - base() >= count, "the pickle takes a value from an empty stack");
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<IValue> values(std::make_move_iterator(begin), std::make_move_iterator(stack_.end()));
    stack_.erase(begin, stack_.end());
    return values;
  }
  std::vector<IValue> pop_to_mark() {
    require(!marks_.empty(), "the pickle goes back to a mark that is not there");
    std::vector<IValue> values = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return values;
  }
  void fetch(std::uint32_t number) {
    const auto found = memo_.find(number);
    require(found != memo_.end(), "the pickle fetches what it has not kept: {}", number);
    push(found->second);
  }

  // ---- values ----

  static IValue made(IValue::Data data) {
    IValue value;
    value.data_ = std::move(data);
    return value;
  }
  IValue sequence(bool is_tuple, std::vector<IValue> elements) {
    sequences_.push_back(std::make_shared<Sequence>(Sequence{is_tuple, std::move(elements)}));
    return made(IValue::List(sequences_.back()));
  }
  IValue mapping(bool is_ordered) {
    mappings_.push_back(std::make_shared<Mapping>());
    mappings_.back()->is_ordered = is_ordered;
    return made(IValue::Map(mappings_.back()));
  }
  // Only this reader has made it, as what may be changed.
  Sequence& as_list(const IValue& value) {
    require(value.is_list(), "the pickle appends to a value of type {}", value.kind());
    return const_cast<Sequence&>(*std::get<IValue::List>(value.data_));
  }
  Mapping& as_dict(const IValue& value) {
    require(value.is_dict(), "the pickle puts items into a value of type {}", value.kind());
    return const_cast<Mapping&>(*std::get<IValue::Map>(value.data_));
  }
  void append(std::vector<IValue> values) {
    Sequence& list = as_list(top());
    list.elements.insert(list.elements.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
  }
  void put_items(const std::vector<IValue>& values) {
    require(values.size() % 2 == 0, "the pickle puts a key without a value into a dict");
    Mapping& dict = as_dict(top());
    for (std::size_t i = 0; i < values.size(); i += 2) dict.put(values[i], values[i + 1]);
  }

  IValue named(std::string_view module, std::string_view name) {
    for (const Known& k : known)
      if (module == k.module && name == k.name) return made(IValue::Named{k.function, DType::u8});
    if (module == "torch" || module == "torch.storage")
      if (const auto dtype = storage_dtype(name)) return made(IValue::Named{Function::storage_class, *dtype});
    if (module == "torch")
      if (const auto dtype = dtype_named(name)) return *dtype;
    fail("unsupported global: {}.{} is not among what load knows, and nothing else that a file names is executed", module, name);
  }

  static std::vector<std::int64_t> integers(const IValue& value) {
    std::vector<std::int64_t> result;
    for (const IValue& element : value.elements()) result.push_back(element.to_int());
    return result;
  }

  static Tensor rebuild(Args args) {
    require(args.size() >= 4, "the pickle rebuilds a tensor from {} values", args.size());
    const std::vector<std::int64_t> sizes = integers(args[2]), strides = integers(args[3]);
    const IValue* conjugate = args.size() > 6 && args[6].is_dict() ? args[6].find("conj") : nullptr;
    return rebuild_tensor(args[0].to_tensor(), args[1].to_int(), std::span<const std::int64_t>(sizes),
                          std::span<const std::int64_t>(strides), conjugate && conjugate->to_bool(),
                          args.size() > 4 && args[4].to_bool());
  }

  static Function function_of(const IValue& value) {
    const auto* name = std::get_if<IValue::Named>(&value.data_);
    require(name != nullptr, "the pickle calls a value of type {}", value.kind());
    return name->function;
  }

  // What a call copies, a few bytes of a pickle can ask for again and again.
  template <class Values>
  const Values& copied(const Values& values) {
    copied_ += values.size();
    require(copied_ <= 16 * bytes_.size() + 4096, "the pickle copies its values without end");
    return values;  // NOLINT(bugprone-return-const-ref-from-parameter): what it is given lives as long as the values on the stack
  }

  IValue call(Function function, Args args) {
    const auto want = [&](std::size_t least, std::size_t most) {
      require(args.size() >= least && args.size() <= most, "the pickle calls a function with {} values", args.size());
    };
    switch (function) {
      case Function::rebuild_tensor:
        return rebuild(args);
      case Function::rebuild_parameter: {
        want(2, 3);
        const Tensor data = args[0].to_tensor().detach();
        return Tensor(data).requires_grad_(args[1].to_bool());
      }
      case Function::rebuild_from_type:
        want(4, 4);
        require(function_of(args[1]) == Function::tensor_class, "the pickle makes a tensor of what is no class of tensors");
        require(function_of(args[0]) != Function::rebuild_from_type, "the pickle makes a tensor by what makes none");
        return call(function_of(args[0]), args[2].elements()).to_tensor();
      case Function::size:
        want(1, 1);
        return sequence(true, copied(args[0].elements()));
      case Function::device:
        want(1, 2);
        return args.size() == 1 ? Device(args[0].to_string()) : Device(fmt::format("{}:{}", args[0].to_string(), args[1].to_int()));
      case Function::get_layout:
        want(1, 1);
        return args[0].to_string();
      case Function::ordered_dict:
      case Function::counter: {
        want(0, 1);
        IValue dict = mapping(function == Function::ordered_dict);
        if (args.size() == 1 && args[0].is_dict()) {
          for (const auto& [key, value] : copied(args[0].items())) as_dict(dict).put(key, value);
        } else if (args.size() == 1) {
          for (const IValue& item : copied(args[0].elements())) as_dict(dict).put(item[0], item[1]);
        }
        return dict;
      }
      case Function::set:
        want(0, 1);
        return sequence(false, args.empty() ? std::vector<IValue>() : copied(args[0].elements()));
      case Function::byte_array:
        if (args.empty()) return IValue::bytes("");
        return IValue::bytes(args[0].is_string() ? latin1(copied(args[0].to_string())) : copied(args[0].to_bytes()));
      case Function::complex:
        want(2, 2);
        return std::complex<double>(args[0].to_double(), args[1].to_double());
      case Function::encode:
        want(2, 2);
        require(args[1].to_string() == "latin1" || args[1].to_string() == "latin-1", "_codecs.encode is allowed for bytes alone");
        return IValue::bytes(latin1(copied(args[0].to_string())));
      case Function::tensor_class:
      case Function::storage_class:
        fail("the pickle calls a class of tensors");
    }
    fail("the pickle calls an unknown function");
  }

  IValue persistent(const IValue& id) {
    const std::vector<IValue>& parts = id.elements();
    require(parts.size() == 5 && parts[0].is_string() && parts[0].to_string() == "storage", "an unknown persistent id");
    const auto* name = std::get_if<IValue::Named>(&parts[1].data_);
    require(name && name->function == Function::storage_class, "an unknown class of storages");
    return container_.storage(parts[2].to_string(), name->dtype, parts[4].to_int());
  }

  void step(Opcode opcode) {
    switch (opcode) {
      case Opcode::proto:
        take<std::uint8_t>();
        return;
      case Opcode::frame:
        take<std::uint64_t>();
        return;
      case Opcode::mark:
        return marks_.push_back(stack_.size());
      case Opcode::pop:
        if (!marks_.empty() && marks_.back() == stack_.size())
          marks_.pop_back();
        else
          pop();
        return;
      case Opcode::pop_mark:
        pop_to_mark();
        return;
      case Opcode::dup:
        return push(IValue(top()));
      case Opcode::none:
        return push({});
      case Opcode::newtrue:
        return push(true);
      case Opcode::newfalse:
        return push(false);
      case Opcode::binint:
        return push(take<std::int32_t>());
      case Opcode::binint1:
        return push(take<std::uint8_t>());
      case Opcode::binint2:
        return push(take<std::uint16_t>());
      case Opcode::long1:
        return push(take_long(take<std::uint8_t>()));
      case Opcode::long4:
        return push(take_long(take<std::uint32_t>()));
      case Opcode::binfloat:
        return push(std::bit_cast<double>(__builtin_bswap64(take<std::uint64_t>())));
      case Opcode::short_binstring:
      case Opcode::short_binunicode:
        return push(take_bytes(take<std::uint8_t>()));
      case Opcode::binstring:
      case Opcode::binunicode:
        return push(take_bytes(take<std::uint32_t>()));
      case Opcode::binunicode8:
        return push(take_bytes(take<std::uint64_t>()));
      case Opcode::short_binbytes:
        return push(IValue::bytes(take_bytes(take<std::uint8_t>())));
      case Opcode::binbytes:
        return push(IValue::bytes(take_bytes(take<std::uint32_t>())));
      case Opcode::binbytes8:
      case Opcode::bytearray8:
        return push(IValue::bytes(take_bytes(take<std::uint64_t>())));
      case Opcode::empty_tuple:
        return push(sequence(true, {}));
      case Opcode::tuple1:
        return push(sequence(true, pop_many(1)));
      case Opcode::tuple2:
        return push(sequence(true, pop_many(2)));
      case Opcode::tuple3:
        return push(sequence(true, pop_many(3)));
      case Opcode::tuple:
        return push(sequence(true, pop_to_mark()));
      case Opcode::empty_list:
      case Opcode::empty_set:
        return push(sequence(false, {}));
      case Opcode::append:
        return append(pop_many(1));
      case Opcode::appends:
      case Opcode::additems:
        return append(pop_to_mark());
      case Opcode::empty_dict:
        return push(mapping(false));
      case Opcode::setitem:
        return put_items(pop_many(2));
      case Opcode::setitems:
        return put_items(pop_to_mark());
      case Opcode::binget:
        return fetch(take<std::uint8_t>());
      case Opcode::long_binget:
        return fetch(take<std::uint32_t>());
      case Opcode::binput:
        memo_[take<std::uint8_t>()] = top();
        return;
      case Opcode::long_binput:
        memo_[take<std::uint32_t>()] = top();
        return;
      case Opcode::memoize:
        memo_[static_cast<std::uint32_t>(memo_.size())] = top();
        return;
      case Opcode::global: {
        const std::string_view module = take_line();
        return push(named(module, take_line()));
      }
      case Opcode::stack_global: {
        const std::vector<IValue> names = pop_many(2);
        return push(named(names[0].to_string(), names[1].to_string()));
      }
      case Opcode::reduce: {
        const IValue args = pop(), function = pop();
        return push(call(function_of(function), args.elements()));
      }
      // Of a state dict: its _metadata, which says by which version of a layer it was written.
      case Opcode::build:
        pop();
        as_dict(top());
        return;
      case Opcode::binpersid:
        return push(persistent(pop()));
      case Opcode::stop:
        break;
    }
    fail("the pickle has an opcode that data does not need: {:#04x}", static_cast<unsigned>(opcode));
  }

  // ---- the result ----

  // Throws for a value that holds itself, is nested too deeply, or holds a function or class.
  void keep(const IValue& root) {
    struct Open {
      const void* identity;
      std::vector<const IValue*> parts;
      int height = 0;
    };
    std::unordered_map<const void*, int> heights;  // 0 while it is open
    std::vector<Open> open;
    const auto enter = [&](const IValue& value) {
      require(!std::holds_alternative<IValue::Named>(value.data_), "the file holds a function or class where a value is expected");
      const void* identity = nullptr;
      if (const auto* list = std::get_if<IValue::List>(&value.data_)) identity = list->get();
      if (const auto* map = std::get_if<IValue::Map>(&value.data_)) identity = map->get();
      if (!identity) return 0;
      const auto [found, fresh] = heights.try_emplace(identity, 0);
      if (!fresh) {
        require(found->second > 0, "the file holds a list or dict that holds itself");
        return found->second;
      }
      Open& next = open.emplace_back(Open{identity, {}});
      if (value.is_dict()) {
        for (const auto& [key, item] : value.items()) next.parts.insert(next.parts.end(), {&key, &item});
      } else {
        for (const IValue& element : value.elements()) next.parts.push_back(&element);
      }
      return 0;
    };
    enter(root);
    while (!open.empty()) {
      if (!open.back().parts.empty()) {
        const IValue* part = open.back().parts.back();
        const std::size_t here = open.size() - 1;
        const int height = enter(*part);  // may open another, after which this part is looked at again
        if (open.size() - 1 == here) {
          open[here].height = std::max(open[here].height, height);
          open[here].parts.pop_back();
        }
        continue;
      }
      const int height = open.back().height + 1;
      require(height <= max_depth, "the file holds lists or dicts nested deeper than {}", max_depth);
      heights[open.back().identity] = height;
      open.pop_back();
    }
    // NOLINTNEXTLINE(bugprone-nondeterministic-pointer-iteration-order): into a set
    for (const auto& [identity, _] : heights) kept_.insert(identity);
  }

  std::string_view bytes_;
  Container& container_;
  std::size_t at_ = 0, copied_ = 0;
  std::vector<IValue> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, IValue> memo_;
  std::vector<std::shared_ptr<Sequence>> sequences_;
  std::vector<std::shared_ptr<Mapping>> mappings_;
  std::unordered_set<const void*> kept_;
};

IValue unpickle(std::string_view pickle, Container& container) {
  try {
    return Unpickler(pickle, container).run();
  } catch (const Error& error) {
    fail("the file cannot be loaded: {}", error.what());
  }
}

}  // namespace braze::serialization
