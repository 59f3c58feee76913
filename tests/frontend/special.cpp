// torch.special against values that mpmath computed with forty digits.
#include <cmath>
#include <limits>

#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Exact {
  const char* text;
  Tensor result;
  std::vector<double> expected;
};

}  // namespace

TEST_CASE("special functions are exact to 1e-13") {
  // clang-format off: a line a function
  const Exact table[] = {
      {"i0(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64}))", i0(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64})), {2.2795853023360673, 1.0025015629340956, 1.2660658777520083, 27.239871823604447, 781672297823.97749}},
      {"i0e(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64}))", i0e(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64})), {0.30850832255367104, 0.90710092578230109, 0.46575960759364044, 0.18354081260932835, 0.073145946482237294}},
      {"i1(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64}))", i1(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64})), {-1.5906368546373291, 0.050062526047092695, 0.56515910399248503, 24.335642142450527, 768532038938.957}},
      {"i1e(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64}))", i1e(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64})), {-0.21526928924893766, 0.045298446808809327, 0.20791041534970845, 0.16397226694454236, 0.071916330598647555}},
      {"special::modified_bessel_k0(tensor({0.1, 1.0, 5.0, 30.0}, {float64}))", special::modified_bessel_k0(tensor({0.1, 1.0, 5.0, 30.0}, {float64})), {2.4270690247020166, 0.42102443824070833, 0.0036910983340425943, 2.1324774964630564e-14}},
      {"special::modified_bessel_k1(tensor({0.1, 1.0, 5.0, 30.0}, {float64}))", special::modified_bessel_k1(tensor({0.1, 1.0, 5.0, 30.0}, {float64})), {9.8538447808706056, 0.60190723019723457, 0.0040446134454521642, 2.1677320018915494e-14}},
      {"bessel_j0(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64}))", bessel_j0(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64})), {0.22389077914123567, 0.99750156206604003, 0.76519768655796655, -0.1775967713143383, -0.086367983581040211}},
      {"bessel_j1(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64}))", bessel_j1(tensor({-2.0, 0.1, 1.0, 5.0, 30.0}, {float64})), {-0.57672480775687339, 0.049937526036242, 0.44005058574493352, -0.32757913759146522, -0.11875106261662294}},
      {"bessel_y0(tensor({0.1, 1.0, 5.0, 30.0}, {float64}))", bessel_y0(tensor({0.1, 1.0, 5.0, 30.0}, {float64})), {-1.5342386513503668, 0.088256964215676958, -0.30851762524903378, -0.11729573168666403}},
      {"bessel_y1(tensor({0.1, 1.0, 5.0, 30.0}, {float64}))", bessel_y1(tensor({0.1, 1.0, 5.0, 30.0}, {float64})), {-6.4589510947020266, -0.78121282130028872, 0.14786314339122684, 0.084425570661747235}},
      {"erfcx(tensor({-3.0, -0.5, 0.0, 2.0, 20.0, 40.0}, {float64}))", erfcx(tensor({-3.0, -0.5, 0.0, 2.0, 20.0, 40.0}, {float64})), {16205.988853999587, 1.9523604891825571, 1.0, 0.25539567631050574, 0.028174348741051319, 0.014100335983377814}},
      {"special::log_ndtr(tensor({-30.0, -3.0, 0.5, 4.0}, {float64}))", special::log_ndtr(tensor({-30.0, -3.0, 0.5, 4.0}, {float64})), {-454.3212439563432, -6.6077262215103495, -0.36894641528865639, -3.1671743377489264e-5}},
      {"special::ndtr(tensor({-10.0, -0.5, 0.5, 3.0}, {float64}))", special::ndtr(tensor({-10.0, -0.5, 0.5, 3.0}, {float64})), {7.6198530241605261e-24, 0.3085375387259869, 0.6914624612740131, 0.99865010196836991}},
      {"ndtri(tensor({1e-20, 0.025, 0.5, 0.9}, {float64}))", ndtri(tensor({1e-20, 0.025, 0.5, 0.9}, {float64})), {-9.2623400897984076, -1.9599639845400542, 0.0, 1.2815515655446006}},
      {"gammainc(tensor({0.3, 2.0, 30.0, 5.0}, {float64}), tensor({0.1, 5.0, 25.0, 0.01}, {float64}))", gammainc(tensor({0.3, 2.0, 30.0, 5.0}, {float64}), tensor({0.1, 5.0, 25.0, 0.01}, {float64})), {0.5459128495917965, 0.9595723180054872, 0.18210391597745511, 8.2641856418064986e-13}},
      {"gammaincc(tensor({0.3, 2.0, 30.0, 5.0}, {float64}), tensor({0.1, 5.0, 25.0, 0.01}, {float64}))", gammaincc(tensor({0.3, 2.0, 30.0, 5.0}, {float64}), tensor({0.1, 5.0, 25.0, 0.01}, {float64})), {0.4540871504082035, 0.040427681994512803, 0.81789608402254489, 0.99999999999917358}},
      {"zeta(tensor({2.0, 1.5, 4.0}, {float64}), tensor({1.0, 0.3, 20.0}, {float64}))", zeta(tensor({2.0, 1.5, 4.0}, {float64}), tensor({1.0, 0.3, 20.0}, {float64})), {1.6449340668482264, 8.2377616714597234, 4.4895703556606486e-5}},
      {"polygamma(2, tensor({0.5, 3.0, -1.5}, {float64}))", polygamma(2, tensor({0.5, 3.0, -1.5}, {float64})), {-16.82879664423432, -0.15411380631918857, -0.2362040516417274}},
      {"special::entr(tensor({0.0, 0.5, -1.0}, {float64}))", special::entr(tensor({0.0, 0.5, -1.0}, {float64})), {0.0, 0.34657359027997265, -inf}},
      {"special::xlog1py(tensor({0.0, 1.0}, {float64}), tensor({-1.0, 1.0}, {float64}))", special::xlog1py(tensor({0.0, 1.0}, {float64}), tensor({-1.0, 1.0}, {float64})), {0.0, 0.69314718055994531}},
      {"special::spherical_bessel_j0(tensor({0.0, 1.0, 10.0}, {float64}))", special::spherical_bessel_j0(tensor({0.0, 1.0, 10.0}, {float64})), {1.0, 0.84147098480789651, -0.054402111088936981}},
  };
  // clang-format on
  for (const Exact& row : table) {
    const std::vector<double> got = row.result.to_vector<double>();
    REQUIRE(got.size() == row.expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(row.text << " element " << i << ": " << got[i] << " for " << row.expected[i]);
      CHECK((got[i] == row.expected[i] || std::abs(got[i] - row.expected[i]) <= 1e-17 + 1e-13 * std::abs(row.expected[i])));
    }
  }
}

