// Tensors, their functions, derivatives and transforms. Beside it stand nn.h, optim.h, data.h and serialization.h.
#pragma once

#include "braze/autograd.h"            // IWYU pragma: export
#include "braze/compile.h"             // IWYU pragma: export
#include "braze/dlpack.h"              // IWYU pragma: export
#include "braze/error.h"               // IWYU pragma: export
#include "braze/expression.h"          // IWYU pragma: export
#include "braze/finite_differences.h"  // IWYU pragma: export
#include "braze/func.h"                // IWYU pragma: export
#include "braze/functions.h"           // IWYU pragma: export
#include "braze/tensor.h"              // IWYU pragma: export
