#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace matapprox {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Median of the values that the calls return; for an even number, the upper of the two middle
/// ones.
inline double median_of(int calls, const std::function<double()>& seconds) {
  std::vector<double> all(static_cast<std::size_t>(calls));
  std::ranges::generate(all, seconds);
  const auto middle = all.begin() + calls / 2;
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace matapprox
