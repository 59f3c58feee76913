// Complex tensors against values recorded from PyTorch 2.15: functions of one variable on both sides of their branch cuts, arithmetic,
// sums and products; that parts and conjugates are views; and PyTorch's rules for dtypes and refusals.
#include <cmath>
#include <limits>

#include "braze/braze.h"
#include "tests/catch.h"

using namespace braze;

namespace {

using C = std::complex<double>;
using Numbers = std::vector<C>;
constexpr double inf = std::numeric_limits<double>::infinity();

const Numbers points = {{0.3, 0.4}, {-1.2, 0.7}, {2.5, -3.1}, {-0.6, -0.2}, {1.0, 0.0}, {-2.0, 0.0}, {0.0, 0.9}, {-0.0, -4.0}};

Tensor numbers(const Numbers& values) { return from_data(values.data(), {static_cast<std::int64_t>(values.size())}); }
Tensor matrix() { return numbers(points).reshape({2, 4}); }
Numbers values(const Tensor& t) { return t.to(complex128).contiguous().to_vector<C>(); }

bool near(double a, double b, double within) { return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= within; }

// Each part to within `error` of the number's size.
void check_near(const Numbers& got, const Numbers& wanted, double error) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double within = error * (1 + std::abs(wanted[i]));
    INFO(i << ": " << got[i] << ", not " << wanted[i]);
    CHECK(near(got[i].real(), wanted[i].real(), within));
    CHECK(near(got[i].imag(), wanted[i].imag(), within));
  }
}

struct Recorded {
  const char* name;
  Tensor (*function)(const In&);
  Numbers wanted;
};

