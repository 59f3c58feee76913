// The memory cache: canonical bytes to compiled Programs. A hit is a comparison of the bytes, so that a collision of hashes never
// runs a wrong kernel. Bounded by entries, least recently used out first.
#include <cstdlib>
#include <list>
#include <unordered_map>

#include "frontend/engine/engine.h"
#include "frontend/engine/state.h"
#include "ir/error.h"

namespace braze::engine {

namespace {

std::size_t hash_bytes(std::span<const std::uint8_t> bytes) {
  std::uint64_t h = 0x9e3779b97f4a7c15u ^ bytes.size();
  const auto mix = [&h](std::uint64_t word) {
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  };
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + i, bytes.size() - i);
  mix(word);
  return h;
}

struct Entry {
  std::vector<std::uint8_t> key;
  std::size_t hash;
  std::mutex building;  // held by the thread that compiles; the others wait on it
  std::shared_ptr<const Compiled> compiled;
};

class Cache {
 public:
  // The entry for `key`, new or not; the most recently used from now on.
  std::shared_ptr<Entry> find_or_add(std::span<const std::uint8_t> key) {
    const std::size_t hash = hash_bytes(key);
    std::lock_guard lock(mutex_);
    const auto [first, last] = lookup_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      Entry& entry = **it->second;
      if (entry.key.size() == key.size() && std::memcmp(entry.key.data(), key.data(), key.size()) == 0) {
        recent_.splice(recent_.begin(), recent_, it->second);
        return *it->second;
      }
    }
    auto entry = std::make_shared<Entry>();
    entry->key.assign(key.begin(), key.end());
    entry->hash = hash;
    recent_.push_front(entry);
    lookup_.emplace(hash, recent_.begin());
    if (recent_.size() > capacity_) drop(std::prev(recent_.end()));
    return entry;
  }

  // An entry whose compilation failed must not be found again.
  void forget(const std::shared_ptr<Entry>& entry) {
    std::lock_guard lock(mutex_);
    const auto [first, last] = lookup_.equal_range(entry->hash);
    for (auto it = first; it != last; ++it)
      if (*it->second == entry) return drop(it->second);
  }

 private:
  using Recent = std::list<std::shared_ptr<Entry>>;

  void drop(Recent::iterator at) {
    const auto [first, last] = lookup_.equal_range((*at)->hash);
    for (auto it = first; it != last; ++it)
      if (it->second == at) {
        lookup_.erase(it);
        break;
      }
    recent_.erase(at);
  }

  static std::size_t capacity_from_environment() {
    const char* text = std::getenv("BRAZE_MEMORY_CACHE");
    return text ? std::max<std::size_t>(1, std::strtoull(text, nullptr, 10)) : 2048;
  }

  std::mutex mutex_;
  const std::size_t capacity_ = capacity_from_environment();
  Recent recent_;
  std::unordered_multimap<std::size_t, Recent::iterator> lookup_;
};

Cache& cache() {
  static auto* instance = new Cache;  // threads may still evaluate while statics die
  return *instance;
}

std::shared_ptr<const Compiled> compile(const Walk& walk, const WalkOptions& options) {
  counters().compilations.fetch_add(1, std::memory_order_relaxed);
  WalkedGraph walked = build_graph(walk);
  passes::Module module;
  module.graph = std::move(walked.graph);
  auto compiled = std::make_shared<Compiled>();
  passes::Options how = compile_options(options.fuse);
  for (const std::uint32_t source : walked.sources) how.sizes.push_back(walk.numbers[source]);
  compiled->executable = build_executable(std::move(module), how);
  compiled->sources = std::move(walked.sources);
  return compiled;
}

}  // namespace

std::shared_ptr<const Compiled> find_or_build(const Walk& walk, const WalkOptions& options) {
  const std::shared_ptr<Entry> entry = cache().find_or_add(walk.key);
  std::lock_guard building(entry->building);
  if (entry->compiled) {
    counters().hits.fetch_add(1, std::memory_order_relaxed);
    return entry->compiled;
  }
  try {
    entry->compiled = compile(walk, options);
  } catch (...) {
    cache().forget(entry);
    throw;
  }
  return entry->compiled;
}

}  // namespace braze::engine
