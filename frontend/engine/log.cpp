#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "frontend/engine/engine.h"

namespace braze::engine {

namespace {

struct Sink {
  std::mutex mutex;
  std::function<void(const std::string&)> write;
};

Sink& sink() {
  static auto* instance = new Sink;
  return *instance;
}

unsigned explained_from_environment() {
  const char* text = std::getenv("BRAZE_EXPLAIN");
  if (!text) return 0;
  const std::string_view words = text;
  unsigned bits = 0;
  if (words.find("flush") != words.npos) bits |= static_cast<unsigned>(Explain::flush);
  if (words.find("compile") != words.npos) bits |= static_cast<unsigned>(Explain::compile);
  if (words.find("fuse") != words.npos) bits |= static_cast<unsigned>(Explain::fuse);
  return bits;
}

}  // namespace

bool explains(Explain what) {
  static const unsigned bits = explained_from_environment();
  return bits & static_cast<unsigned>(what);
}

// Only what an environment variable or a call asked for reaches this; the library prints nothing unasked.
void log(const std::string& line) {
  std::function<void(const std::string&)> write;
  {
    std::lock_guard lock(sink().mutex);
    write = sink().write;
  }
  if (write) return write(line);
  std::fprintf(stderr, "%s\n", line.c_str());
}

void set_log_sink(std::function<void(const std::string&)> write) {
  std::lock_guard lock(sink().mutex);
  sink().write = std::move(write);
}

}  // namespace braze::engine