// clang-format off: a line a function
const Recorded functions[] = {
    {"exp", [](const In& x) { return exp(x); }, {{1.2433022950695027, 0.5256597791969788}, {0.23036603983635642, 0.19403463860745787}, {-12.171957934130784, -0.5065561689756112}, {0.5378719420661253, -0.10903204047534289}, {2.718281828459045, 0.0}, {0.1353352832366127, 0.0}, {0.6216099682706644, 0.7833269096274834}, {-0.6536436208636119, 0.7568024953079282}}},
    {"exp2", [](const In& x) { return exp2(x); }, {{1.184126211560744, 0.33698914167254423}, {0.3850359297664858, 0.20300715160470958}, {-3.090432009478326, -4.7380618394858205}, {0.653424486316411, -0.09116864773701758}, {2.0, 0.0}, {0.25, 0.0}, {0.8116456896253996, 0.5841500445198216}, {-0.9326870768360711, -0.360686590689181}}},
    {"expm1", [](const In& x) { return expm1(x); }, {{0.2433022950695026, 0.5256597791969788}, {-0.7696339601636437, 0.19403463860745787}, {-13.171957934130784, -0.5065561689756112}, {-0.4621280579338747, -0.10903204047534289}, {1.718281828459045, 0.0}, {-0.8646647167633873, 0.0}, {-0.3783900317293356, 0.7833269096274834}, {-1.653643620863612, 0.7568024953079282}}},
    {"log", [](const In& x) { return log(x); }, {{-0.6931471805599453, 0.9272952180016123}, {0.32876000145839707, 2.613518205163434}, {1.381900108103351, -0.8921338360465839}, {-0.4581453659370775, -2.819842099193151}, {0.0, 0.0}, {0.6931471805599453, 3.141592653589793}, {-0.10536051565782627, 1.5707963267948966}, {1.3862943611198906, -1.5707963267948966}}},
    {"log2", [](const In& x) { return log2(x); }, {{-1.0, 1.3378042124509764}, {0.47430042374667786, 3.7705097538623105}, {1.993660432964627, -1.2870770610736542}, {-0.6609640474436811, -4.068172212595884}, {0.0, 0.0}, {1.0, 4.532360141827194}, {-0.15200309344504995, 2.266180070913597}, {2.0, -2.266180070913597}}},
    {"log10", [](const In& x) { return log10(x); }, {{-0.30102999566398114, 0.40271919627337316}, {0.14277865450388685, 1.13503653485617}, {0.6001515914907924, -0.38744880211421173}, {-0.19897000433601877, -1.2246418635180674}, {0.0, 0.0}, {0.30102999566398114, 1.3643763538418412}, {-0.04575749056067511, 0.6821881769209206}, {0.6020599913279623, -0.6821881769209206}}},
    {"log1p", [](const In& x) { return log1p(x); }, {{0.30759281954511664, 0.2984989315861793}, {-0.31743913621798486, 1.849095985800008}, {1.5423292413741962, -0.7248661436153412}, {-0.8047189562170501, -0.4636476090008061}, {0.6931471805599453, 0.0}, {0.0, 3.141592653589793}, {0.2966634226388672, 0.7328151017865066}, {1.416606672028108, -1.3258176636680326}}},
    {"sqrt", [](const In& x) { return sqrt(x); }, {{0.6324555320336759, 0.31622776601683794}, {0.3076072162230435, 1.1378146595436753}, {1.8003418495313572, -0.8609476030363217}, {0.12738824913169164, -0.7850017617921873}, {1.0, 0.0}, {0.0, 1.4142135623730951}, {0.6708203932499369, 0.6708203932499369}, {1.4142135623730951, -1.4142135623730951}}},
    {"rsqrt", [](const In& x) { return rsqrt(x); }, {{1.2649110640673518, -0.6324555320336759}, {0.22142051928130613, -0.8190169133723012}, {0.4520676036091419, 0.21618478726080725}, {0.2014185071985562, 1.2411967672541266}, {1.0, 0.0}, {0.0, -0.7071067811865475}, {0.7453559924999299, -0.7453559924999299}, {0.35355339059327373, 0.35355339059327373}}},
    {"reciprocal", [](const In& x) { return reciprocal(x); }, {{1.2, -1.6}, {-0.6217616580310881, -0.3626943005181347}, {0.1576292559899117, 0.19546027742749053}, {-1.5, 0.5}, {1.0, 0.0}, {-0.5, -0.0}, {0.0, -1.1111111111111112}, {-0.0, 0.25}}},
    {"sin", [](const In& x) { return sin(x); }, {{0.31947873074156474, 0.3924066848326388}, {-1.1698665727426565, 0.27487868678117583}, {6.655908095433095, 8.873828033232881}, {-0.5759730159208041, -0.16616977346071038}, {0.8414709848078965, 0.0}, {-0.9092974268256817, -0.0}, {0.0, 1.0265167257081753}, {-0.0, -27.28991719712775}}},
    {"cos", [](const In& x) { return cos(x); }, {{1.0327878842028413, -0.12138561220787392}, {0.4548202223691478, 0.7070296600921536}, {-8.909918914115961, 6.6289474026864506}, {0.8418974229977906, -0.11368285845827245}, {0.5403023058681398, -0.0}, {-0.4161468365471424, 0.0}, {1.4330863854487745, -0.0}, {27.308232836016487, -0.0}}},
    {"tan", [](const In& x) { return tan(x); }, {{0.26107368184166296, 0.4106334708425564}, {-0.4778641038326366, 1.3472197399061192}, {-0.0038876485636323843, -0.9988417556731877}, {-0.645711260264873, -0.2845668233705277}, {1.557407724654902, 0.0}, {2.185039863261519, 0.0}, {0.0, 0.7162978701990246}, {-0.0, -0.999329299739067}}},
    {"asin", [](const In& x) { return asin(x); }, {{0.2806295622918058, 0.4051123371780309}, {-0.9113541895315601, 0.9786545955936737}, {0.6634217454564878, -2.0787178382316327}, {-0.6219473660246818, -0.24366128541928805}, {1.5707963267948966, 0.0}, {-1.5707963267948966, 1.3169578969248166}, {0.0, 0.8088669356527826}, {-0.0, -2.0947125472611012}}},
    {"acos", [](const In& x) { return acos(x); }, {{1.2901667645030908, -0.4051123371780309}, {2.4821505163264566, -0.9786545955936737}, {0.9073745813384088, 2.0787178382316327}, {2.1927436928195783, 0.24366128541928805}, {0.0, 0.0}, {3.141592653589793, -1.3169578969248166}, {1.5707963267948966, -0.8088669356527826}, {1.5707963267948966, 2.0947125472611012}}},
    {"atan", [](const In& x) { return atan(x); }, {{0.3373704711117763, 0.37908687234202215}, {-0.970240307795099, 0.2600749516525136}, {1.4085091937281786, -0.1929002740258036}, {-0.5535743588970452, -0.1469466662255298}, {0.7853981633974483, 0.0}, {-1.1071487177940904, 0.0}, {0.0, 1.4722194895832204}, {-1.5707963267948966, -0.25541281188299536}}},
    {"sinh", [](const In& x) { return sinh(x); }, {{0.2804817641764754, 0.4070739913234487}, {-1.1544997246948547, 1.166456341965758}, {-6.0449719633477565, -0.2549846587971143}, {-0.6239628975263946, -0.2355155815890125}, {1.1752011936438014, 0.0}, {-3.626860407847019, 0.0}, {0.0, 0.7833269096274834}, {0.0, 0.7568024953079282}}},
    {"cosh", [](const In& x) { return cosh(x); }, {{0.9628205308930272, 0.11858578787353008}, {1.3848657645312112, -0.9724217033583001}, {-6.126985970783028, -0.2515715101784969}, {1.1618348395925198, 0.1264835411136696}, {1.5430806348152437, 0.0}, {3.7621956910836314, -0.0}, {0.6216099682706644, 0.0}, {-0.6536436208636119, -0.0}}},
    {"tanh", [](const In& x) { return tanh(x); }, {{0.33825474326547145, 0.3811320742724429}, {-0.9544807059989404, 0.17207341976303492}, {0.9866596614769929, 0.0011048169131481738}, {-0.5525688048246008, -0.14255444646842996}, {0.7615941559557649, 0.0}, {-0.9640275800758168, 0.0}, {0.0, 1.2601582175503392}, {-0.0, -1.1578212823495775}}},
    {"asinh", [](const In& x) { return asinh(x); }, {{0.3189624333048184, 0.3903162045220237}, {-1.092764785757737, 0.43561357907974146}, {2.0720545284198093, -0.8765852364363503}, {-0.5764844975630771, -0.17166224024696028}, {0.8813735870195429, 0.0}, {-1.4436354751788103, 0.0}, {0.0, 1.1197695149986342}, {-2.0634370688955608, -1.5707963267948966}}},
    {"acosh", [](const In& x) { return acosh(x); }, {{0.4051123371780309, 1.2901667645030908}, {0.9786545955936737, 2.4821505163264566}, {2.0787178382316327, -0.9073745813384089}, {0.24366128541928805, -2.1927436928195783}, {0.0, 0.0}, {1.3169578969248166, 3.141592653589793}, {0.8088669356527826, 1.5707963267948966}, {2.0947125472611012, -1.5707963267948966}}},
    {"atanh", [](const In& x) { return atanh(x); }, {{0.2614921387956719, 0.4088225229163511}, {-0.5770573776534308, 1.0785743834118922}, {0.15287177229470325, -1.3731618982454357}, {-0.6412373393653842, -0.29400130177378375}, {inf, 0.0}, {-0.5493061443340549, 1.5707963267948966}, {0.0, 0.7328151017865067}, {-0.0, -1.3258176636680326}}},
    {"sigmoid", [](const In& x) { return sigmoid(x); }, {{0.5774309320633587, 0.09901811424847043}, {0.206957353639508, 0.1250666373295921}, {1.0893261816032604, -0.004050205757034822}, {0.35300294752086614, -0.045870795144722955}, {0.7310585786300049, 0.0}, {0.11920292202211755, 0.0}, {0.5, 0.2415275328082892}, {0.5000000000000001, 1.0925199316307597}}},
    {"sgn", [](const In& x) { return sgn(x); }, {{0.6, 0.8}, {-0.8637789008984335, 0.5038710255240862}, {0.6277524511897817, -0.7784130394753294}, {-0.9486832980505138, -0.31622776601683794}, {1.0, 0.0}, {-1.0, 0.0}, {0.0, 1.0}, {-0.0, -1.0}}},
    {"square", [](const In& x) { return square(x); }, {{-0.07000000000000003, 0.24}, {0.95, -1.68}, {-3.360000000000001, -15.5}, {0.31999999999999995, 0.24}, {1.0, 0.0}, {4.0, -0.0}, {-0.81, 0.0}, {-16.0, 0.0}}},
};
// clang-format on

}  // namespace

