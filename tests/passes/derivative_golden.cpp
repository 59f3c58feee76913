// tests/golden/derivative/*.bz: a graph, `// ---- becomes`, its derivative with dead code gone. A first line `// jvp` or `// vjp` asks for
// that and not the gradient; `simplified` for what simplify makes of it. BRAZE_BLESS=1 rewrites the second part.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "passes/derivative.h"
#include "passes/passes.h"
#include "tests/catch.h"

using namespace braze;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view separator = "// ---- becomes\n";

std::string derivative_of(const std::string& input, const std::string& file) {
  const std::string first = input.substr(0, input.find('\n'));
  const auto asks = [&](std::string_view word) { return first.starts_with("//") && first.find(word) != std::string::npos; };
  passes::Module module;
  const ir::Graph graph = ir::parse_graph(input, file);
  module.graph = asks("jvp") ? passes::jvp(graph) : asks("vjp") ? passes::vjp(graph) : passes::grad(graph);
  if (asks("simplified"))
    for (const auto pass : {passes::canonicalize, passes::simplify}) module = pass(std::move(module), {});
  return print(passes::dead_code(std::move(module), {}));
}

}  // namespace

TEST_CASE("golden files: derivatives are what they were") {
  int files = 0;
  for (const auto& file : fs::directory_iterator(fs::path(BRAZE_SOURCE_DIR) / "tests/golden/derivative")) {
    INFO(file.path().string());
    std::ifstream in(file.path());
    std::stringstream whole;
    whole << in.rdbuf();
    const std::string text = whole.str();
    const std::size_t cut = text.find(separator);
    const std::string input = text.substr(0, cut);
    const std::string found = derivative_of(input, file.path().filename().string());
    CHECK(print(ir::parse_graph(found)) == found);
    ++files;
    if (cut != std::string::npos && text.substr(cut + separator.size()) == found) continue;
    if (std::getenv("BRAZE_BLESS") == nullptr) {
      FAIL_CHECK("becomes\n" << found << "(BRAZE_BLESS=1 accepts it)");
      continue;
    }
    std::ofstream(file.path()) << input << separator << found;
  }
  CHECK(files >= 5);
}
