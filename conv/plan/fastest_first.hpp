// Sorting plans, which are large.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace shiftconv::plan {

/// By `modelledClocks`, equals in their order; moves every plan once.
template <class Made>
void fastestFirst(std::vector<Made>& plans) {
  std::vector<size_t> order(plans.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return plans[a].modelledClocks < plans[b].modelledClocks; });
  std::vector<Made> sorted;
  sorted.reserve(plans.size());
  for (const size_t i : order) sorted.push_back(std::move(plans[i]));
  plans = std::move(sorted);
}

}  // namespace shiftconv::plan