TEST_CASE("functions of a complex variable give what PyTorch recorded, in both widths") {
  const Tensor z = numbers(points);
  for (const Recorded& f : functions) {
    INFO(f.name);
    check_near(values(f.function(z)), f.wanted, 1e-13);
    const Tensor narrow = f.function(z.to(complex64));
    CHECK(narrow.dtype() == complex64);
    check_near(values(narrow), f.wanted, 1e-6);
  }
}

TEST_CASE("the two sides of a cut are the signs of zero") {
  check_near(values(sqrt(numbers({{-4.0, 0.0}, {-4.0, -0.0}}))), {{0, 2}, {0, -2}}, 1e-15);
  check_near(values(log(numbers({{-1.0, 0.0}, {-1.0, -0.0}, {0.0, 0.0}}))), {{0, M_PI}, {0, -M_PI}, {-inf, 0}}, 1e-15);
  check_near(values(acos(numbers({{2.0, 0.0}, {2.0, -0.0}}))), {{0, -1.3169578969248166}, {0, 1.3169578969248166}}, 1e-15);
}

TEST_CASE("nothing overflows on the way") {
  const Tensor large = numbers({{1e200, 1e200}, {3e-200, 4e-200}, {0, 0}});
  check_near(values(large / large), {{1, 0}, {1, 0}, {NAN, NAN}}, 1e-15);
  check_near(values(abs(large)), {{std::sqrt(2) * 1e200, 0}, {5e-200, 0}, {0, 0}}, 1e-15);
  check_near(values(tanh(numbers({{1000, 1}, {-1000, 1}}))), {{1, 0}, {-1, 0}}, 1e-15);
  check_near(values(numbers({{1, 1}}) / 0), {{inf, inf}}, 0);
  check_near(values(exp(numbers({{-inf, 1}, {710, 0}}))), {{0, 0}, {std::exp(710.0), 0}}, 1e-13);
}

