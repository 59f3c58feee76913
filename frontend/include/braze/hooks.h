// HookList: functions that a module or optimizer calls at some point, and the handles that take them back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "braze/autograd.h"

namespace braze {

template <class Hook>
class HookList {
 public:
  HookList() = default;
  // A copy has the hooks; handles take them back from the first list.
  HookList(const HookList& other) : entries_(other.entries_ ? std::make_shared<Entries>(*other.entries_) : nullptr) {}
  HookList& operator=(const HookList&) = delete;
  HookHandle add(Hook hook, bool prepend = false) {
    if (!entries_) entries_ = std::make_shared<Entries>();
    const std::uint64_t number = entries_->count++;
    auto& all = entries_->hooks;
    all.insert(prepend ? all.begin() : all.end(), {number, std::move(hook)});
    return HookHandle([number, weak = std::weak_ptr(entries_)] {
      if (const auto alive = weak.lock()) std::erase_if(alive->hooks, [&](const auto& entry) { return entry.first == number; });
    });
  }
  bool empty() const { return !entries_ || entries_->hooks.empty(); }
  // A hook may take hooks away, itself too: these are those there were before the first call.
  template <class F>
  void each(F&& call) const {
    if (empty()) return;
    for (const auto& [number, hook] : std::vector(entries_->hooks)) call(hook);
  }

 private:
  struct Entries {
    std::vector<std::pair<std::uint64_t, Hook>> hooks;
    std::uint64_t count = 0;
  };
  std::shared_ptr<Entries> entries_;
};

}  // namespace braze
