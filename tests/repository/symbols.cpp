// What libbraze.so shows the world, read by nm: ours, and no symbol of what is linked into it.
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/catch.h"

namespace {

std::string output_of(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string text;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe.get())) text.append(buffer, n);
  return text;
}

const std::string library = BRAZE_BINARY_DIR "/libbraze.so";

}  // namespace

TEST_CASE("libbraze.so shows nothing but Braze") {
  const std::string symbols = output_of("nm -D --defined-only -C '" + library + "'");
  INFO(library);
  REQUIRE(symbols.find("typeinfo for braze::Error") != symbols.npos);
  std::istringstream lines(symbols);
  std::string line, foreign;
  while (std::getline(lines, line)) {
    // "0000000000123456 T braze::eval(...)"
    const std::string name = line.substr(line.find(' ', line.find(' ') + 1) + 1);
    bool ours = false;
    for (const char* prefix : {"braze_", "braze::", "typeinfo for braze::", "typeinfo name for braze::", "vtable for braze::"})
      ours |= name.starts_with(prefix);
    if (!ours) foreign += line + "\n";
  }
  CHECK(foreign == "");
}

TEST_CASE("libbraze.so takes LLVM from nowhere else") {
  const std::string undefined = output_of("nm -D --undefined-only -C '" + library + "'");
  REQUIRE(undefined != "");
  CHECK(undefined.find("llvm::") == undefined.npos);
  CHECK(undefined.find(" LLVM") == undefined.npos);
  const std::string needed = output_of("readelf -d '" + library + "'");
  CHECK(needed.find("libLLVM") == needed.npos);
}
