// Picking elements by index or mask.
#pragma once

#include "braze/tensor.h"

namespace braze {}  // namespace braze
