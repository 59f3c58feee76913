// Pickles of IValues: what lies in a container's data.pkl. Written by protocol 2 with PyTorch's names; read by any protocol's
// opcodes as far as data needs them. A pickle is a program: of what it may call the reader knows a fixed list, and everything
// else is refused.
#pragma once

#include <string>
#include <string_view>

#include "braze/ivalue.h"
#include "frontend/serialization/container.h"

namespace braze::serialization {

// Throws Error for what is nested deeper than max_depth.
std::string pickle(const IValue& value, Storages& storages);

// Throws Error for a pickle that is damaged, names something unknown, or holds itself.
IValue unpickle(std::string_view pickle, Container& container);

}  // namespace braze::serialization
