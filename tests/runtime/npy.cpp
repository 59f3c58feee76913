#include "runtime/npy.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "ir/error.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::runtime;
using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

// What NumPy wrote: see make.py there.
std::string data(const std::string& name) { return BRAZE_SOURCE_DIR "/tests/data/npy/" + name + ".npy"; }

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("braze-npy-" + std::to_string(getpid()))) { fs::create_directory(path_); }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }
  std::string write(const std::string& bytes) const {
    std::ofstream(file("hostile.npy"), std::ios::binary) << bytes;
    return file("hostile.npy");
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string version1(const std::string& header, const std::string& elements = {}) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + elements;
}

std::string header(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

// The element, in row-major order, as a double; halves as their bits.
double element(const Array& array, std::int64_t number) {
  std::int64_t offset = 0;
  for (std::size_t i = array.sizes.size(); i-- > 0; number /= array.sizes[i]) offset += number % array.sizes[i] * array.strides[i];
  const char* at = static_cast<const char*>(array.data) + offset * size_of(array.type);
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  };
  switch (array.type) {
    case DType::boolean:
    case DType::u8:
      return read(std::uint8_t{});
    case DType::i8:
      return read(std::int8_t{});
    case DType::i16:
      return read(std::int16_t{});
    case DType::i32:
      return read(std::int32_t{});
    case DType::i64:
      return read(std::int64_t{});
    case DType::f16:
    case DType::bf16:
      return read(std::uint16_t{});
    case DType::f32:
      return read(float{});
    case DType::f64:
      return read(double{});
  }
  return 0;
}

std::vector<double> elements(const Array& array) {
  std::vector<double> values(static_cast<std::size_t>(
      std::accumulate(array.sizes.begin(), array.sizes.end(), std::int64_t{1}, std::multiplies<std::int64_t>())));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(array, static_cast<std::int64_t>(i));
  return values;
}

using Sizes = std::vector<std::int64_t>;
using Values = std::vector<double>;

}  // namespace

TEST_CASE("NumPy's files of every dtype load, and save to the same bytes", "[npy]") {
  const Folder folder;
  const std::pair<const char*, DType> files[] = {{"b1", DType::boolean}, {"u1", DType::u8},  {"i1", DType::i8},
                                                 {"i2", DType::i16},     {"i4", DType::i32}, {"i8", DType::i64},
                                                 {"f2", DType::f16},     {"f4", DType::f32}, {"f8", DType::f64}};
  for (const auto& [name, type] : files) {
    const Array array = load_npy(data(name));
    CHECK(array.type == type);
    CHECK(array.sizes == Sizes{2, 3});
    CHECK(array.strides == Sizes{3, 1});
    if (type == DType::boolean)
      CHECK(elements(array) == Values{0, 1, 0, 1, 0, 1});
    else if (type == DType::u8)
      CHECK(elements(array) == Values{0, 1, 2, 3, 4, 5});
    else if (type == DType::f16)
      CHECK(elements(array) == Values{0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200});
    else
      CHECK(elements(array) == Values{-2, -1, 0, 1, 2, 3});
    save_npy(folder.file("saved.npy"), array);
    CHECK(contents(folder.file("saved.npy")) == contents(data(name)));
  }
  CHECK(folder.entries() == 1);  // nothing was left aside
}

TEST_CASE("big-endian files load as their little-endian twins", "[npy]") {
  for (const std::string name : {"i2", "i4", "i8", "f2", "f4", "f8"}) {
    const Array little = load_npy(data(name)), big = load_npy(data("big_" + name));
    CHECK(big.type == little.type);
    CHECK(big.sizes == little.sizes);
    CHECK(elements(big) == elements(little));
    CHECK(!big.block.borrowed());
    CHECK(little.block.borrowed());
  }
}

TEST_CASE("Fortran order gives reversed strides", "[npy]") {
  const Array array = load_npy(data("fortran"));
  CHECK(array.sizes == Sizes{2, 3, 4});
  CHECK(array.strides == Sizes{1, 2, 6});
  Values expected(24);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(elements(array) == expected);
  const Array big = load_npy(data("fortran_big"));
  CHECK(big.strides == Sizes{1, 2});
  CHECK(elements(big) == Values{0, 1, 2, 3, 4, 5});
}

