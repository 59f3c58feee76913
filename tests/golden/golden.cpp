// Golden files: tests/golden/<pass>/*.bz holds a module, `// ---- becomes`, and what the pass makes of it. A pass of stage graph runs
// alone; another with the stages between. BRAZE_BLESS=1 rewrites the second part; the diff is then reviewed. A first line
// `// options: fast_math, no_fuse, cuda, sizes 8 300` sets options; sizes are the symbols'. The target is fixed: AVX-512 on a machine of data, not this one.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/error.h"
#include "passes/passes.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::passes;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view separator = "// ---- becomes\n";

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Options options_of(std::string_view text) {
  ir::CpuTarget cpu;
  cpu.vector_bytes = 64;
  cpu.has_fma = cpu.has_avx512 = true;
  cpu.cores = 2;
  Options options;
  options.target = cpu;
  constexpr std::string_view prefix = "// options:";
  if (!text.starts_with(prefix)) return options;
  const std::string_view line = text.substr(prefix.size(), text.find('\n') - prefix.size());
  const auto has = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
  options.fast_math = has("fast_math");
  options.fuse = !has("no_fuse");
  if (has("cuda")) options.target = ir::CudaTarget{};
  if (const auto at = line.find("sizes"); at != std::string_view::npos) {
    std::stringstream numbers{std::string(line.substr(at + 5))};
    for (std::int64_t size; numbers >> size;) options.sizes.push_back(size);
  }
  return options;
}

// The passes that lead from a module's stage to and through the one named.
std::vector<std::string> passes_to(std::string_view last, Stage from) {
  std::vector<std::string> names;
  for (const Pass& pass : pipeline()) {
    if (pass.name == last || (pass.leaves != Stage::graph && pass.leaves > from)) names.emplace_back(pass.name);
    if (pass.name == last) return names;
  }
  return names;
}

bool is_pass(std::string_view name) {
  const auto all = pipeline();
  return std::any_of(all.begin(), all.end(), [&](const Pass& pass) { return pass.name == name; });
}

// Remarks are comments, which do not read back.
std::string without_remarks(const std::string& text) {
  std::stringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(' ') == std::string::npos || line.compare(line.find_first_not_of(' '), 2, "//") != 0)
      out += line + "\n";
  return out;
}

void check(const fs::path& path, std::string_view pass) {
  const std::string text = read(path);
  const std::size_t cut = text.find(separator);
  const std::string input = text.substr(0, cut);
  const std::string expected = cut == std::string::npos ? "" : text.substr(cut + separator.size());
  Module module = parse_module(input, path.filename().string());
  CHECK(print(parse_module(print(module))) == print(module));
  const Options options = options_of(text);
  const auto passes = passes_to(pass, module.stage);
  module = run_passes(std::move(module), options, passes);
  verify(module);
  const std::string found = print(module);
  if (module.stage <= Stage::fused) CHECK(print(parse_module(found)) == without_remarks(found));
  if (found == expected) return;
  if (std::getenv("BRAZE_BLESS") == nullptr) {
    FAIL_CHECK(path.string() << " becomes\n" << found << "and not\n" << expected << "(BRAZE_BLESS=1 accepts it)");
    return;
  }
  std::ofstream(path) << input << separator << found;
}

}  // namespace

TEST_CASE("golden files: each pass makes of each module what it made before") {
  const fs::path root = fs::path(BRAZE_SOURCE_DIR) / "tests/golden";
  int files = 0;
  for (const auto& folder : fs::directory_iterator(root)) {
    if (!folder.is_directory() || !is_pass(folder.path().filename().string())) continue;
    for (const auto& file : fs::directory_iterator(folder)) {
      if (file.path().extension() != ".bz") continue;
      INFO(file.path().string());
      ++files;
      try {
        check(file.path(), folder.path().filename().string());
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
    }
  }
  CHECK(files >= 12);
}
