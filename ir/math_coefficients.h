// The coefficients of ir/math.h, lowest power first: what tests/ulp/coefficients.py prints. Nobody edits a digit here.
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
      1.0f, 1.0f, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558aap-5f, 0x1.12396ep-7f, 0x1.6a5242p-10f};
  // 2^r = sum c[k] r^k on |r| <= 1/2
  static constexpr std::array exp2 = {
      1.0f, 0x1.62e430p-1f, 0x1.ebfbdcp-3f, 0x1.c6af7cp-5f, 0x1.3b2de0p-7f, 0x1.5f0832p-10f, 0x1.416b72p-13f};
  // e^r - 1 - r = r^2 sum c[k] r^k on |r| <= ln 2 / 2
  static constexpr std::array expm1 = {
      0x1.0p-1f, 0x1.555554p-3f, 0x1.5554f8p-5f, 0x1.1112dcp-7f, 0x1.6d3a3ep-10f, 0x1.9e6948p-13f};
  // log(1 + f) - f = f^2 sum c[k] f^k on [-1/4, 1/2]
  static constexpr std::array log = {
      -0x1.0p-1f, 0x1.5555a4p-2f, -0x1.000048p-2f, 0x1.996988p-3f, -0x1.54edd2p-3f, 0x1.288266p-3f, -0x1.0d9a66p-3f,
      0x1.ace81cp-4f, -0x1.71c100p-5f};
  // e^2r - 1 = r sum c[k] r^k on |r| <= ln 2 / 4
  static constexpr std::array tanh_exp = {
      0x1.0p+1f, 0x1.fffffcp+0f, 0x1.555492p+0f, 0x1.5558aap-1f, 0x1.12396ep-2f, 0x1.6a5242p-4f};
  // tanh(x) - x = x^3 sum c[k] x^2k on |x| <= 1
  static constexpr std::array tanh = {
      -0x1.55553cp-2f, 0x1.110be2p-3f, -0x1.b961ecp-5f, 0x1.600780p-6f, -0x1.0458e0p-7f, 0x1.2d89d8p-9f,
      -0x1.77970ep-12f};
  // e^r = sum c[k] r^k on |r| <= ln 2 / 2, computed in f64
  static constexpr std::array sigmoid = {
      0x1.0000000261ce1p+0, 0x1.0000009c19ba8p+0, 0x1.fffffaae89173p-2, 0x1.55540a5bf686ep-3, 0x1.55589a939203fp-5,
      0x1.126d1dbf61b45p-7, 0x1.6ab9723cf4d6bp-10};
};
template <>
struct Coefficients<double> {
  // e^r = sum c[k] r^k on |r| <= ln 2 / 2
  static constexpr std::array exp = {
      1.0, 1.0, 0x1.000000000000ap-1, 0x1.555555555550cp-3, 0x1.555555555079fp-5, 0x1.1111111124730p-7,
      0x1.6c16c18438ba8p-10, 0x1.a01a013800551p-13, 0x1.a0199a0dffe1ep-16, 0x1.71df0d0595171p-19, 0x1.28ad5e24a7518p-22,
      0x1.ad9ef2bb04edbp-26};
  // 2^r = sum c[k] r^k on |r| <= 1/2
  static constexpr std::array exp2 = {
      1.0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c59cp-3, 0x1.c6b08d704a0d4p-5, 0x1.3b2ab6fba11e5p-7, 0x1.5d87fe78b3afbp-10,
      0x1.4309130c05a9fp-13, 0x1.ffcbfbf914d5dp-17, 0x1.62bfcdd262e74p-20, 0x1.b5260cf68e880p-24, 0x1.e611b44bc6500p-28,
      0x1.e80fc049be548p-32};
  // e^r - 1 - r = r^2 sum c[k] r^k on |r| <= ln 2 / 2
  static constexpr std::array expm1 = {
      0x1.0p-1, 0x1.5555555555559p-3, 0x1.5555555555559p-5, 0x1.111111110f70bp-7, 0x1.6c16c16c16856p-10,
      0x1.a01a01af9bc59p-13, 0x1.a01a019e2fdc4p-16, 0x1.71ddf93a921fbp-19, 0x1.27e4f91e0d832p-22, 0x1.af5d02e5246bdp-26,
      0x1.1f38292980bd1p-29};
  // 2 atanh(s) - 2 s = s^3 sum c[k] s^2k on |s| <= 1/5
  static constexpr std::array log = {
      0x1.555555555577dp-1, 0x1.99999998eec53p-2, 0x1.249249b38ff80p-2, 0x1.c71c0076ae684p-3, 0x1.74750959206c1p-3,
      0x1.384fc8071c9d4p-3, 0x1.3ad6380916b1ep-3};
  // e^2r - 1 = r sum c[k] r^k on |r| <= ln 2 / 4
  static constexpr std::array tanh_exp = {
      0x1.0p+1, 0x1.0p+1, 0x1.555555555555ap+0, 0x1.5555555555531p-1, 0x1.111111110f169p-2, 0x1.6c16c16c26f8bp-4,
      0x1.a01a01b1e2d05p-6, 0x1.a01a0151ebee9p-8, 0x1.71ddf38da5286p-10, 0x1.27e58f295941dp-12, 0x1.af66aefc47436p-15,
      0x1.1e628d4470773p-17};
  // tanh(x) - x = x^3 sum c[k] x^2k on |x| <= 1
  static constexpr std::array tanh = {
      -0x1.555555555550ep-2, 0x1.111111110d720p-3, -0x1.ba1ba1b809a77p-5, 0x1.664f4835b613cp-6, -0x1.226e2eac90af4p-7,
      0x1.d6d30e061caeap-9, -0x1.7d9bba9dc7348p-10, 0x1.3520ce94d3f23p-11, -0x1.f33292e3bab40p-13, 0x1.8d6ed16462dd9p-14,
      -0x1.2e97dca7dbbf8p-15, 0x1.9db669b405ff2p-17, -0x1.ca27069c8d8a2p-19, 0x1.5e5829c33616cp-21,
      -0x1.0c1ad6abe173fp-24};
};
// clang-format on

}  // namespace braze::ir::math