TEST_CASE("arithmetic gives what PyTorch recorded") {
  const Tensor z = numbers(points), a = z(slice(0, 4)), b = z(slice(2, 6));
  check_near(values(a * b), {{1.9900000000000002, 0.07000000000000006}, {0.86, -0.18}, {2.5, -3.1}, {1.2, 0.4}}, 1e-15);
  check_near(values(a / b), {{-0.030895334174022706, 0.12168978562421184}, {1.45, -1.65}, {2.5, -3.1}, {0.3, 0.1}}, 1e-15);
  check_near(values(pow(a, b)),
             {{-0.760942968333662, -3.0383992627129777}, {-0.08726730764675554, -1.3818975938669225}, {2.5, -3.1}, {2, -1.5}},
             1e-14);
  check_near(values(pow(a, 1.5)),
             {{0.06324555320336755, 0.3478505426185217},
              {-1.1655989211482245, -1.1500525400962804},
              {1.8319170544157957, -7.733428741138011},
              {-0.23343330183745253, 0.4455234072489741}},
             1e-14);
  check_near(values(pow(2, a)),
             {{1.184126211560744, 0.33698914167254423},
              {0.3850359297664858, 0.20300715160470958},
              {-3.090432009478326, -4.7380618394858205},
              {0.653424486316411, -0.09116864773701758}},
             1e-14);
  check_near(values(a + C(0, 1) - b * 2), {{-4.7, 7.6}, {0, 2.1}, {0.5, -2.1}, {3.4, 0.8}}, 1e-14);
  CHECK(values(pow(z, 0)) == Numbers(8, 1));
  CHECK(equal(z * z, square(z)));
  CHECK((z == z.clone()).all().item<bool>());
  CHECK((z == z(0)).sum().item<int>() == 1);
}

