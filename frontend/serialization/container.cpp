#include "frontend/serialization/container.h"

#include <algorithm>
#include <array>
#include <istream>
#include <ostream>

#include "braze/functions.h"
#include "frontend/tensor_impl.h"
#include "ir/error.h"

namespace braze::serialization {

namespace {

constexpr std::pair<const char*, DType> storage_classes[] = {
    {"FloatStorage", DType::f32},     {"DoubleStorage", DType::f64},      {"HalfStorage", DType::f16},
    {"BFloat16Storage", DType::bf16}, {"ByteStorage", DType::u8},         {"CharStorage", DType::i8},
    {"ShortStorage", DType::i16},     {"IntStorage", DType::i32},         {"LongStorage", DType::i64},
    {"BoolStorage", DType::boolean},  {"ComplexFloatStorage", complex64}, {"ComplexDoubleStorage", complex128},
};

}  // namespace

const char* storage_class(DType dtype) {
  const auto found =
      std::find_if(std::begin(storage_classes), std::end(storage_classes), [&](const auto& c) { return c.second == dtype; });
  invariant(found != std::end(storage_classes), "a dtype without a class of storages");
  return found->first;
}

std::optional<DType> storage_dtype(std::string_view name) {
  if (name == "UntypedStorage") return DType::u8;
  for (const auto& [known, dtype] : storage_classes)
    if (name == known) return dtype;
  return std::nullopt;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const auto& [_, dtype] : storage_classes)
    if (name == info(dtype).torch_name) return dtype;
  return std::nullopt;
}

// ---- writing ----

std::string Storages::key_of(const Tensor& tensor) {
  const auto [found, fresh] = keys_.try_emplace(tensor.impl()->storage.get(), tensors_.size());
  if (fresh)
    tensors_.push_back(tensor);
  else
    require(tensors_[found->second].dtype() == tensor.dtype(),
            "Cannot save multiple tensors or storages that view the same data as different types");
  return std::to_string(found->second);
}

void Storages::evaluate() const {
  for (const Tensor& tensor : tensors_) tensor.storage_data();
}

void Storages::write(std::ostream& out, const std::string& folder, std::string_view pickle) const {
  evaluate();
  ArchiveWriter archive(out);
  const auto text = [&](const char* name, std::string_view content) {
    archive.add(folder + "/" + name, content.data(), content.size());
  };
  text("data.pkl", pickle);
  text(".format_version", "1");
  text(".storage_alignment", "64");
  text("byteorder", "little");
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    archive.add(fmt::format("{}/data/{}", folder, i), tensors_[i].storage_data(),
                static_cast<std::size_t>(tensors_[i].storage_nbytes()));
  text("version", "3\n");
  text(".data/serialization_id", std::string(40, '0'));
  archive.finish();
}

std::string folder_of(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (const std::size_t dot = name.find_last_of('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  return name.empty() ? "archive" : name;
}

// ---- reading ----

Container::Container(std::istream& in) : archive_(in) {
  for (const auto& [name, _] : archive_.entries()) {
    if (!name.ends_with("/data.pkl") || std::count(name.begin(), name.end(), '/') != 1) continue;
    require(folder_.empty(), "the zip container is damaged: it holds two data.pkl");
    folder_ = name.substr(0, name.size() - std::string_view("data.pkl").size());
  }
  require(!folder_.empty(), "the zip container holds no data.pkl");
  require(!archive_.contains(folder_ + "byteorder") || archive_.read(folder_ + "byteorder") == "little",
          "the file was written on a big-endian machine, which is not supported");
}

Tensor Container::storage(const std::string& key, DType dtype, std::int64_t count) {
  const std::string name = folder_ + "data/" + key;
  require(archive_.contains(name), "the file names a storage '{}' and does not hold it", key);
  const auto bytes = static_cast<std::int64_t>(archive_.size_of(name));
  require(bytes % size_of(dtype) == 0 && count == bytes / size_of(dtype), "a storage of {} elements of {} has {} bytes in the file",
          count, info(dtype).torch_name, bytes);
  const auto [found, fresh] = storages_.try_emplace(key);
  if (fresh) {
    runtime::Block block = runtime::Block::allocate(bytes);
    archive_.read(name, block.data());
    const DType part = component_type(dtype);
    const std::int64_t flat[] = {bytes / size_of(part)};
    found->second = wrap(engine::leaf(engine::TypeRef::make(make_type(part, flat)), std::move(block)), dtype);
  }
  return found->second.dtype() == dtype ? found->second : found->second.view(dtype);
}

Tensor rebuild_tensor(const Tensor& elements, std::int64_t offset, SizesView sizes, SizesView strides, bool is_conjugate,
                      bool requires_grad) {
  Tensor tensor = elements.as_strided(sizes, strides, offset);
  if (is_conjugate) tensor = tensor.conj();
  if (requires_grad) tensor.requires_grad_();
  return tensor;
}

}  // namespace braze::serialization
