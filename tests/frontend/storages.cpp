// Storages: the memory behind a tensor and its views, as PyTorch's untyped_storage() and storage() see it.
#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

TEST_CASE("a storage is all of the memory, whatever the view") {
  const Tensor x = arange(6.).reshape({2, 3}), view = x(slice(), slice(1, none)).t();
  const TypedStorage elements = view.storage();
  CHECK(elements.size() == 6);
  CHECK(elements.dtype() == float32);
  CHECK(elements.to_vector<float>() == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(elements[1].to_double() == 1);
  CHECK(elements[-1].to_double() == 5);
  CHECK_THROWS_AS(elements[6], IndexError);
  CHECK(view.untyped_storage().nbytes() == 24);
  CHECK(view.untyped_storage() == x.untyped_storage());
  CHECK_FALSE(x.clone().untyped_storage() == x.untyped_storage());
}

TEST_CASE("a write to a storage is seen by its tensors") {
  const Tensor x = arange(4), y = x.reshape({2, 2});
  TypedStorage elements = x.storage();
  elements.set(3, 7);
  CHECK(y(1, 1).item<std::int64_t>() == 7);
  UntypedStorage bytes = x.untyped_storage();
  CHECK(bytes[24] == 7);
  bytes.set(24, 9);
  CHECK(y(1, 1).item<std::int64_t>() == 9);
  const UntypedStorage copy = bytes.clone();
  bytes.set(24, 0);
  CHECK(copy[24] == 9);
  bytes.copy_(copy);
  CHECK(x(3).item<std::int64_t>() == 9);
  CHECK(bytes.tensor(int32).sizes() == Sizes{8});
}

TEST_CASE("new storages are zero, and sizes must agree") {
  UntypedStorage bytes(5);
  CHECK(bytes.size() == 5);
  CHECK(bytes[4] == 0);
  CHECK_THROWS_AS(bytes.tensor(int32), Error);
  CHECK_THROWS_AS(bytes.copy_(UntypedStorage(4)), Error);
}
