#include "ir/infer.h"

#include "ir/error.h"
#include "tests/catch.h"

using namespace braze;
using namespace braze::ir;

namespace {

std::vector<Type> infer_types(Op op, const std::vector<Type>& types, const Attributes& attributes = None{}) {
  std::vector<const Type*> in;
  for (const Type& type : types) in.push_back(&type);
  std::vector<Type> out(info(op).results);
  infer(op, attributes, in, out);
  return out;
}

Type one(Op op, const std::vector<Type>& types, const Attributes& attributes = None{}) {
  return infer_types(op, types, attributes)[0];
}

// The kind and the words of the error.
template <class E>
std::string error_of(Op op, const std::vector<Type>& types, const Attributes& attributes = None{}) {
  try {
    infer_types(op, types, attributes);
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

Type f32(Shape shape) { return {DType::f32, shape}; }
const Extent n = Extent::symbol(0), m = Extent::symbol(1);

}  // namespace

TEST_CASE("each elementwise row takes exactly the dtypes of its table and gives its result type") {
  for (int i = 0; i < op_count; ++i) {
    const Op op = static_cast<Op>(i);
    if (info(op).op_class >= OpClass::shaped) continue;
    for (DType t : all_dtypes) {
      std::vector<Type> in(static_cast<std::size_t>(arity(op)), Type{t, {2, n}});
      if (op == Op::where) in[0].dtype = DType::boolean;
      CAPTURE(name(op), name(t));
      if (accepts(op, t))
        CHECK(one(op, in) == Type{info(op).result == ResultType::boolean ? DType::boolean : t, {2, n}});
      else
        CHECK_THROWS_AS(one(op, in), Error);
      if (arity(op) > 1 && accepts(op, t)) {
        in.back().shape = {3, n};
        CHECK_THROWS_AS(one(op, in), ShapeError);
      }
    }
  }
}

TEST_CASE("shapes that differ are named in PyTorch's words, both of them") {
  CHECK(error_of<ShapeError>(Op::add, {f32({2, 3}), f32({2, 4})}) ==
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1 (shapes [2, 3] and [2, 4])");
  CHECK(error_of<ShapeError>(Op::add, {f32({n}), f32({4})}) ==
        "The size of tensor a (s0) must match the size of tensor b (4) at non-singleton dimension 0 (shapes [s0] and [4])");
  CHECK(error_of<TypeError>(Op::add, {f32({2}), {DType::i64, {2}}}) ==
        "add: the operands must have one dtype, not f32 and i64; cast one of them first");
  CHECK(error_of<Error>(Op::bitwise_and, {f32({2}), f32({2})}) == "\"bitwise_and\" not implemented for 'Float'");
  CHECK(error_of<Error>(Op::where, {f32({2}), f32({2}), f32({2})}) ==
        "where expected condition to be a boolean tensor, but got a tensor with dtype Float");
  CHECK_THAT(error_of<Error>(Op::neg, {{DType::boolean, {2}}}), Catch::Matchers::ContainsSubstring("logical_not()"));
  CHECK(error_of<ShapeError>(Op::dot, {f32({2, 3}), f32({4, 5})}, Dot{}) ==
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
  CHECK(error_of<Error>(Op::dot, {f32({2, 3}), {DType::f64, {3, 5}}}, Dot{}) ==
        "expected m1 and m2 to have the same dtype, but got: float32 != float64");
  CHECK(error_of<ShapeError>(Op::reshape, {f32({2, 3})}, ToShape{{4}}) == "shape '[4]' is invalid for input of size 6");
  CHECK(error_of<ShapeError>(Op::expand, {f32({2})}, ToShape{{3}}) ==
        "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  Target sizes: [3].  "
        "Tensor "
        "sizes: [2]");
  CHECK(error_of<IndexError>(Op::max, {f32({2, 0})}, Reduced{2}) ==
        "max(): Expected reduction dim 1 to have non-zero size. (shape [2, 0])");
  CHECK_THAT(
      error_of<ShapeError>(Op::concat, {f32({2, 3}), f32({2, 4})}, Concat{0, 4}),
      Catch::Matchers::ContainsSubstring("Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for "
                                         "tensor number 1 in the list"));
}

TEST_CASE("an Equality decides about symbols") {
  struct Lenient final : Equality {
    std::vector<std::pair<Extent, Extent>> demands;
    bool equal(Extent a, Extent b) override {
      demands.emplace_back(a, b);
      return a.is_symbol() || b.is_symbol();
    }
  } lenient;
  const Type a = f32({n, 3}), b = f32({m, 3});
  const Type* in[] = {&a, &b};
  Type out;
  infer(Op::add, None{}, in, {&out, 1}, lenient);
  CHECK(lenient.demands == std::vector<std::pair<Extent, Extent>>{{n, m}});
  CHECK_THROWS_AS(infer(Op::add, None{}, in, {&out, 1}), ShapeError);
}

TEST_CASE("reductions remove their axes; results have the types that PyTorch gives") {
  for (DType t : all_dtypes) {
    const Type x{t, {2, n, 4}};
    CHECK(one(Op::sum, {x}, Reduced{0b101}) == Type{is_float(t) ? t : DType::i64, {n}});
    CHECK(one(Op::max, {x}, Reduced{0b010}) == Type{t, {2, 4}});
    CHECK(one(Op::any, {x}, Reduced{0b111}) == Type{DType::boolean, {}});
    CHECK(one(Op::argmin, {x}, Reduced{0b001}) == Type{DType::i64, {n, 4}});
    CHECK(infer_types(Op::max_with_index, {x}, Reduced{0b100}) == std::vector<Type>{{t, {2, n}}, {DType::i64, {2, n}}});
  }
  CHECK(one(Op::sum, {f32({})}, Reduced{0}) == f32({}));
  CHECK(one(Op::sum, {f32({0, 3})}, Reduced{1}) == f32({3}));
  CHECK(one(Op::max, {f32({0, 3})}, Reduced{2}) == f32({0}));
  CHECK_THROWS_AS(one(Op::argmax, {f32({2, 3})}, Reduced{3}), ShapeError);
  CHECK_THROWS_AS(one(Op::sum, {f32({2, 3})}, Reduced{4}), IndexError);
  CHECK_THROWS_AS(one(Op::sum, {f32({})}, Reduced{1}), IndexError);
}

TEST_CASE("moves: shapes that fit, and none else") {
  const Type x = f32({4, n});
  CHECK(one(Op::permute, {x}, Permutation{{1, 0}}) == f32({n, 4}));
  CHECK_THROWS_AS(one(Op::permute, {x}, Permutation{{0, 0}}), Error);
  CHECK_THROWS_AS(one(Op::permute, {x}, Permutation{{0, 2}}), IndexError);
  CHECK_THROWS_AS(one(Op::permute, {x}, Permutation{{0}}), ShapeError);

  CHECK(one(Op::reshape, {x}, ToShape{{2, n, 2}}) == f32({2, n, 2}));
  CHECK(one(Op::reshape, {x}, ToShape{{m}}) == f32({m}));  // only the values can tell
  CHECK_THROWS_AS(one(Op::reshape, {x}, ToShape{{n, 3}}), ShapeError);
  CHECK(one(Op::reshape, {f32({0, 3})}, ToShape{{7, 0}}) == f32({7, 0}));

  CHECK(one(Op::expand, {f32({1, n})}, ToShape{{m, 5, n}}) == f32({m, 5, n}));
  CHECK_THROWS_AS(one(Op::expand, {f32({n})}, ToShape{{m}}), ShapeError);
  CHECK_THROWS_AS(one(Op::expand, {x}, ToShape{{n}}), ShapeError);

  CHECK(one(Op::slice, {x}, Slice{{3, m}, {4, 2}, {-1, 1}}) == f32({4, 2}));
  CHECK_THROWS_AS(one(Op::slice, {x}, Slice{{3, 0}, {5, n}, {-1, 1}}), IndexError);
  CHECK_THROWS_AS(one(Op::slice, {x}, Slice{{1, 0}, {4, n}, {1, 1}}), IndexError);
  CHECK_THROWS_AS(one(Op::slice, {x}, Slice{{0, 0}, {4, n}, {0, 1}}), ValueError);
  CHECK(one(Op::slice, {x}, Slice{{4, 0}, {0, n}, {1, 1}}) == f32({0, n}));
  CHECK_THROWS_AS(one(Op::slice, {x}, Slice{{0, 0}, {1 << 30, n}, {std::int64_t{1} << 62, 1}}), IndexError);

  CHECK(one(Op::flip, {x}, Axes{2}) == x);
  CHECK_THROWS_AS(one(Op::flip, {x}, Axes{4}), IndexError);
  CHECK(one(Op::pad, {x, f32({})}, Padding{{1, 0}, {2, m}, {7, m}}) == f32({7, m}));
  CHECK_THROWS_AS(one(Op::pad, {x, f32({})}, Padding{{1, 0}, {2, 0}, {6, n}}), ShapeError);
  CHECK_THROWS_AS(one(Op::pad, {x, f32({})}, Padding{{-1, 0}, {2, 0}, {5, n}}), ValueError);
  CHECK_THROWS_AS(one(Op::pad, {x, f32({1})}, Padding{{0, 0}, {0, 0}, {4, n}}), ShapeError);

  CHECK(one(Op::concat, {x, x}, Concat{0, 8}) == f32({8, n}));
  CHECK(one(Op::concat, {x, x}, Concat{1, m}) == f32({4, m}));
  CHECK_THROWS_AS(one(Op::concat, {x, x}, Concat{0, 9}), ShapeError);
  CHECK_THROWS_AS(one(Op::concat, {f32({}), f32({})}, Concat{0, 2}), ShapeError);
  CHECK(one(Op::dot, {f32({n, 2, 3}), f32({n, 3, m})}, Dot{}) == f32({n, 2, m}));
  CHECK_THROWS_AS(one(Op::dot, {f32({n, 2, 3}), f32({m, 3, 4})}, Dot{}), ShapeError);
  CHECK_THROWS_AS(one(Op::dot, {f32({3}), f32({3})}, Dot{}), ShapeError);
  CHECK_THROWS_AS(one(Op::dot, {{DType::boolean, {2, 2}}, {DType::boolean, {2, 2}}}, Dot{}), Error);
}

TEST_CASE("views and stores stay within their operand") {
  const Type s = f32({4, 6});
  CHECK(one(Op::view, {s}, Layout{23, {4, 6}, {-6, -1}}) == f32({4, 6}));
  CHECK(one(Op::view, {s}, Layout{0, {1000}, {0}}) == f32({1000}));
  CHECK(one(Op::view, {s}, Layout{99, {0}, {1}}) == f32({0}));
  CHECK(one(Op::view, {f32({n})}, Layout{99, {2}, {1}}) == f32({2}));
  CHECK_THROWS_AS(one(Op::view, {s}, Layout{1, {24}, {1}}), ShapeError);
  CHECK_THROWS_AS(one(Op::view, {s}, Layout{22, {4, 6}, {-6, -1}}), ShapeError);
  CHECK_THROWS_AS(one(Op::view, {s}, Layout{-1, {1}, {1}}), ShapeError);
  CHECK_THROWS_AS(one(Op::view, {s}, Layout{0, {std::int64_t{1} << 40, 2}, {std::int64_t{1} << 40, 1}}), ShapeError);
  CHECK_THROWS_AS(one(Op::view, {s}, Layout{0, {2}, {1, 1}}), ShapeError);

  CHECK(one(Op::store, {s, f32({4})}, Layout{0, {4}, {6}}) == s);
  CHECK_THROWS_AS(one(Op::store, {s, f32({3})}, Layout{0, {4}, {6}}), ShapeError);
  CHECK_THROWS_AS(one(Op::store, {s, {DType::f64, {4}}}, Layout{0, {4}, {6}}), TypeError);
  CHECK_THROWS_WITH(
      one(Op::store, {s, f32({4})}, Layout{0, {4}, {0}}),
      Catch::Matchers::ContainsSubstring("more than one element of the written-to tensor refers to a single memory location"));
  CHECK(one(Op::accumulate, {s, f32({4})}, Layout{0, {4}, {0}}) == s);
}

TEST_CASE("sizes that no memory has are refused before they are multiplied") {
  const std::int64_t big = std::int64_t{1} << 40;
  CHECK_THROWS_WITH(one(Op::iota, {}, ToShape{{-1}}), "Trying to create tensor with negative dimension -1: [-1]");
  CHECK_THROWS_WITH(one(Op::expand, {f32({1, 1})}, ToShape{{big, big}}),
                    "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]");
  CHECK_THROWS_AS(one(Op::expand, {f32({1, 1})}, ToShape{{std::int64_t{1} << 31, std::int64_t{1} << 31}}), ShapeError);  // bytes
  CHECK_THROWS_AS(one(Op::iota, {}, ToShape{{2, 2}}), ShapeError);
  CHECK_THROWS_AS(one(Op::parameter, {}, Parameter{Parameter::Kind::scalar, 0, DType::f32, {2}}), ShapeError);
  const Type empty = one(Op::expand, {f32({1, 1, 1})}, ToShape{{0, big, big}});
  CHECK_THROWS_AS(one(Op::sum, {empty}, Reduced{1}), ShapeError);
  Shape deep;
  for (int i = 0; i < 65; ++i) deep.push_back(1);
  CHECK_THROWS_AS(one(Op::expand, {f32({})}, ToShape{deep}), ShapeError);
}
