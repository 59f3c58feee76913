// Free functions and operators, a header a family, and what runs and records them.
#pragma once

#include "braze/complex.h"      // IWYU pragma: export
#include "braze/convolution.h"  // IWYU pragma: export
#include "braze/creation.h"     // IWYU pragma: export
#include "braze/elementwise.h"  // IWYU pragma: export
#include "braze/functional.h"   // IWYU pragma: export
#include "braze/in_place.h"     // IWYU pragma: export
#include "braze/linalg.h"       // IWYU pragma: export
#include "braze/picking.h"      // IWYU pragma: export
#include "braze/printing.h"     // IWYU pragma: export
#include "braze/random.h"       // IWYU pragma: export
#include "braze/reductions.h"   // IWYU pragma: export
#include "braze/shaping.h"      // IWYU pragma: export
#include "braze/sorting.h"      // IWYU pragma: export
#include "braze/special.h"      // IWYU pragma: export
#include "braze/storage.h"      // IWYU pragma: export
#include "braze/tensor.h"       // IWYU pragma: export
#include "braze/views.h"        // IWYU pragma: export

namespace braze {

// ---- files ----
// NumPy .npy, memory-mapped. Throws ValueError naming the path and what is wrong with it.
Tensor load_npy(const std::string& path);
void save_npy(const std::string& path, const Tensor& tensor);

// ---- evaluation ----
// Runs what all of them need, as one program.
void eval(std::span<const Tensor> tensors);
void eval(std::initializer_list<Tensor> tensors);

// While one lives, this thread evaluates each op at once: the same bits, one op at a time.
class EagerScope {
 public:
  explicit EagerScope(bool on = true);
  ~EagerScope();
  EagerScope(const EagerScope&) = delete;

 private:
  bool before_;
};

struct EngineStatistics {
  std::uint64_t recorded, evaluations, hits, compilations;
};
EngineStatistics engine_statistics();

// Where BRAZE_EXPLAIN and BRAZE_DUMP write; nullptr-like (empty) is standard error.
void set_log_sink(void (*sink)(const char* line));

void set_num_threads(int count);
int get_num_threads();

}  // namespace braze
