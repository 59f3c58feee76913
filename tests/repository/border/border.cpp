// The border of libbraze.so, seen by a program that links it and none of our archives.
#include <braze/braze.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>

#include "tests/catch.h"

namespace fs = std::filesystem;

namespace {

float evaluate_something() {
  const braze::Tensor x = braze::tensor({{1.f, 2.f}, {3.f, 4.f}});
  return (x * 2 + 1).sum().item<float>();
}

// Every other LLVM that this machine has as a shared library.
std::set<std::string> other_llvms() {
  std::set<std::string> found;
  for (const char* folder : {"/usr/lib", "/usr/lib64", "/usr/local/lib"}) {
    if (!fs::exists(folder)) continue;
    const auto options = fs::directory_options::skip_permission_denied;
    for (auto entry = fs::recursive_directory_iterator(folder, options); entry != fs::recursive_directory_iterator(); ++entry) {
      if (entry.depth() > 2) entry.disable_recursion_pending();
      const std::string name = entry->path().filename();
      if (name.starts_with("libLLVM") && name.find(".so") != name.npos && fs::exists(entry->path()))
        found.insert(fs::canonical(entry->path()));
    }
  }
  return found;
}

template <class F>
F* function(void* library, const char* name) {
  F* found = reinterpret_cast<F*>(dlsym(library, name));
  if (found == nullptr) throw std::runtime_error(dlerror());
  return found;
}

// Makes a module and prints it, by the library's C API, which every version has.
void use_llvm(void* library) {
  void* context = function<void*()>(library, "LLVMContextCreate")();
  void* module = function<void*(const char*, void*)>(library, "LLVMModuleCreateWithNameInContext")("other", context);
  char* text = function<char*(void*)>(library, "LLVMPrintModuleToString")(module);
  CHECK(std::string(text).find("ModuleID = 'other'") != std::string::npos);
  function<void(char*)>(library, "LLVMDisposeMessage")(text);
  function<void(void*)>(library, "LLVMDisposeModule")(module);
  function<void(void*)>(library, "LLVMContextDispose")(context);
}

}  // namespace

TEST_CASE("an error thrown inside libbraze.so is caught outside by its type") {
  const braze::Tensor a = braze::zeros({2, 3}), b = braze::zeros({4, 5});
  bool caught = false;
  try {
    (void)(a + b);
  } catch (const braze::Error& error) {
    caught = true;
    CHECK(dynamic_cast<const braze::ShapeError*>(&error) != nullptr);
  }
  CHECK(caught);
  CHECK_THROWS_AS(a + b, braze::ShapeError);
  CHECK_THROWS_AS(a + b, std::runtime_error);
}

// Run by the next test in a process of its own, with the other LLVM's path in BRAZE_TEST_LLVM.
TEST_CASE("guest", "[.guest]") {
  const char* path = std::getenv("BRAZE_TEST_LLVM");
  REQUIRE(path != nullptr);
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) FAIL(dlerror());
  use_llvm(library);
  CHECK(evaluate_something() == 24.f);
  use_llvm(library);
}

TEST_CASE("libbraze.so works beside another LLVM in one process") {
  CHECK(evaluate_something() == 24.f);
  const std::set<std::string> others = other_llvms();
  if (others.empty()) SKIP("this machine has no other libLLVM");
  const std::string self = fs::read_symlink("/proc/self/exe");
  for (const std::string& other : others) {
    // Preloaded, its symbols come before everybody's; opened later, after libbraze.so's.
    for (const std::string& preload : {"LD_PRELOAD='" + other + "'", std::string()}) {
      INFO(other << " " << (preload.empty() ? "opened" : "preloaded"));
      CHECK(std::system(("env -u BRAZE_TEST_TALLY ASAN_OPTIONS=verify_asan_link_order=0 BRAZE_TEST_LLVM='" + other + "' " +
                         preload + " '" + self + "' '[.guest]' >/dev/null")
                            .c_str()) == 0);
    }
  }
}