TEST_CASE("ranks 0 and 1, no elements, newer versions, misaligned data", "[npy]") {
  const Folder folder;
  for (const char* name : {"scalar", "vector", "empty"}) {
    save_npy(folder.file("saved.npy"), load_npy(data(name)));
    CHECK(contents(folder.file("saved.npy")) == contents(data(name)));
  }
  CHECK(load_npy(data("scalar")).sizes.empty());
  CHECK(elements(load_npy(data("scalar"))) == Values{2.5});
  CHECK(elements(load_npy(data("vector"))) == Values{0, 1, 2, 3, 4});
  CHECK(load_npy(data("empty")).sizes == Sizes{3, 0, 2});
  CHECK(elements(load_npy(data("version2"))) == Values{0, 1, 2, 3});
  CHECK(elements(load_npy(data("version3"))) == Values{0, 1, 2, 3});
  const Array misaligned = load_npy(data("misaligned"));
  CHECK(elements(misaligned) == Values{0, 1, 2});
  CHECK(reinterpret_cast<std::uintptr_t>(misaligned.data) % 8 == 0);
}

TEST_CASE("a loaded array is private, and outlives the file's name", "[npy]") {
  const Folder folder;
  const std::string path = folder.file("copy.npy");
  fs::copy_file(data("f4"), path);
  {
    const Array array = load_npy(path);
    fs::remove(path);
    static_cast<float*>(array.data)[0] = 100;
    CHECK(elements(array) == Values{100, -1, 0, 1, 2, 3});
  }
  fs::copy_file(data("f4"), path);
  CHECK(elements(load_npy(path))[0] == -2);
  const Array held = load_npy(path);
  save_npy(path, load_npy(data("vector")));  // renamed over, so that what is mapped stays
  CHECK(elements(held) == Values{-2, -1, 0, 1, 2, 3});
  CHECK(elements(load_npy(path)) == Values{0, 1, 2, 3, 4});
}

TEST_CASE("booleans of other bytes become 1", "[npy]") {
  const Folder folder;
  CHECK(elements(load_npy(folder.write(version1(header("|b1", "(4,)"), std::string("\x00\x01\x02\xff", 4))))) ==
        Values{0, 1, 1, 1});
}

TEST_CASE("other spellings of a header that NumPy reads", "[npy]") {
  const Folder folder;
  const std::string two(8, '\0');
  for (const char* text :
       {"{'shape': (2,), 'descr': '<f4', 'fortran_order': False}", "{\"descr\":\"=f4\",\"fortran_order\":False,\"shape\":(2L,)}",
        "  { 'descr' : '<f4' , 'fortran_order' : True , 'shape' : ( 2 , ) , }   \n"})
    CHECK(elements(load_npy(folder.write(version1(text, two)))) == Values{0, 0});
  // Bytes behind the data are the next array's.
  CHECK(elements(load_npy(folder.write(version1(header("<f4", "(1,)"), two)))) == Values{0});
}

TEST_CASE("dtypes that Braze lacks raise TypeError naming them", "[npy]") {
  for (const auto& [name, why] : {std::pair{"u2", "dtype '<u2' is not supported"},
                                  {"c8", "dtype '<c8'"},
                                  {"text", "dtype '<U2'"},
                                  {"date", "dtype '<M8[D]'"},
                                  {"long_double", "dtype '<f16'"},
                                  {"record", "structured arrays"},
                                  {"object", "arrays of Python objects ('|O')"}}) {
    CHECK_THROWS_AS(load_npy(data(std::string("refused_") + name)), TypeError);
    CHECK_THROWS_WITH(load_npy(data(std::string("refused_") + name)), ContainsSubstring(why) && ContainsSubstring(name));
  }
}

