#include <bit>
#include <limits>
#include <unordered_map>
#include <variant>

#include "braze/functions.h"
#include "frontend/serialization/nest.h"
#include "frontend/serialization/opcodes.h"
#include "frontend/serialization/pickle.h"
#include "frontend/tensor_impl.h"
#include "ir/error.h"

namespace braze::serialization {

class Pickler {
 public:
  explicit Pickler(Storages& storages) : storages_(storages) {}

  std::string run(const IValue& value) {
    put(Opcode::proto);
    out_.push_back(2);
    write(value, 0);
    put(Opcode::stop);
    return std::move(out_);
  }

 private:
  void put(Opcode opcode) { out_.push_back(static_cast<char>(opcode)); }
  template <class T>
  void put_little(T value) {  // hosts are little-endian: the runtime asks for x86
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  // What was written before is fetched.
  bool fetch(const void* identity) {
    const auto found = memo_.find(identity);
    if (found == memo_.end()) return false;
    put(Opcode::long_binget);
    put_little(found->second);
    return true;
  }
  void remember(const void* identity) {
    const auto number = static_cast<std::uint32_t>(memo_.size());
    memo_.emplace(identity, number);
    put(Opcode::long_binput);
    put_little(number);
  }

  // `text` is "module\nname\n", a literal: its address is its identity.
  void write_global(const char* text) {
    if (fetch(text)) return;
    put(Opcode::global);
    out_ += text;
    remember(text);
  }
  void write_global(const char* module, std::string_view name) {
    put(Opcode::global);
    out_ += fmt::format("{}\n{}\n", module, name);
  }
  void write_text(std::string_view text) {
    require(text.size() <= std::numeric_limits<std::uint32_t>::max(), "a text of {} bytes is too long to be saved", text.size());
    put(Opcode::binunicode);
    put_little(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  void write_int(std::int64_t value) {
    if (value >= 0 && value < 256) {
      put(Opcode::binint1);
      put_little(static_cast<std::uint8_t>(value));
    } else if (value == static_cast<std::int32_t>(value)) {
      put(Opcode::binint);
      put_little(static_cast<std::int32_t>(value));
    } else {
      put(Opcode::long1);
      out_.push_back(sizeof value);
      put_little(value);
    }
  }
  void write_double(double value) {
    put(Opcode::binfloat);
    put_little(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
  }
  void write_bool(bool value) { put(value ? Opcode::newtrue : Opcode::newfalse); }
  template <class Sizes>
  void write_sizes(const Sizes& sizes) {
    put(Opcode::mark);
    for (const std::int64_t size : sizes) write_int(size);
    put(Opcode::tuple);
  }
  void write_ordered_dict() {
    write_global("collections\nOrderedDict\n");
    put(Opcode::empty_tuple);
    put(Opcode::reduce);
  }

  void write_tensor(const Tensor& given) {
    require(given.defined(), "an undefined tensor cannot be saved");
    if (fetch(given.impl())) return;
    const bool is_conjugate = is_conj(given);
    const Tensor x = is_conjugate ? given.detach().conj() : given;  // what lies in memory
    write_global("torch._utils\n_rebuild_tensor_v2\n");
    put(Opcode::mark);
    put(Opcode::mark);
    write_text("storage");
    write_global("torch", storage_class(x.dtype()));
    write_text(storages_.key_of(x));
    write_text("cpu");
    write_int(x.storage_nbytes() / x.element_size());
    put(Opcode::tuple);
    put(Opcode::binpersid);
    write_int(x.storage_offset());
    write_sizes(x.sizes());
    write_sizes(x.strides());
    write_bool(given.requires_grad());
    write_ordered_dict();
    if (is_conjugate) {
      put(Opcode::empty_dict);
      write_text("conj");
      write_bool(true);
      put(Opcode::setitem);
    }
    put(Opcode::tuple);
    put(Opcode::reduce);
    remember(given.impl());
  }

  void write_bytes(const std::string& bytes) {  // protocol 2 has text alone: a character a byte
    write_global("_codecs\nencode\n");
    std::string text;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80) {
        text.push_back(c);
      } else {
        text.push_back(static_cast<char>(0xc0 | (byte >> 6)));
        text.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
      }
    }
    write_text(text);
    write_text("latin1");
    put(Opcode::tuple2);
    put(Opcode::reduce);
  }

  void write_sequence(const Sequence& sequence, int depth) {
    if (fetch(&sequence)) return;
    if (!sequence.is_tuple) {
      put(Opcode::empty_list);
      remember(&sequence);
    }
    put(sequence.is_tuple && sequence.elements.empty() ? Opcode::empty_tuple : Opcode::mark);
    for (const IValue& element : sequence.elements) write(element, depth + 1);
    if (!sequence.is_tuple)
      put(Opcode::appends);
    else if (!sequence.elements.empty())
      put(Opcode::tuple);
    if (sequence.is_tuple) remember(&sequence);
  }

  void write_mapping(const Mapping& mapping, int depth) {
    if (fetch(&mapping)) return;
    if (mapping.is_ordered)
      write_ordered_dict();
    else
      put(Opcode::empty_dict);
    remember(&mapping);
    put(Opcode::mark);
    for (const auto& [key, value] : mapping.items) {
      write(key, depth + 1);
      write(value, depth + 1);
    }
    put(Opcode::setitems);
  }

  void write(const IValue& value, int depth) {
    require(depth <= max_depth, "lists and dicts nested deeper than {} cannot be saved", max_depth);
    const auto device = [&](const Device& d) {
      write_global("torch\ndevice\n");
      write_text(d.str());
      put(Opcode::tuple1);
      put(Opcode::reduce);
    };
    const auto complex = [&](std::complex<double> z) {
      write_global("__builtin__\ncomplex\n");
      write_double(z.real());
      write_double(z.imag());
      put(Opcode::tuple2);
      put(Opcode::reduce);
    };
    struct Visitor {
      Pickler& self;
      int depth;
      const decltype(device)& write_device;
      const decltype(complex)& write_complex;
      void operator()(std::monostate) { self.put(Opcode::none); }
      void operator()(bool b) { self.write_bool(b); }
      void operator()(std::int64_t i) { self.write_int(i); }
      void operator()(double d) { self.write_double(d); }
      void operator()(std::complex<double> z) { write_complex(z); }
      void operator()(const IValue::Text& text) { self.write_text(*text); }
      void operator()(const IValue::Bytes& bytes) { self.write_bytes(*bytes.data); }
      void operator()(const Tensor& tensor) { self.write_tensor(tensor); }
      void operator()(DType dtype) { self.write_global("torch", info(dtype).torch_name); }
      void operator()(const Device& d) { write_device(d); }
      void operator()(const IValue::List& list) { self.write_sequence(*list, depth); }
      void operator()(const IValue::Map& map) { self.write_mapping(*map, depth); }
      void operator()(IValue::Named) { invariant(false, "a name of a pickle outside its reader"); }
    };
    std::visit(Visitor{*this, depth, device, complex}, value.data_);
  }

  Storages& storages_;
  std::string out_;
  std::unordered_map<const void*, std::uint32_t> memo_;
};

std::string pickle(const IValue& value, Storages& storages) { return Pickler(storages).run(value); }

}  // namespace braze::serialization
