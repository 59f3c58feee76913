#include "frontend/engine/host.h"

#include "runtime/run.h"

namespace braze {

namespace engine {
std::atomic<const Host*> current_host{nullptr};
}

void set_host(const Host* host) { engine::current_host.store(host, std::memory_order_release); }

void request_stop() { runtime::request_stop(); }
void clear_stop() { runtime::clear_stop(); }

}  // namespace braze
