// Which loads of a kernel go over a row that it has read before.
#include "ir/loops.h"
#include "tests/catch.h"
#include "tests/ir/kernels.h"

using namespace braze;
using namespace braze::ir;

TEST_CASE("second and last looks at a row are found") {
  const Kernel kernel = parse_kernel(test_kernels::rows);
  const std::vector<RowLook> looks = row_looks(kernel);
  REQUIRE(looks.size() == 2);  // the operand that all rows share is none
  for (const RowLook& look : looks) {
    CHECK(look.load->access.buffer == 0);
    CHECK(look.row->stride == Size::of_value(kernel.sizes[1]));
  }
  CHECK((looks[0].is_second && !looks[0].is_last));
  CHECK(looks[0].written_later == std::vector<std::uint32_t>{1});
  CHECK((!looks[1].is_second && looks[1].is_last));
  CHECK(looks[1].written_later.empty());
}

TEST_CASE("what reads each row once has no looks") {
  for (const std::string_view text : {test_kernels::elementwise, test_kernels::strided, test_kernels::inner_sum})
    CHECK(row_looks(parse_kernel(text)).empty());
}