TEST_CASE("sums, products and products of matrices give what PyTorch recorded") {
  const Tensor m = matrix();
  check_near(values(m.sum(0)), {{1.3, 0.4}, {-3.2, 0.7}, {2.5, -2.2}, {-0.6, -4.2}}, 1e-15);
  check_near(values(m.prod(1)), {{1.7239999999999998, -0.29799999999999977}, {-7.2, 0}}, 1e-15);
  check_near(values(m.prod()), {{-12.4128, 2.1456}}, 1e-15);
  check_near(values(m.mean()), {{0, -0.6625}}, 1e-15);
  check_near(values(m.var(1)), {{5.66, 0}, {6.385833333333333, 0}}, 1e-15);
  check_near(values(m.norm()), {{6.344288770224761, 0}}, 1e-14);
  check_near(values(m.cumprod(1)),
             {{0.3, 0.4}, {-0.64, -0.27}, {-2.437, 1.309}, {1.724, -0.298}, {1, 0}, {-2, 0}, {0, -1.8}, {-7.2, 0}}, 1e-15);
  check_near(values(m.cumsum(1).select(1, 3)), {{1.0, -2.2}, {-1, -3.1}}, 1e-15);
  check_near(values(matmul(m, m.mH())), {{18.44, 0}, {0.71, -5.65}, {0.71, 5.65}, {21.81, 0}}, 1e-14);
  check_near(values(vdot(m.flatten(), m.flatten())), {{40.25, 0}}, 1e-14);
  check_near(values(einsum("ij,kj->", {m, m})), values((m.sum(0) * m.sum(0)).sum()), 1e-14);
  // An odd number, none, and more than one step of the tree.
  check_near(values(full({1000}, C(0.6, 0.8), {complex128}).prod()), {std::pow(C(0.6, 0.8), 1000)}, 1e-12);
  CHECK(values(zeros({0, 2}, {complex64}).prod(0)) == Numbers{1, 1});
  CHECK(zeros({0}, {complex64}).sum().item<C>() == 0.0);
}

TEST_CASE("parts are views, and so is the conjugate") {
  Tensor z = numbers({{1, 2}, {3, 4}, {5, 6}});
  z.real().mul_(10);
  z.imag()(0) = -1;
  CHECK(values(z) == Numbers{{10, -1}, {30, 4}, {50, 6}});
  CHECK(z.imag().storage_offset() == 1);
  CHECK(z.real().strides() == Sizes{2});

  Tensor conjugate = z.conj();
  CHECK(conjugate.is_conj());
  CHECK(conjugate.shares_storage(z));
  conjugate.add_(C(0, 1));  // of the conjugate: one less of z
  CHECK(values(z) == Numbers{{10, -2}, {30, 3}, {50, 5}});
  conjugate(slice(1, none)) = C(7, 8);
  CHECK(values(z) == Numbers{{10, -2}, {7, -8}, {7, -8}});
  CHECK(values(conjugate(slice(0, 2))) == Numbers{{10, 2}, {7, 8}});
  CHECK(values(conjugate.conj()) == values(z));
  CHECK(!(conjugate + 0).is_conj());
  CHECK(!conjugate.clone().is_conj());
  CHECK_THROWS_AS(conjugate.view_as_real(), Error);
  CHECK_THROWS_AS(conjugate.data(), Error);

  const Tensor reals = z.view_as_real();
  CHECK(reals.sizes() == Sizes{3, 2});
  Tensor(reals.select(1, 1)).zero_();
  CHECK(values(z) == Numbers{10, 7, 7});
  Tensor pairs = arange(6.0).reshape({3, 2}), seen = pairs.view_as_complex();
  seen.mul_(2);
  CHECK(pairs.to_vector<float>() == std::vector<float>{0, 2, 4, 6, 8, 10});
}

TEST_CASE("views, indices and joining take complex elements as any others") {
  Tensor m = matrix();
  CHECK(values(m.T()(1)) == Numbers{points[1], points[5]});
  CHECK((m.T() + 1).strides() == Sizes{1, 4});
  CHECK((m.T() * m.T()).strides() == Sizes{1, 4});
  CHECK(exp(m.T()).strides() == Sizes{1, 4});
  CHECK(m.T().to(complex64).strides() == Sizes{1, 4});
  CHECK(values(m(tensor({1, 0}), tensor({0, 3}))) == Numbers{points[4], points[3]});
  CHECK(values(cat({m(0), tensor({1.0, 2.0})}, 0)) == Numbers{points[0], points[1], points[2], points[3], 1, 2});
  CHECK(values(where(tensor({true, false}), m.select(1, 0), 0)) == Numbers{points[0], 0});
  CHECK(values(m.flip({1})(0)) == Numbers{points[3], points[2], points[1], points[0]});
  CHECK(values(pad(m(0), {1, 0}, C(1, 1)))[0] == C(1, 1));
  m(tensor({0, 0}), tensor({1, 1})) = C(9, 9);
  m(m.abs() < 1) = 0;
  CHECK(values(m) == Numbers{0, {9, 9}, points[2], 0, 1, points[5], 0, points[7]});
  Tensor sums = zeros({2}, {complex64});
  sums.index_add_(0, tensor({0, 0, 1}), tensor({C(1, 1), C(2, 2), C(3, 3)}));
  CHECK(values(sums) == Numbers{{3, 3}, {3, 3}});
  CHECK(values(gather(matrix(), 1, tensor({{3}, {0}}))) == Numbers{points[3], points[4]});
  CHECK(matrix().reshape({4, 2}).tril().sum().item<C>().real() == Catch::Approx(0.3 + 2.5 - 0.6 + 1 - 2).margin(1e-12));
}

