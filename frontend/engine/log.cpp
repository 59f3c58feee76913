#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "braze/host.h"
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

unsigned parse_explain(std::string_view text) {
  unsigned bits = 0;
  for (std::string_view rest = text; !rest.empty();) {
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

std::atomic<unsigned>& explained() {
  static std::atomic<unsigned> bits = [] {
    const char* text = std::getenv("BRAZE_EXPLAIN");
    return parse_explain(text ? text : "");
  }();
  return bits;
}

}  // namespace

bool explains(Explain what) { return explained().load(std::memory_order_relaxed) & static_cast<unsigned>(what); }

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

namespace braze {

unsigned set_explain(unsigned bits) { return engine::explained().exchange(bits); }
unsigned explain_bits(const char* kinds) { return engine::parse_explain(kinds); }

}  // namespace braze
