#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "frontend/engine/engine.h"
#include "ir/error.h"

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
  unsigned bits = 0;
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
    if (word == "flush")
      bits |= static_cast<unsigned>(Explain::flush);
    else if (word == "compile")
      bits |= static_cast<unsigned>(Explain::compile);
    else if (word == "fuse")
      bits |= static_cast<unsigned>(Explain::fuse);
    else
      fail<ValueError>("BRAZE_EXPLAIN knows flush, compile and fuse, not '{}'", word);
  }
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
