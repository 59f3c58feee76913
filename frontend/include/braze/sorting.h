// Scans, sorting and counting.
#pragma once

#include "braze/tensor.h"

namespace braze {}  // namespace braze
