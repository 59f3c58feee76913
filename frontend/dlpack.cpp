#include "frontend/dlpack.h"

#include <memory>

#include "braze/dlpack.h"
#include "braze/functions.h"
#include "ir/error.h"

namespace braze {

namespace {

constexpr std::int32_t cpu = 1;
enum : std::uint8_t { integer = 0, unsigned_integer = 1, floating = 2, brain_floating = 4, complex = 5, boolean = 6 };

DLDataType to_dl(DType type) {
  const std::uint8_t code = type == DType::boolean ? boolean
                            : type == DType::bf16  ? brain_floating
                            : is_complex(type)     ? complex
                            : is_float(type)       ? floating
                            : is_signed(type)      ? integer
                                                   : unsigned_integer;
  return {code, static_cast<std::uint8_t>(size_of(type) * 8), 1};
}

DType from_dl(DLDataType type) {
  for (const DType t : surface_dtypes) {
    const DLDataType ours = to_dl(t);
    if (ours.code == type.code && ours.bits == type.bits && type.lanes == 1) return t;
  }
  fail<TypeError>("Unsupported DLPack type: code {}, {} bits, {} lanes", type.code, type.bits, type.lanes);
}

struct Exported {
  DLManagedTensor managed;
  Tensor::Exported memory;
  Sizes sizes, strides;
};

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& x) {
  auto exported = std::make_unique<Exported>();
  exported->memory = x.export_memory();
  exported->sizes = x.sizes();
  exported->strides = x.strides();
  exported->managed = {{exported->memory.data,
                        {cpu, 0},
                        static_cast<std::int32_t>(x.dim()),
                        to_dl(x.dtype()),
                        exported->sizes.data(),
                        exported->strides.data(),
                        0},
                       exported.get(),
                       [](DLManagedTensor* managed) { delete static_cast<Exported*>(managed->manager_ctx); }};
  return &exported.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  const DLTensor& t = managed->dl_tensor;
  require<DeviceError>(t.device.device_type == cpu, "Unsupported device type {}: braze's tensors live on the CPU",
                       t.device.device_type);
  const DType type = from_dl(t.dtype);
  const Sizes sizes(t.shape, t.shape + t.ndim);
  Sizes strides(sizes.size());
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0; step *= sizes[i]) strides[i] = step;
  if (t.strides) strides.assign(t.strides, t.strides + t.ndim);
  return from_blob(static_cast<std::byte*>(t.data) + t.byte_offset, sizes, strides, type, [managed] {
    if (managed->deleter) managed->deleter(managed);
  });
}

}  // namespace braze
