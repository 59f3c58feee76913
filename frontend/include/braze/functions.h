// Free functions and operators. Shapes broadcast and dtypes promote as in PyTorch; results are new tensors.
#pragma once

#include "braze/tensor.h"

namespace braze {

// ---- one function an op of the table: exp(x), maximum(x, y), where(c, x, y) ----
// Integer operands of real functions (exp, sin, div, ...) become the default dtype. https://pytorch.org/docs/stable/torch.html
#define BRAZE_UNARY(name, accepts, result) Tensor name(const In& x);
#define BRAZE_BINARY(name, accepts, result, algebra) Tensor name(const In& a, const In& b);
#define BRAZE_TERNARY(name, accepts, result) Tensor name(const In& a, const In& b, const In& c);
#include "ir/ops.def"

Tensor operator+(const In& a, const In& b);
Tensor operator-(const In& a, const In& b);
Tensor operator*(const In& a, const In& b);
Tensor operator/(const In& a, const In& b);  // true division
Tensor operator%(const In& a, const In& b);  // remainder: the divisor's sign
Tensor operator==(const In& a, const In& b);
Tensor operator!=(const In& a, const In& b);
Tensor operator<(const In& a, const In& b);
Tensor operator<=(const In& a, const In& b);
Tensor operator>(const In& a, const In& b);
Tensor operator>=(const In& a, const In& b);
Tensor operator&(const In& a, const In& b);
Tensor operator|(const In& a, const In& b);
Tensor operator^(const In& a, const In& b);
Tensor operator<<(const In& a, const In& b);
Tensor operator>>(const In& a, const In& b);
Tensor operator-(const In& x);
Tensor operator~(const In& x);

// ---- creation ----
struct TensorOptions {
  std::optional<DType> dtype;  // the default dtype, or what the data says
};

// Nested data of any depth: tensor({{1, 2}, {3, 4}}). Booleans give bool, integers int64, anything with a float the default dtype.
// Throws ValueError when rows differ in length.
class NestedData {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  NestedData(T value) : scalar_(value) {}  // NOLINT
  NestedData(std::initializer_list<NestedData> list) : list_(list), is_list_(true) {}
  bool is_list() const { return is_list_; }
  const std::vector<NestedData>& list() const { return list_; }
  Scalar scalar() const { return scalar_; }

 private:
  std::vector<NestedData> list_;
  Scalar scalar_;
  bool is_list_ = false;
};
Tensor tensor(const NestedData& data, TensorOptions options = {});
// Copies row-major elements.
Tensor from_bytes(const void* data, SizesView sizes, DType dtype);
template <class T>
Tensor from_data(const T* data, SizesView sizes) {
  return from_bytes(data, sizes, dtype_of<T>());
}

Tensor zeros(SizesView sizes, TensorOptions options = {});
Tensor ones(SizesView sizes, TensorOptions options = {});
Tensor full(SizesView sizes, Scalar value, TensorOptions options = {});
Tensor empty(SizesView sizes, TensorOptions options = {});
Tensor zeros_like(const Tensor& other);
Tensor ones_like(const Tensor& other);
Tensor full_like(const Tensor& other, Scalar value);
// start, start + step, ... before end. Integer arguments give int64. Throws ValueError for a zero step or the wrong direction.
Tensor arange(Scalar end, TensorOptions options = {});
Tensor arange(Scalar start, Scalar end, Scalar step = 1, TensorOptions options = {});
Tensor linspace(double start, double end, std::int64_t steps, TensorOptions options = {});
Tensor eye(std::int64_t n, TensorOptions options = {});
Tensor eye(std::int64_t n, std::int64_t m, TensorOptions options = {});

// ---- joining ----
Tensor cat(std::span<const Tensor> tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor cat(std::initializer_list<Tensor> tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor stack(std::span<const Tensor> tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
Tensor stack(std::initializer_list<Tensor> tensors, std::int64_t dim = 0, std::source_location where = std::source_location::current());
// Constant padding; pairs (low, high) from the last dim backwards, as torch.nn.functional.pad. Negative amounts crop.
Tensor pad(const Tensor& x, SizesView amounts, Scalar value = 0, std::source_location where = std::source_location::current());

// ---- composites ----
Tensor softmax(const In& x, std::int64_t dim);
Tensor log_softmax(const In& x, std::int64_t dim);
// Normalises over the last `normalized_shape.size()` dims. https://pytorch.org/docs/stable/generated/torch.nn.functional.layer_norm.html
Tensor layer_norm(const In& x, SizesView normalized_shape, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
Tensor matmul(const In& a, const In& b);
Tensor square(const In& x);
Tensor relu(const In& x);

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
