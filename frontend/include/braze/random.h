// Random draws, equal to PyTorch's CPU streams.
#pragma once

#include "braze/tensor.h"

namespace braze {}  // namespace braze
