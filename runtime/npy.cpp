#include "runtime/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "ir/error.h"
#include "ir/extent.h"
#include "runtime/os.h"

namespace braze::runtime {

namespace {

static_assert(std::endian::native == std::endian::little, "the type codes below are for little-endian machines");

struct TypeCode {
  std::string_view code;  // without the byte order
  DType type;
};
constexpr std::array<TypeCode, 9> type_codes = {{{"b1", DType::boolean},
                                                 {"u1", DType::u8},
                                                 {"i1", DType::i8},
                                                 {"i2", DType::i16},
                                                 {"i4", DType::i32},
                                                 {"i8", DType::i64},
                                                 {"f2", DType::f16},
                                                 {"f4", DType::f32},
                                                 {"f8", DType::f64}}};

struct Header {
  std::string descr;
  bool structured = false;  // descr is a list of fields
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

// The literal of a Python dict with exactly the keys descr, fortran_order and shape, and nothing else of Python.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {
    while (!text_.empty() && (text_.back() == '\n' || text_.back() == ' ')) text_.remove_suffix(1);
  }

  Header parse() {
    expect('{');
    bool descr = false, order = false, shape = false;
    while (!accept('}')) {
      const std::size_t start = skip_space();
      const std::string key = string();
      expect(':');
      if (key == "descr" && !std::exchange(descr, true))
        parse_descr();
      else if (key == "fortran_order" && !std::exchange(order, true))
        header_.fortran_order = boolean();
      else if (key == "shape" && !std::exchange(shape, true))
        parse_shape();
      else
        error(start, "expected each of the keys 'descr', 'fortran_order' and 'shape' once, found '" + printable(key) + "'");
      if (!accept(',')) {
        expect('}', "',' or '}'");
        break;
      }
    }
    if (skip_space() != text_.size()) error(at_, "expected nothing after '}'");
    if (!descr || !order || !shape) error(at_, "expected the keys 'descr', 'fortran_order' and 'shape'");
    return std::move(header_);
  }

 private:
  std::size_t skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    return at_;
  }
  bool accept(char c) {
    if (skip_space() == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, std::string_view what = {}) {
    if (!accept(c)) error(at_, "expected " + (what.empty() ? fmt::format("'{}'", c) : std::string(what)) + ", found " + found());
  }
  std::string found() const {
    return at_ < text_.size() ? "'" + printable(text_.substr(at_, 1)) + "'" : std::string("the end of the header");
  }

  std::string string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') error(at_, "expected a string, found " + found());
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) error(at_, "expected a string, found no closing quote");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) error(at_, "expected a string without escapes");
    at_ = end + 1;
    return std::string(inside);
  }

  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    error(at_, "expected True or False, found " + found());
  }

  // A list of fields, or a tuple that says a base type and a shape, is read over: the caller refuses both.
  void parse_descr() {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '[' && text_[at_] != '(')) {
      header_.descr = string();
      return;
    }
    header_.structured = true;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '[' || text_[at_] == '(') ++depth;
      if ((text_[at_] == ']' || text_[at_] == ')') && --depth == 0) break;
    }
    if (at_ == text_.size()) error(at_, "expected ']', found the end of the header");
    ++at_;
  }

  std::int64_t integer() {
    skip_space();
    const std::size_t start = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        error(start, "a size that does not fit 64 bits");
    if (at_ == start) error(at_, "expected a size, found " + found());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote it
    return value;
  }

  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      if (header_.shape.size() == static_cast<std::size_t>(ir::max_rank))
        error(at_, fmt::format("more than {} axes", ir::max_rank));
      header_.shape.push_back(integer());
      if (accept(',')) continue;
      if (header_.shape.size() == 1) error(at_, "expected ',', found " + found() + ": (3) is no tuple, (3,) is");
      expect(')', "',' or ')'");
      break;
    }
  }

  [[noreturn]] void error(std::size_t at, const std::string& message) const {
    const int column = static_cast<int>(at) + 1;
    const std::size_t first = at > 60 ? at - 60 : 0;  // a hostile header may be long
    throw ParseError(fmt::format("{}: header, column {}: {}\n  {}\n  {}^", path_, column, message,
                                 printable(text_.substr(first, 120)), std::string(at - first, ' ')),
                     1, column);
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  Header header_;
};

// Where the header's text and the data stand in the file.
struct Sections {
  std::string_view header;
  std::size_t data;
};
Sections find_sections(std::string_view file, const std::string& path) {
  constexpr std::string_view magic = "\x93NUMPY";
  require<ValueError>(file.starts_with(magic), "{}: not a .npy file: it does not begin with \\x93NUMPY", path);
  require<ValueError>(file.size() >= magic.size() + 2, "{}: truncated in the header", path);
  const int major = static_cast<unsigned char>(file[6]), minor = static_cast<unsigned char>(file[7]);
  require<ValueError>(major >= 1 && major <= 3 && minor == 0, "{}: .npy format version {}.{}; versions 1.0, 2.0 and 3.0 are known",
                      path, major, minor);
  const std::size_t width = major == 1 ? 2 : 4, start = magic.size() + 2 + width;
  require<ValueError>(file.size() >= start, "{}: truncated in the header", path);
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i) length |= std::size_t{static_cast<unsigned char>(file[start - width + i])} << (8 * i);
  require<ValueError>(file.size() - start >= length, "{}: truncated in the header: {} bytes of {} are there", path,
                      file.size() - start, length);
  return {file.substr(start, length), start + length};
}

