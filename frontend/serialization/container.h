// PyTorch's container: an archive with one folder of data.pkl (the object, in which persistent ids stand for storages),
// data/<key> (a storage's bytes), version and byteorder. The C++ and the Python module both read and write files by it; what
// differs is who pickles.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "braze/tensor.h"
#include "frontend/serialization/archive.h"

namespace braze::serialization {

// "FloatStorage" for float32, as pickles call it. UntypedStorage is one of bytes.
const char* storage_class(DType dtype);
std::optional<DType> storage_dtype(std::string_view name);
// "float32"; what torch has by such a name.
std::optional<DType> dtype_named(std::string_view name);

// The storages of one file, each once.
class Storages {
 public:
  // The key of the storage that is under the tensor. Throws Error where it is known as one of another dtype.
  std::string key_of(const Tensor& tensor);
  std::size_t count() const { return tensors_.size(); }
  // `folder` is the name of the folder in the archive. Evaluates what is pending before it writes the first byte.
  void write(std::ostream& out, const std::string& folder, std::string_view pickle) const;
  void evaluate() const;

 private:
  std::vector<Tensor> tensors_;
  std::unordered_map<const void*, std::size_t> keys_;
};

// The folder of a path: its file's name without the extension.
std::string folder_of(const std::string& path);

class Container {
 public:
  // Throws Error for what is no such container.
  explicit Container(std::istream& in);
  std::string pickle() { return archive_.read(folder_ + "data.pkl"); }
  // All elements of a storage, a vector; the same memory each time. Throws Error where the file has not `count` of them.
  Tensor storage(const std::string& key, DType dtype, std::int64_t count);

 private:
  ArchiveReader archive_;
  std::string folder_;
  std::unordered_map<std::string, Tensor> storages_;
};

// What torch._utils._rebuild_tensor_v2 does: a view of a storage's elements. Throws Error where it would reach past them.
Tensor rebuild_tensor(const Tensor& elements, std::int64_t offset, SizesView sizes, SizesView strides, bool is_conjugate,
                      bool requires_grad);

}  // namespace braze::serialization
