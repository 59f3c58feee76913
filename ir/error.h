// Errors: the caller's, or ours.
//
// `require` reports what a user did; its message names the operation, the offending values and what would be right.
// `invariant` reports what only a bug can cause. Every user error derives from braze::Error; InternalError does not, so
// that a host which handles bad input never swallows a bug.
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

#include "ir/error_types.h"

namespace braze {

// A format string checked at compile time that also remembers where it stands.
template <class... Args>
struct Message {
  fmt::format_string<Args...> text;
  std::source_location where;

  template <class S>
  consteval Message(const S& s, std::source_location w = std::source_location::current()) : text(s), where(w) {}
};

// Throws E (a kind of braze::Error) unless `condition` holds.
template <class E = Error, class... Args>
void require(bool condition, Message<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!condition) [[unlikely]]
    throw E(fmt::format(message.text, std::forward<Args>(args)...));
}

// Throws E unconditionally; for branches that have already found the mistake.
template <class E = Error, class... Args>
[[noreturn]] void fail(Message<std::type_identity_t<Args>...> message, Args&&... args) {
  throw E(fmt::format(message.text, std::forward<Args>(args)...));
}

[[noreturn]] void internal_failure(std::string message, const std::source_location& where);

// Throws InternalError, with the place in Braze's source, unless `condition` holds.
template <class... Args>
void invariant(bool condition, Message<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!condition) [[unlikely]]
    internal_failure(fmt::format(message.text, std::forward<Args>(args)...), message.where);
}

}  // namespace braze