struct Element {
  DType type;
  bool swapped;
};
Element element_of(const Header& header, const std::string& path) {
  require<TypeError>(!header.structured, "{}: structured arrays are not supported; save one field at a time", path);
  const std::string_view descr = header.descr;
  constexpr std::string_view orders = "<>=|";
  if (descr.size() >= 2 && orders.find(descr[0]) != std::string_view::npos)
    for (const TypeCode& known : type_codes)
      if (known.code == descr.substr(1)) return {known.type, descr[0] == '>' && size_of(known.type) > 1};
  require<TypeError>(descr.find('O') == std::string_view::npos, "{}: arrays of Python objects ('{}') are not loaded", path,
                     printable(descr));
  fail<TypeError>("{}: dtype '{}' is not supported; bool, uint8, int8, int16, int32, int64, float16, float32 and float64 are", path,
                  printable(descr));
}

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& sizes, bool fortran_order) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t axis = fortran_order ? i : sizes.size() - 1 - i;
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(sizes[axis], 1);
  }
  return strides;
}

bool is_dense(const Array& array) {
  const std::vector<std::int64_t> dense = strides_of(array.sizes, false);
  if (std::ranges::count(array.sizes, 0) > 0) return true;
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (array.sizes[i] != 1 && array.strides[i] != dense[i]) return false;
  return true;
}

template <std::size_t size>
void copy_swapped(char* to, const char* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i, to += size, from += size)
    for (std::size_t k = 0; k < size; ++k) to[k] = from[size - 1 - k];
}

void copy_elements(char* to, const char* from, std::int64_t count, Element element) {
  const int size = size_of(element.type);
  if (!element.swapped)
    std::memcpy(to, from, static_cast<std::size_t>(count * size));
  else if (size == 2)
    copy_swapped<2>(to, from, count);
  else if (size == 4)
    copy_swapped<4>(to, from, count);
  else
    copy_swapped<8>(to, from, count);
}

// Every reader of a boolean relies on a byte 0 or 1, and a file may hold others. Pages that need no change stay the file's.
void normalise(unsigned char* data, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if (data[i] > 1) data[i] = 1;
}

class Mapping {
 public:
  explicit Mapping(const std::string& path) : file_(os::map_file(path)) {}
  ~Mapping() {
    if (file_.data) os::unmap_pages(file_.data, file_.bytes);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view text() const { return {static_cast<const char*>(file_.data), static_cast<std::size_t>(file_.bytes)}; }
  char* data() const { return static_cast<char*>(file_.data); }
  // A block of the bytes from `offset` on, which keeps the file mapped.
  Block share(std::size_t offset, std::int64_t bytes) {
    const os::MappedFile file = std::exchange(file_, {});
    const auto unmap = [file] { os::unmap_pages(file.data, file.bytes); };
    return Block::borrow(static_cast<char*>(file.data) + offset, bytes, unmap, false);
  }

 private:
  os::MappedFile file_;
};

std::string descr_of(DType type) {
  for (const TypeCode& known : type_codes)
    if (known.type == type) return (size_of(type) == 1 ? "|" : "<") + std::string(known.code);
  fail<TypeError>("{} has no NumPy type; cast to float32 before saving", info(type).torch_name);
}

// As NumPy writes it, to the byte: room for the first size to grow in place, and data at a multiple of 64.
std::string header_of(const Array& array) {
  std::string shape;
  for (const std::int64_t size : array.sizes) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", size);
  if (array.sizes.size() == 1) shape += ",";
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(array.type), shape);
  if (!array.sizes.empty()) text.append(21 - fmt::format("{}", array.sizes[0]).size(), ' ');
  const std::size_t padding = 64 - (10 + text.size() + 1) % 64;
  text.append(padding, ' ').append("\n");
  invariant(text.size() <= 0xffff, "a .npy header of {} bytes", text.size());  // 64 axes take less
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size() & 0xff) + static_cast<char>(text.size() >> 8) + text;
}

}  // namespace

Array load_npy(const std::string& path) {
  Mapping mapping(path);
  const Sections sections = find_sections(mapping.text(), path);
  Header header = HeaderParser(sections.header, path).parse();
  const Element element = element_of(header, path);

  std::int64_t bytes = size_of(element.type);
  bool fits = true;  // also where a size is 0, so that strides do
  for (const std::int64_t size : header.shape)
    fits = fits && !__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes);
  require<ValueError>(fits, "{}: the shape has too many elements", path);
  if (std::ranges::count(header.shape, 0) > 0) bytes = 0;
  const std::size_t there = mapping.text().size() - sections.data;
  require<ValueError>(there >= static_cast<std::size_t>(bytes), "{}: truncated: the shape needs {} bytes of data, and {} are there",
                      path, bytes, there);

  Array array{.type = element.type, .sizes = std::move(header.shape)};
  array.strides = strides_of(array.sizes, header.fortran_order);
  char* const data = mapping.data() + sections.data;
  const int size = size_of(element.type);
  if (bytes > 0 && !element.swapped && reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(size) == 0) {
    if (element.type == DType::boolean) normalise(reinterpret_cast<unsigned char*>(data), bytes);
    array.block = mapping.share(sections.data, bytes);
  } else {
    array.block = Block::allocate(bytes);
    copy_elements(static_cast<char*>(array.block.data()), data, bytes / size, element);
  }
  array.data = array.block.data();
  return array;
}

void save_npy(const std::string& path, const Array& array) {
  std::int64_t bytes = size_of(array.type);
  for (const std::int64_t size : array.sizes) bytes *= size;
  invariant(is_dense(array), "{}: saving an array that is not dense", path);
  const std::string header = header_of(array);
  const std::span<const char> pieces[] = {header, {static_cast<const char*>(array.data), static_cast<std::size_t>(bytes)}};
  os::write_file(path, pieces);
}

}  // namespace braze::runtime
