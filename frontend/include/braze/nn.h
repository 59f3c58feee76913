// torch.nn: modules, what initialises them, and what looks after their gradients. https://pytorch.org/docs/stable/nn.html
#pragma once

#include "braze/functional.h"        // IWYU pragma: export
#include "braze/nn/activations.h"    // IWYU pragma: export
#include "braze/nn/attention.h"      // IWYU pragma: export
#include "braze/nn/containers.h"     // IWYU pragma: export
#include "braze/nn/conv.h"           // IWYU pragma: export
#include "braze/nn/dropout.h"        // IWYU pragma: export
#include "braze/nn/embedding.h"      // IWYU pragma: export
#include "braze/nn/init.h"           // IWYU pragma: export
#include "braze/nn/linear.h"         // IWYU pragma: export
#include "braze/nn/losses.h"         // IWYU pragma: export
#include "braze/nn/module.h"         // IWYU pragma: export
#include "braze/nn/normalization.h"  // IWYU pragma: export
#include "braze/nn/pooling.h"        // IWYU pragma: export
#include "braze/nn/recurrent.h"      // IWYU pragma: export
#include "braze/nn/reshaping.h"      // IWYU pragma: export
#include "braze/nn/utils.h"          // IWYU pragma: export
