// The host language, as the engine sees it.
#pragma once

#include <atomic>

#include "braze/host.h"

namespace braze::engine {

extern std::atomic<const Host*> current_host;

// While one lives, this thread evaluates.
class HostScope {
 public:
  HostScope() : host_(current_host.load(std::memory_order_acquire)), entered_(host_ ? host_->enter() : nullptr) {}
  ~HostScope() {
    if (host_) host_->leave(entered_);
  }
  HostScope(const HostScope&) = delete;

 private:
  const Host* host_;
  void* entered_;
};

}  // namespace braze::engine
