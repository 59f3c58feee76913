// Handwritten digits, classified by softmax over the distances to the classes' means; then what the compiler made of it, and fused
// against eager execution of the same expressions. Usage: digits [folder of the .npy files]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "braze/braze.h"

using namespace braze;

namespace {

#ifndef BRAZE_EXAMPLES_DIR
#define BRAZE_EXAMPLES_DIR "examples"
#endif

Tensor standardise(const Tensor& x) {
  const Tensor mean = x.mean(0, true), deviation = x.var(0, 0.0, true).sqrt();
  return (x - mean) / (deviation + 1e-3f);
}

// One row a class: the mean of the images that carry its label.
Tensor class_means(const Tensor& x, const Tensor& labels) {
  const Tensor member = (labels.unsqueeze(0) == arange(10).unsqueeze(1)).to(float32);  // [10, n]
  return member.matmul(x) / member.sum(1, true);
}

// Log-probabilities up to the scale of the distances: softmax of minus half the squared distance.
Tensor probabilities(const Tensor& x, const Tensor& means) {
  const Tensor cross = x.matmul(means.t());
  return softmax(cross - 0.5f * means.square().sum(1), 1);
}

double median_milliseconds(const std::function<void()>& body, std::vector<double>& times) {
  const auto start = std::chrono::steady_clock::now();
  body();
  times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  std::vector<double> sorted = times;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  return sorted[sorted.size() / 2];
}

// Runs both ways in turn and prints the medians; the results must be the same bits.
void compare(const std::string& name, const std::function<Tensor()>& expression) {
  const auto run = [&](bool eager) {
    const EagerScope scope(eager);
    return expression().to_vector<float>();
  };
  const bool same = run(false) == run(true);
  std::vector<double> fused_times, eager_times;
  double fused = 0, eager = 0;
  for (int round = 0; round < 15; ++round) {
    fused = median_milliseconds([&] { run(false); }, fused_times);
    eager = median_milliseconds([&] { run(true); }, eager_times);
  }
  std::printf("  %-34s %9.3f ms %9.3f ms %6.2fx   %s\n", name.c_str(), fused, eager, eager / fused,
              same ? "same bits" : "DIFFERENT BITS");
}

std::string first_lines(const std::string& text, int count) {
  std::size_t at = 0;
  for (int i = 0; i < count && at != std::string::npos; ++i) at = text.find('\n', at + 1);
  return at == std::string::npos ? text : text.substr(0, at) + "\n  ...";
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : BRAZE_EXAMPLES_DIR "/data";
  const Tensor images = load_npy(folder + "/digits_images.npy").to(float32), labels = load_npy(folder + "/digits_labels.npy");
  std::cout << "The first image:\n" << images(0).reshape({8, 8}) << "\n\n";

  // The first 1,200 images give the means, the rest are scored.
  constexpr std::int64_t train = 1200;
  const Tensor x = standardise(images);
  const Tensor means = class_means(x(slice(0, train)), labels(slice(0, train)));
  const Tensor scores = probabilities(x(slice(train, none)), means);
  const Tensor correct = scores.argmax(1) == labels(slice(train, none));
  std::printf("Accuracy on %ld unseen images: %.1f%%\n\n", static_cast<long>(correct.numel()),
              100 * correct.to(float32).mean().item<double>());

  const Tensor given = x.clone().eval(), centres = means.clone().eval();
  const auto expression = [&] { return probabilities(given, centres); };
  std::cout << "The graph of the scores, as recorded:\n" << expression().dump("graph") << "\n";
  std::cout << "Fused: one block a kernel\n" << expression().dump("fused") << "\n";
  std::cout << "The loops of standardising:\n" << first_lines(standardise(images).dump("loops"), 40) << "\n\n";

  std::printf("  %-34s %12s %12s %7s\n", "expression", "fused", "eager", "ratio");
  compare("standardise 1797x64", [&] { return standardise(images); });
  compare("scores 1797x10", expression);
  const Tensor wide = images.expand({8, 1797, 64}).clone().eval();
  compare("tanh(x * 2 + 1) * x, 8x1797x64", [&] { return tanh(wide * 2 + 1) * wide; });
  compare("softmax over 64, 8x1797", [&] { return softmax(wide, 2); });
  return 0;
} catch (const Error& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