TEST_CASE("complex is the highest category") {
  CHECK(promote_types(complex64, float64) == complex128);
  CHECK(promote_types(complex64, int64) == complex64);
  CHECK(promote_types(float16, complex64) == complex64);
  CHECK((ones({2}, {float64}) * C(0, 1)).dtype() == complex128);
  CHECK((ones({2}, {int32}) * C(0, 1)).dtype() == complex64);
  CHECK((ones({2}, {float64}) * full({}, C(0, 1))).dtype() == complex128);
  CHECK((ones({2}, {complex64}) * 2.5).dtype() == complex64);
  CHECK(tensor({C(1, 2)}).dtype() == complex64);
  CHECK(!can_cast(complex64, float64));
  CHECK(abs(ones({1}, {complex128})).dtype() == float64);
  set_default_dtype(float64);
  const DType widened = tensor({C(1, 2)}).dtype();
  set_default_dtype(float32);
  CHECK(widened == complex128);
}

TEST_CASE("conversions keep, add or drop the imaginary part") {
  const Tensor z = tensor({C(1.75, 2), C(0, -1), C(0, 0)});
  CHECK(z.to(float32).to_vector<float>() == std::vector<float>{1.75, 0, 0});
  CHECK(z.to(int64).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 0, 0});
  CHECK(values(z.to(bool_).to(complex128)) == Numbers{1, 1, 0});
  CHECK(values(arange(3).to(complex64)) == Numbers{0, 1, 2});
  CHECK(z(0).item<C>() == C(1.75, 2));
  CHECK(z(2).item<double>() == 0);
  CHECK_THROWS_AS(z(0).item<double>(), Error);
  Tensor reals = zeros({3});
  CHECK_THROWS_AS(reals.fill_(C(1, 2)), Error);
  CHECK_THROWS_AS(reals.add_(z), Error);
  reals.copy_(z);
  CHECK(reals.to_vector<float>() == std::vector<float>{1.75, 0, 0});
}

TEST_CASE("what has no complex meaning is refused, naming the dtype") {
  using Catch::Matchers::ContainsSubstring;
  const Tensor z = matrix().to(complex64);
  CHECK_THROWS_WITH(z < z, ContainsSubstring("ComplexFloat"));
  CHECK_THROWS_AS(z < z, NotImplementedError);
  CHECK_THROWS_AS(maximum(z, z), TypeError);
  CHECK_THROWS_AS(z.max(), NotImplementedError);
  CHECK_THROWS_AS(round(z), NotImplementedError);
  CHECK_THROWS_AS(z % 2, NotImplementedError);
  CHECK_THROWS_AS(erf(z), NotImplementedError);
  CHECK_THROWS_AS(z & z, NotImplementedError);
  CHECK_THROWS_AS(ones({2}).imag(), TypeError);
  CHECK_THROWS_AS(view_as_complex(ones({3})), Error);
  CHECK_THROWS_AS(view_as_complex(ones({2, 3}).T()), Error);
  CHECK_THROWS_AS(complex(ones({2}), ones({2}, {float64})), Error);
  CHECK_THROWS_AS(complex(ones({2}), ones({3})), ShapeError);
}

