// Who may include whom. A drawing of layers that nothing checks is soon false, so this reads every #include.
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.h"

namespace fs = std::filesystem;

namespace {

const fs::path root = BRAZE_SOURCE_DIR;

struct Layer {
  std::string_view folder;
  std::vector<std::string_view> may_include;
};

const std::vector<Layer> layers = {
    {"ir/", {"ir/"}},
    {"passes/", {"ir/", "passes/"}},
    {"codegen/", {"ir/", "codegen/"}},
    {"runtime/", {"ir/", "runtime/"}},
    {"frontend/", {"ir/", "passes/", "codegen/", "runtime/", "frontend/", "braze/"}},
};

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  for (std::string_view prefix : prefixes)
    if (text.starts_with(prefix)) return true;
  return false;
}

// A library whose headers stay inside a few files, because they are slow to compile or must not reach users.
struct Fenced {
  std::string_view name;
  bool (*is)(std::string_view header);
  bool (*may)(std::string_view file);
};

bool is_source(std::string_view file) { return file.ends_with(".cpp"); }

const std::vector<Fenced> fences = {
    {"LLVM", [](std::string_view header) { return starts_with_any(header, {"llvm/", "llvm-c/"}); },
     [](std::string_view file) {
       // The emitter is several files around one class: its headers stay inside codegen/cpu, as the test below checks.
       return file.starts_with("codegen/cpu/") || (is_source(file) && file.starts_with("runtime/cpu/"));
     }},
    {"the CPU emitter", [](std::string_view header) { return header.starts_with("codegen/cpu/"); },
     [](std::string_view file) { return file.starts_with("codegen/cpu/"); }},
    {"oneTBB", [](std::string_view header) { return starts_with_any(header, {"tbb/", "oneapi/"}); },
     [](std::string_view file) { return is_source(file) && file.starts_with("runtime/"); }},
    {"CUDA", [](std::string_view header) { return starts_with_any(header, {"cuda", "nvrtc", "cublas", "cudnn"}); },
     [](std::string_view file) { return is_source(file) && starts_with_any(file, {"codegen/cuda/", "runtime/cuda/"}); }},
    {"nanobind", [](std::string_view header) { return starts_with_any(header, {"nanobind/", "pybind11/", "Python.h"}); },
     [](std::string_view file) { return file.starts_with("frontend/python/"); }},
};

// Why `file` must not include `header`, or nothing. Both are paths from the root; a header of the system is as written.
std::optional<std::string> refusal(std::string_view file, std::string_view header) {
  for (const Fenced& fence : fences)
    if (fence.is(header) && !fence.may(file)) return std::string(fence.name) + " headers have no place in this file";
  const Layer* own = nullptr;
  bool ours = header.starts_with("braze/");
  for (const Layer& layer : layers) {
    if (file.starts_with(layer.folder)) own = &layer;
    ours |= header.starts_with(layer.folder);
  }
  if (own == nullptr || !ours) return std::nullopt;
  for (std::string_view allowed : own->may_include)
    if (header.starts_with(allowed)) return std::nullopt;
  return std::string(own->folder) + " may not know this layer";
}

struct Include {
  int line;
  std::string header;
  bool quoted;
};

std::vector<Include> includes_of(const fs::path& path) {
  std::vector<Include> found;
  std::ifstream in(path);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    size_t at = line.find_first_not_of(" \t");
    if (at == line.npos || line[at] != '#') continue;
    at = line.find_first_not_of(" \t", at + 1);
    if (at == line.npos || line.compare(at, 7, "include") != 0) continue;
    at = line.find_first_of("\"<", at);
    if (at == line.npos) continue;
    const size_t end = line.find_first_of("\">", at + 1);
    found.push_back({number, line.substr(at + 1, end - at - 1), line[at] == '"'});
  }
  return found;
}

std::vector<std::string> files_under(std::string_view folder) {
  std::vector<std::string> files;
  if (!fs::exists(root / folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    const std::string extension = entry.path().extension();
    if (extension == ".h" || extension == ".cpp" || extension == ".def") files.push_back(fs::relative(entry, root));
  }
  return files;
}

// Where a header of ours lies, from the root; empty for one of the system.
std::string resolve(const std::string& header) {
  for (const char* base : {"", "frontend/include/"})
    if (fs::exists(root / (base + header))) return base + header;
  return {};
}

}  // namespace

TEST_CASE("the layering rules refuse what the design refuses") {
  CHECK_FALSE(refusal("passes/fuse.cpp", "ir/graph.h"));
  CHECK(refusal("passes/fuse.cpp", "runtime/storage.h"));
  CHECK(refusal("passes/fuse.cpp", "codegen/backend.h"));
  CHECK(refusal("codegen/cpu/emit.cpp", "passes/passes.h"));
  CHECK(refusal("runtime/run.cpp", "codegen/backend.h"));
  CHECK(refusal("ir/graph.cpp", "passes/passes.h"));
  CHECK(refusal("runtime/run.cpp", "braze/tensor.h"));
  CHECK_FALSE(refusal("frontend/tensor.cpp", "runtime/storage.h"));

  CHECK_FALSE(refusal("codegen/cpu/emit.cpp", "llvm/IR/IRBuilder.h"));
  CHECK_FALSE(refusal("codegen/cpu/llvm_compat.h", "llvm/IR/IRBuilder.h"));
  CHECK_FALSE(refusal("codegen/cpu/emitter.h", "llvm/IR/IRBuilder.h"));
  CHECK(refusal("frontend/engine/compile.cpp", "codegen/cpu/emitter.h"));
  CHECK(refusal("codegen/backend.h", "llvm/IR/Module.h"));
  CHECK(refusal("frontend/tensor.cpp", "llvm/IR/Module.h"));
  CHECK_FALSE(refusal("runtime/threads.cpp", "tbb/parallel_for.h"));
  CHECK(refusal("runtime/threads.h", "oneapi/tbb/parallel_for.h"));
  CHECK(refusal("codegen/cpu/emit.cpp", "cuda_fp16.h"));
}

TEST_CASE("no include points up or sideways") {
  std::string refused;
  for (const Layer& layer : layers)
    for (const std::string& file : files_under(layer.folder))
      for (const Include& include : includes_of(root / file))
        if (auto why = refusal(file, include.header))
          refused += file + ":" + std::to_string(include.line) + ": " + include.header + ": " + *why + "\n";
  CHECK(refused == "");
}

TEST_CASE("our own headers are included in quotes, by their path from the root") {
  std::string wrong;
  for (const Layer& layer : layers)
    for (const std::string& file : files_under(layer.folder))
      for (const Include& include : includes_of(root / file))
        if (include.quoted && resolve(include.header).empty())
          wrong += file + ":" + std::to_string(include.line) + ": " + include.header + "\n";
  CHECK(wrong == "");
}

TEST_CASE("a public header brings no header of LLVM, CUDA, oneTBB or fmt") {
  std::string wrong;
  for (const std::string& start : files_under("frontend/include")) {
    std::set<std::string> seen = {start};
    std::vector<std::string> open = {start};
    while (!open.empty()) {
      const std::string file = open.back();
      open.pop_back();
      for (const Include& include : includes_of(root / file)) {
        if (starts_with_any(include.header, {"llvm", "cuda", "nvrtc", "tbb/", "oneapi/", "fmt/"}))
          wrong += start + " brings " + include.header + " by " + file + "\n";
        const std::string next = resolve(include.header);
        if (!next.empty() && seen.insert(next).second) open.push_back(next);
      }
    }
  }
  CHECK(wrong == "");
}
