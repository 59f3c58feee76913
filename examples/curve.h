// What the training examples show: a progress bar, and a curve as an SVG picture.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace curve {

// On a terminal only: `done` of `all`.
inline void show_progress(int done, int all) {
  if (!isatty(STDERR_FILENO)) return;
  const int filled = 40 * done / all;
  std::fprintf(stderr, "\r[%s%s] %d/%d%s", std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(40 - filled), ' ').c_str(), done, all, done == all ? "\n" : "");
}

// The values on a logarithmic axis, from left to right.
inline void save(const std::string& path, const std::string& name, const std::vector<double>& values) {
  std::vector<double> heights;
  for (const double v : values) heights.push_back(std::log10(std::max(v, 1e-30)));
  const auto [low, high] = std::minmax_element(heights.begin(), heights.end());
  const double span = std::max(*high - *low, 1e-9), step = 560.0 / static_cast<double>(std::max<std::size_t>(values.size() - 1, 1));
  std::ofstream out(path);
  out << "<svg xmlns='http://www.w3.org/2000/svg' width='640' height='400' font-family='sans-serif' font-size='14'>\n"
      << "<rect width='640' height='400' fill='white'/>\n<text x='320' y='24' text-anchor='middle'>" << name << "</text>\n"
      << "<path d='M50 40 V360 H610' fill='none' stroke='gray'/>\n<text x='46' y='44' text-anchor='end'>1e" << std::lround(*high)
      << "</text>\n<text x='46' y='360' text-anchor='end'>1e" << std::lround(*low)
      << "</text>\n<polyline fill='none' stroke='steelblue' "
      << "stroke-width='2' points='";
  for (std::size_t i = 0; i < heights.size(); ++i)
    out << 50 + step * static_cast<double>(i) << ',' << 360 - 320 * (heights[i] - *low) / span << ' ';
  out << "'/>\n</svg>\n";
}

}  // namespace curve
