// The coefficients of ir/math.h, lowest power first: the output of tests/ulp/coefficients.py, and nobody edits a digit.
#pragma once

#include <array>

namespace braze::ir::math {

template <class T>
struct Coefficients;

// clang-format off: several numbers a line
template <>
struct Coefficients<float> {
  // e^r = sum c[k] r^k on |r| <= ln 2 / 2
  static constexpr std::array exp = {
      0x1p0f, 0x1p0f, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558aap-5f, 0x1.12396ep-7f, 0x1.6a5242p-10f};
  // 2^r = sum c[k] r^k on |r| <= 1/2
  static constexpr std::array exp2 = {
      0x1p0f, 0x1.62e43p-1f, 0x1.ebfbdcp-3f, 0x1.c6af7cp-5f, 0x1.3b2dep-7f, 0x1.5f0832p-10f, 0x1.416b72p-13f};
  // e^r - 1 - r = r^2 sum c[k] r^k on |r| <= ln 2 / 2
  static constexpr std::array expm1 = {
      0x1p-1f, 0x1.555554p-3f, 0x1.5554f8p-5f, 0x1.1112dcp-7f, 0x1.6d3a3ep-10f, 0x1.9e6948p-13f};
  // log(1 + f) - f = f^2 sum c[k] f^k on [-1/4, 1/2]
  static constexpr std::array log = {
      -0x1p-1f, 0x1.5555a4p-2f, -0x1.000048p-2f, 0x1.996988p-3f, -0x1.54edd2p-3f, 0x1.288266p-3f, -0x1.0d9a66p-3f,
      0x1.ace81cp-4f, -0x1.71c1p-5f};
  // e^2r - 1 = r sum c[k] r^k on |r| <= ln 2 / 4
  static constexpr std::array tanh_exp = {
      0x1p1f, 0x1.fffffcp0f, 0x1.555492p0f, 0x1.5558aap-1f, 0x1.12396ep-2f, 0x1.6a5242p-4f};
  // tanh(x) - x = x^3 sum c[k] x^2k on |x| <= 1
  static constexpr std::array tanh = {
      -0x1.55553cp-2f, 0x1.110be2p-3f, -0x1.b961ecp-5f, 0x1.60078p-6f, -0x1.0458ep-7f, 0x1.2d89d8p-9f, -0x1.77970ep-12f};
  // erf(x) - x = x sum c[k] x^2k on |x| <= 0.93
  static constexpr std::array erf = {
      0x1.06eba8p-3f, -0x1.81274p-2f, 0x1.ce2d64p-4f, -0x1.b8011ap-6f, 0x1.544a1ap-8f, -0x1.a60a2cp-11f, 0x1.4f674ap-14f};
  // log(erfc(x)) = x sum c[k] x^k on [0.92, 4]
  static constexpr std::array erfc = {
      -0x1.20ef1cp0f, -0x1.45328ap-1f, -0x1.b3259ap-4f, 0x1.8551bcp-6f, -0x1.dd6d8ap-9f, 0x1.527c1p-12f, -0x1.78d5dcp-17f};
  // e^r = sum c[k] r^k on |r| <= ln 2 / 2, computed in f64
  static constexpr std::array sigmoid = {
      0x1.0000000261ce1p0, 0x1.0000009c19ba8p0, 0x1.fffffaae89173p-2, 0x1.55540a5bf686ep-3, 0x1.55589a939203fp-5,
      0x1.126d1dbf61b45p-7, 0x1.6ab9723cf4d6bp-10};
};
template <>
struct Coefficients<double> {
  // e^r = sum c[k] r^k on |r| <= ln 2 / 2
  static constexpr std::array exp = {
      0x1p0, 0x1p0, 0x1.000000000000ap-1, 0x1.555555555550cp-3, 0x1.555555555079fp-5, 0x1.111111112473p-7,
      0x1.6c16c18438ba8p-10, 0x1.a01a013800551p-13, 0x1.a0199a0dffe1ep-16, 0x1.71df0d0595171p-19, 0x1.28ad5e24a7518p-22,
      0x1.ad9ef2bb04edbp-26};
  // 2^r = sum c[k] r^k on |r| <= 1/2
  static constexpr std::array exp2 = {
      0x1p0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c59cp-3, 0x1.c6b08d704a0d4p-5, 0x1.3b2ab6fba11e5p-7, 0x1.5d87fe78b3afbp-10,
      0x1.4309130c05a9fp-13, 0x1.ffcbfbf914d5dp-17, 0x1.62bfcdd262e74p-20, 0x1.b5260cf68e88p-24, 0x1.e611b44bc65p-28,
      0x1.e80fc049be548p-32};
  // e^r - 1 - r = r^2 sum c[k] r^k on |r| <= ln 2 / 2
  static constexpr std::array expm1 = {
      0x1p-1, 0x1.5555555555559p-3, 0x1.5555555555559p-5, 0x1.111111110f70bp-7, 0x1.6c16c16c16856p-10,
      0x1.a01a01af9bc59p-13, 0x1.a01a019e2fdc4p-16, 0x1.71ddf93a921fbp-19, 0x1.27e4f91e0d832p-22, 0x1.af5d02e5246bdp-26,
      0x1.1f38292980bd1p-29};
  // 2 atanh(s) - 2 s = s^3 sum c[k] s^2k on |s| <= 1/5
  static constexpr std::array log = {
      0x1.555555555554fp-1, 0x1.999999999c17cp-2, 0x1.24924921e4102p-2, 0x1.c71c74900193ep-3, 0x1.745c4ac972d99p-3,
      0x1.3b35c375939b2p-3, 0x1.0dcb633a580dap-3, 0x1.1b830ea16c9b7p-3};
  // e^2r - 1 = r sum c[k] r^k on |r| <= ln 2 / 4
  static constexpr std::array tanh_exp = {
      0x1p1, 0x1p1, 0x1.555555555555ap0, 0x1.5555555555531p-1, 0x1.111111110f169p-2, 0x1.6c16c16c26f8bp-4,
      0x1.a01a01b1e2d64p-6, 0x1.a01a0151eca82p-8, 0x1.71ddf38d8751ep-10, 0x1.27e58f25a66a7p-12, 0x1.af66af44b939p-15,
      0x1.1e62965f94371p-17};
  // tanh(x) - x = x^3 sum c[k] x^2k on |x| <= 1
  static constexpr std::array tanh = {
      -0x1.555555555550ep-2, 0x1.111111110d72p-3, -0x1.ba1ba1b8099ddp-5, 0x1.664f4835b395ap-6, -0x1.226e2eac5002dp-7,
      0x1.d6d30e017eeb7p-9, -0x1.7d9bbaa6db5b6p-10, 0x1.3520d09ae8202p-11, -0x1.f332b7f0109fcp-13, 0x1.8d6f885af66ep-14,
      -0x1.2e9a0faff91a4p-15, 0x1.9dbf1d199324fp-17, -0x1.ca3ca2683f698p-19, 0x1.5e76edf394d3cp-21, -0x1.0c413f2b95841p-24};
};
// clang-format on

}  // namespace braze::ir::math