TEST_CASE("files that are not what they say raise ValueError", "[npy]") {
  const Folder folder;
  const auto check = [&](const std::string& bytes, const char* why) {
    CHECK_THROWS_AS(load_npy(folder.write(bytes)), ValueError);
    CHECK_THROWS_WITH(load_npy(folder.write(bytes)), ContainsSubstring(why) && ContainsSubstring("hostile.npy"));
  };
  CHECK_THROWS_WITH(load_npy(folder.file("none.npy")), ContainsSubstring("none.npy: cannot open: No such file"));
  CHECK_THROWS_WITH(load_npy(folder.file("")), ContainsSubstring("not a regular file"));
  check("", "not a .npy file");
  check("PK\x03\x04", "not a .npy file");
  check("\x93NUMPY", "truncated in the header");
  check(std::string("\x93NUMPY\x04\x00\x00\x00", 10), "version 4.0");
  check(std::string("\x93NUMPY\x01\x00\x40\x00{", 11), "truncated in the header: 1 bytes of 64");
  check(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "truncated in the header: 0 bytes of 4294967295");
  check(version1(header("<f4", "(2,)"), "1234567"), "truncated: the shape needs 8 bytes of data, and 7 are there");
  check(version1(header("<f4", "(1000000000000,)"), ""), "truncated");
  check(version1(header("<f8", "(4294967296, 4294967296)"), ""), "too many elements");
  check(version1(header("|u1", "(9223372036854775807, 0, 2)"), ""), "too many elements");
  const std::string whole = contents(data("f8"));
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_THROWS_AS(load_npy(folder.write(whole.substr(0, length))), Error);
}

TEST_CASE("bad headers raise ParseError with the column and a caret", "[npy]") {
  const Folder folder;
  const auto check = [&](const std::string& text, int column, const char* why) {
    INFO(text);
    const std::string path = folder.write(version1(text, std::string(64, '\0')));
    try {
      load_npy(path);
      FAIL_CHECK("loaded");
    } catch (const ParseError& error) {
      CHECK(error.column == column);
      CHECK_THAT(error.what(), ContainsSubstring(path) && ContainsSubstring(why) && ContainsSubstring("^"));
    }
  };
  check("", 1, "expected '{', found the end of the header");
  check("{'descr': '<f4'}", 17, "expected the keys");
  check("{'descr': '<f4', 'descr': '<f4'}", 18, "once, found 'descr'");
  check("{'descr': '<f4', 'order': 1}", 18, "found 'order'");
  check("{'descr': __import__('os')}", 11, "expected a string");
  check("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", 35, "expected True or False, found '0'");
  check(header("<f4", "(3)"), 53, "(3) is no tuple");
  check(header("<f4", "(-3,)"), 52, "expected a size, found '-'");
  check(header("<f4", "(3,4"), 57, "expected a size, found '}'");
  check(header("<f4", "(99999999999999999999,)"), 52, "does not fit 64 bits");
  check(header("<f4", "(3.0,)"), 53, "found '.'");
  check("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 55, "nothing after");
  check("{'descr': [('a', '<f4'", 23, "expected ']'");
  check("{'descr: 4", 2, "no closing quote");
  check("{'descr': '\\x41'", 11, "without escapes");
  std::string deep = "(";
  for (int i = 0; i < 65; ++i) deep += "1,";
  check(header("<f4", deep + ")"), 180, "more than 64 axes");
  const std::string whole = contents(data("f4"));
  for (std::size_t at = 10; at < 128; ++at) {  // no byte of the header can do harm
    for (const char c : {'\0', '(', '9', '\''}) {
      std::string changed = whole;
      changed[at] = c;
      try {
        load_npy(folder.write(changed));
      } catch (const Error&) {
        continue;
      }
    }
  }
}

TEST_CASE("saving raises where it cannot", "[npy]") {
  const Folder folder;
  Array array = load_npy(data("f2"));
  CHECK_THROWS_WITH(save_npy(folder.file("no/such/folder.npy"), array),
                    ContainsSubstring("folder.npy: cannot write: No such file"));
  CHECK_THROWS_AS(save_npy("/dev/full", array), ValueError);
  save_npy("/dev/null", array);
  CHECK(fs::is_character_file("/dev/null"));
  array.type = DType::bf16;
  CHECK_THROWS_AS(save_npy(folder.file("x.npy"), array), TypeError);
  CHECK(folder.entries() == 0);
  const Array strided = load_npy(data("fortran"));
  CHECK_THROWS_AS(save_npy(folder.file("x.npy"), strided), InternalError);
}
