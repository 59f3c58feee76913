// Datasets, samplers, and the loader that makes batches. https://pytorch.org/docs/stable/data.html
//
//   data::TensorDataset dataset(x, y);
//   data::DataLoader loader(dataset, {.batch_size = 16, .shuffle = true});
//   for (auto [inputs, targets] : loader) ...
//
// A dataset is any type with `size()` and `get(i)`, which gives an item: a tensor, a number, or an array, pair, tuple or vector of such.
// Batches have the item's structure, with tensors and numbers stacked along a new first dim; or they are what a function of the items
// makes of them. Datasets and samplers are values: a loader has copies. Orders under a seed are PyTorch's.
//
// With num_workers, threads make batches ahead of the caller, who gets them in the same order; they call `get` and the function at the
// same time. An exception in one is thrown where its batch would have been given. The threads end with the pass over the loader, wherever
// that was left.
#pragma once

#include "braze/data/collate.h"  // IWYU pragma: export
#include "braze/data/dataset.h"  // IWYU pragma: export
#include "braze/data/loader.h"   // IWYU pragma: export
#include "braze/data/sampler.h"  // IWYU pragma: export
