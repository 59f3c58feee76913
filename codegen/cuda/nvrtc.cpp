#include "codegen/cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "ir/error.h"

namespace braze::codegen::cuda {

namespace fs = std::filesystem;

// The part of NVRTC's C interface that is used, as nvrtc.h declares it since CUDA 11.2.
struct Library {
  using Program = struct OpaqueProgram*;
  using Status = int;

  Status (*version)(int*, int*) = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*architecture_count)(int*) = nullptr;
  Status (*architectures)(int*) = nullptr;
  Status (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  Status (*destroy)(Program*) = nullptr;
  Status (*compile)(Program, int, const char* const*) = nullptr;
  Status (*log_size)(Program, std::size_t*) = nullptr;
  Status (*log)(Program, char*) = nullptr;
  Status (*cubin_size)(Program, std::size_t*) = nullptr;
  Status (*cubin)(Program, char*) = nullptr;
  Status (*ptx_size)(Program, std::size_t*) = nullptr;
  Status (*ptx)(Program, char*) = nullptr;

  int major = 0, minor = 0;
  std::vector<int> supported;

  void check(Status status, const char* what) const {
    require<CompileError>(status == 0, "NVRTC: {} failed: {}", what, error_string(status));
  }
};

namespace {

// The handle is never closed: NVRTC keeps threads and static state of its own.
std::string load(const std::string& file, Library& library) {
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return ::dlerror();
  std::string missing;
  const auto find = [&](auto& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(::dlsym(handle, name));
    if (entry == nullptr && missing.empty()) missing = fmt::format("{} has no {}: it is older than CUDA 11.2", file, name);
  };
  find(library.version, "nvrtcVersion");
  find(library.error_string, "nvrtcGetErrorString");
  find(library.architecture_count, "nvrtcGetNumSupportedArchs");
  find(library.architectures, "nvrtcGetSupportedArchs");
  find(library.create, "nvrtcCreateProgram");
  find(library.destroy, "nvrtcDestroyProgram");
  find(library.compile, "nvrtcCompileProgram");
  find(library.log_size, "nvrtcGetProgramLogSize");
  find(library.log, "nvrtcGetProgramLog");
  find(library.cubin_size, "nvrtcGetCUBINSize");
  find(library.cubin, "nvrtcGetCUBIN");
  find(library.ptx_size, "nvrtcGetPTXSize");
  find(library.ptx, "nvrtcGetPTX");
  if (!missing.empty()) return missing;
  int count = 0;
  library.check(library.version(&library.major, &library.minor), "nvrtcVersion");
  library.check(library.architecture_count(&count), "nvrtcGetNumSupportedArchs");
  library.supported.resize(static_cast<std::size_t>(count));
  library.check(library.architectures(library.supported.data()), "nvrtcGetSupportedArchs");
  return {};
}

const std::vector<std::string>& sonames() {
  static const std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"};
  return names;
}

void add_folder(std::vector<std::string>& out, const fs::path& folder) {
  for (const std::string& name : sonames()) {
    std::error_code ignored;
    if (fs::exists(folder / name, ignored)) return out.push_back((folder / name).string());
  }
  out.push_back((folder / "libnvrtc.so*").string());  // absent, but where we looked
}

// PyPI's wheels: nvidia-cuda-nvrtc-cu11 and -cu12 in cuda_nvrtc, CUDA 13's in cu13.
void add_site_packages(std::vector<std::string>& out, const fs::path& folder) {
  add_folder(out, folder / "nvidia" / "cu13" / "lib");
  add_folder(out, folder / "nvidia" / "cuda_nvrtc" / "lib");
}

// Children of `folder` whose names start with `prefix`, the last name (the newest version) first.
std::vector<fs::path> children(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  std::sort(found.rbegin(), found.rend());
  return found;
}

// NVRTC prints `kernel.cu(12): error: ...`; the line itself says more than its number.
std::string offending_line(std::string_view source, std::string_view log) {
  constexpr std::string_view mark = "kernel.cu(";
  const std::size_t at = log.find(mark);
  if (at == std::string_view::npos) return {};
  std::size_t line = 0;
  std::from_chars(log.data() + at + mark.size(), log.data() + log.size(), line);
  for (std::size_t n = 1; n < line; ++n) {
    const std::size_t end = source.find('\n');
    if (end == std::string_view::npos) return {};
    source.remove_prefix(end + 1);
  }
  return fmt::format("\nline {}: {}", line, source.substr(0, source.find('\n')));
}

int capability(const ir::CudaTarget& target) { return target.major * 10 + target.minor; }

class Program {
 public:
  Program(const Library& library, const std::string& source) : library_(library), source_(source) {
    library.check(library.create(&program_, source.c_str(), "kernel.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~Program() { library_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Returns the log. Nothing is contracted, approximated or flushed: the interpreter's bits are the kernel's.
  std::string compile(const std::string& architecture) {
    const std::string arch = "--gpu-architecture=" + architecture;
    std::vector<const char*> options{arch.c_str(),       "--std=c++17", "--fmad=false",      "--prec-div=true",
                                     "--prec-sqrt=true", "--ftz=false", "--ptxas-options=-v"};
    if (library_.major >= 13) options.push_back("--no-cache");  // a cached cubin comes without ptxas' report
    const auto status = library_.compile(program_, static_cast<int>(options.size()), options.data());
    std::string log = read(library_.log_size, library_.log, "nvrtcGetProgramLog");
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    require<CompileError>(status == 0, "NVRTC {}.{} cannot compile a kernel for {}: {}\n{}{}", library_.major, library_.minor,
                          architecture, library_.error_string(status), log, offending_line(source_, log));
    return log;
  }
  std::string cubin() const { return read(library_.cubin_size, library_.cubin, "nvrtcGetCUBIN"); }
  std::string ptx() const { return read(library_.ptx_size, library_.ptx, "nvrtcGetPTX"); }

 private:
  using Size = decltype(Library::log_size);
  using Get = decltype(Library::log);

  std::string read(Size size, Get get, const char* what) const {
    std::size_t bytes = 0;
    library_.check(size(program_, &bytes), what);
    std::string text(bytes, '\0');
    library_.check(get(program_, text.data()), what);
    return text;
  }

  const Library& library_;
  const std::string& source_;
  Library::Program program_ = nullptr;
};

// The newest architecture that NVRTC knows and that the device can run.
int virtual_architecture(const Library& library, const ir::CudaTarget& target) {
  int best = 0;
  for (int known : library.supported)
    if (known <= capability(target)) best = std::max(best, known);
  require<CompileError>(best != 0, "NVRTC {}.{} makes no code for compute capability {}.{}; it knows {}", library.major,
                        library.minor, target.major, target.minor, fmt::join(library.supported, ", "));
  return best;
}

std::string_view after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + mark.size());
}

// The number that ends just before `unit`, as in "8 bytes spill stores".
std::int64_t number_before(std::string_view line, std::string_view unit) {
  const std::size_t end = line.find(unit);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::int64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

}  // namespace

std::vector<Resources> parse_resources(std::string_view log) {
  std::vector<Resources> kernels;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    if (const std::string_view name = after(line, "Compiling entry function '"); !name.empty()) {
      kernels.emplace_back().entry = std::string(name.substr(0, name.find('\'')));
    } else if (!kernels.empty() && line.find("bytes stack frame") != std::string_view::npos) {
      kernels.back().stack_bytes = number_before(line, " bytes stack frame");
      kernels.back().spill_store_bytes = number_before(line, " bytes spill stores");
      kernels.back().spill_load_bytes = number_before(line, " bytes spill loads");
    } else if (!kernels.empty() && line.find("registers") != std::string_view::npos) {
      kernels.back().registers = static_cast<int>(number_before(line, " registers"));
      kernels.back().shared_bytes = number_before(line, " bytes smem");
    }
  }
  return kernels;
}

std::vector<std::string> nvrtc_candidates() {
  std::vector<std::string> out;
  if (const char* chosen = std::getenv("BRAZE_NVRTC"); chosen != nullptr && *chosen != '\0') {
    std::error_code error;
    if (!fs::is_directory(chosen, error)) return {chosen};
    add_folder(out, chosen);
    add_site_packages(out, chosen);
    return out;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable); root != nullptr && *root != '\0') add_folder(out, fs::path(root) / "lib64");
  add_folder(out, "/usr/local/cuda/lib64");
  for (const fs::path& root : children("/usr/local", "cuda-")) add_folder(out, root / "lib64");
  out.insert(out.end(), sonames().begin(), sonames().end());
  if (const char* root = std::getenv("VIRTUAL_ENV"); root != nullptr && *root != '\0')
    for (const fs::path& python : children(fs::path(root) / "lib", "python")) add_site_packages(out, python / "site-packages");
  return out;
}

Nvrtc::Nvrtc(const std::vector<std::string>& candidates) {
  std::string tried;
  for (const std::string& file : candidates) {
    auto library = std::make_unique<Library>();
    const std::string problem = load(file, *library);
    if (problem.empty()) {
      library_ = std::move(library);
      return;
    }
    tried += "\n  " + problem;
  }
  fail<DeviceError>(
      "CUDA code needs NVRTC, which was not found. Install the CUDA toolkit or PyPI's nvidia-cuda-nvrtc, or set "
      "BRAZE_NVRTC to libnvrtc.so or the folder that holds it. Tried:{}",
      tried);
}

Nvrtc::~Nvrtc() = default;

const Nvrtc& Nvrtc::instance() {
  static const Nvrtc only(nvrtc_candidates());
  return only;
}

std::string Nvrtc::version() const { return fmt::format("{}.{}", library_->major, library_->minor); }

const std::vector<int>& Nvrtc::architectures() const { return library_->supported; }

Compilation Nvrtc::compile(const std::string& source, const ir::CudaTarget& target) const {
  const int known = virtual_architecture(*library_, target);
  const bool exact = known == capability(target);
  Program program(*library_, source);
  Compilation out;
  out.log = program.compile(fmt::format("{}_{}", exact ? "sm" : "compute", known));
  out.format = exact ? ir::Object::Format::cubin : ir::Object::Format::ptx;
  const std::string code = exact ? program.cubin() : program.ptx();
  out.bytes.assign(code.begin(), code.end());
  out.resources = parse_resources(out.log);
  return out;
}

std::string Nvrtc::ptx(const std::string& source, const ir::CudaTarget& target) const {
  Program program(*library_, source);
  program.compile(fmt::format("compute_{}", virtual_architecture(*library_, target)));
  std::string text = program.ptx();
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

}  // namespace braze::codegen::cuda