TEST_CASE("complex tensors print as PyTorch's") {
  CHECK(tensor({C(1, 2), C(-0.0, -3.5)}).str() == "tensor([1.+2.0000j, -0.-3.5000j])");
  CHECK(full({}, C(0, 1)).str() == "tensor(0.+1.j)");
  CHECK(zeros({0, 2}, {complex64}).str() == "tensor([], size=(0, 2), dtype=braze.complex64)");
  CHECK(matrix().str() ==
        "tensor([[ 0.3000+0.4000j, -1.2000+0.7000j,  2.5000-3.1000j, -0.6000-0.2000j],\n"
        "        [ 1.0000+0.0000j, -2.0000+0.0000j,  0.0000+0.9000j, -0.0000-4.0000j]],\n"
        "       dtype=braze.complex128)");
  CHECK((arange(1200).to(complex64) * C(1, -1)).str() ==
        "tensor([0.0000e+00+0.0000e+00j, 1.0000e+00-1.0000e+00j, 2.0000e+00-2.0000e+00j,\n"
        "         ..., 1.1970e+03-1.1970e+03j, 1.1980e+03-1.1980e+03j,\n"
        "        1.1990e+03-1.1990e+03j])");
}

TEST_CASE("linear algebra of complex matrices undoes itself") {
  manual_seed(3);
  const Tensor a = randn({2, 5, 5}, {complex128}), b = randn({2, 5, 3}, {complex128}), unit = eye(5, {complex128});
  CHECK(allclose(matmul(a, linalg::inv(a)), unit.expand({2, 5, 5}), 0, 1e-11));
  CHECK(allclose(matmul(a, linalg::solve(a, b)), b, 0, 1e-11));
  CHECK(allclose(matmul(linalg::solve(a, b.mT(), false), a), b.mT(), 0, 1e-11));
  const Tensor positive = matmul(a, a.mH()) + unit, factor = linalg::cholesky(positive);
  CHECK(allclose(matmul(factor, factor.mH()), positive, 0, 1e-11));
  CHECK(allclose(factor, factor.tril(), 0, 1e-14));
  CHECK(allclose(linalg::cholesky(positive, true), factor.mH(), 0, 1e-11));
  const Tensor& tall = b;
  const Tensor undone = linalg::pinv(tall);
  CHECK(allclose(matmul(matmul(tall, undone), tall), tall, 0, 1e-11));
  // The squares of the singular values are what the product with the adjoint has as eigenvalues, rising.
  CHECK(allclose(square(linalg::svdvals(tall)).flip({-1}), linalg::eigvalsh(matmul(tall.mH(), tall)), 0, 1e-11));
  CHECK(linalg::matrix_rank(tall).to_vector<std::int64_t>() == std::vector<std::int64_t>{3, 3});
  const Tensor turn = tensor({{0.0, -2.0}, {2.0, 0.0}});
  const auto [eigenvalues, eigenvectors] = linalg::eig(turn);
  check_near(values(eigenvalues), {{0, 2}, {0, -2}}, 1e-6);
  CHECK(allclose(matmul(turn.to(complex64), eigenvectors), eigenvectors * eigenvalues));
  CHECK_THROWS_AS(linalg::det(a), NotImplementedError);
}

TEST_CASE("draws of complex numbers have half the variance in each part, from PyTorch's stream") {
  manual_seed(0);
  const Tensor reals = randn({3, 2});
  manual_seed(0);
  const Tensor z = randn({3}, {complex64});
  check_near(values(z), values((reals / std::sqrt(2.0)).view_as_complex()), 1e-6);
}

TEST_CASE("eager and compiled functions give the same bits, conjugates and writes included") {
  const auto step = [](const Tensor& z) { return (exp(z.conj()) * z).sum(0) / 2; };
  const Tensor m = matrix();
  const Numbers lazy = values(step(m));
  {
    EagerScope eager;
    CHECK(values(step(m)) == lazy);
  }
  const CompiledFunction compiled([&](std::span<const Tensor> in) { return std::vector<Tensor>{step(in[0]), in[0].conj()}; });
  const Tensor given[] = {m};
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> out = compiled(given);
    CHECK(values(out[0]) == lazy);
    CHECK(out[1].is_conj());
    CHECK(values(out[1]) == values(m.conj()));
  }
  const Tensor conjugated[] = {m.conj()};
  CHECK(values(compiled(conjugated)[0]) == values(step(m.conj())));
}