TEST_CASE("special functions at the ends of their domains") {
  const auto value = [](const Tensor& t) { return t.item<double>(); };
  CHECK(value(ndtri(tensor(0.))) == -inf);
  CHECK(value(ndtri(tensor(1.))) == inf);
  CHECK(std::isnan(value(ndtri(tensor(1.5)))));
  CHECK(value(erfcx(tensor(-30.))) == inf);
  CHECK(value(i0(tensor(1e4))) == inf);
  CHECK(value(i1(tensor(-1e4))) == -inf);
  CHECK(value(gammainc(tensor(0.), tensor(1.))) == 1);
  CHECK(std::isnan(value(gammainc(tensor(-1.), tensor(1.)))));
  CHECK(value(gammaincc(tensor(2.), tensor(inf))) == 0);
  CHECK(value(zeta(tensor(1.), tensor(2.))) == inf);
  CHECK(value(zeta(tensor(2.), tensor(-3.))) == inf);
  CHECK(value(special::modified_bessel_k0(tensor(0.))) == inf);
  CHECK(std::isnan(value(bessel_y0(tensor(-1.)))));
  CHECK(i0(tensor({1, 2})).dtype() == float32);
  CHECK_THROWS_AS(gammainc(tensor({1, 2}), tensor({1, 2})), NotImplementedError);
}
