#include "conv/planner/registry.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "conv/algorithms/channelwise/algorithm.hpp"
#include "conv/algorithms/depthwise/algorithm.hpp"
#include "conv/algorithms/direct/algorithm.hpp"
#include "conv/algorithms/gathered/algorithm.hpp"
#include "conv/algorithms/gemm/algorithm.hpp"
#include "conv/algorithms/grouped/algorithm.hpp"
#include "conv/algorithms/halo/algorithm.hpp"
#include "conv/algorithms/halo_sm100/algorithm.hpp"
#include "conv/algorithms/im2col/algorithm.hpp"
#include "conv/algorithms/im2col_sm90/algorithm.hpp"
#include "conv/algorithms/joined/algorithm.hpp"
#include "conv/algorithms/merged/algorithm.hpp"
#include "conv/algorithms/padded/algorithm.hpp"
#include "conv/algorithms/phases/algorithm.hpp"
#include "conv/algorithms/pointwise/algorithm.hpp"
#include "conv/algorithms/raw_rows/algorithm.hpp"
#include "conv/algorithms/relayout/algorithm.hpp"
#include "conv/algorithms/repeated/algorithm.hpp"
#include "conv/algorithms/resident/algorithm.hpp"
#include "conv/algorithms/reversed/algorithm.hpp"
#include "conv/algorithms/shift_stream/algorithm.hpp"
#include "conv/algorithms/shift_window/algorithm.hpp"
#include "conv/algorithms/stem/algorithm.hpp"
#include "conv/algorithms/thin/algorithm.hpp"
#include "conv/planner/inner_search.hpp"
#include "conv/problem/quoted.hpp"

namespace shiftconv::plan {

std::span<const Algorithm* const> algorithms() {
  // clang-format off
  static const std::array table{
      &shiftStreamAlgorithm(),
      &shiftWindowAlgorithm(),
      &sm100::haloAlgorithm(),
      &im2colAlgorithm(),
      &gemmAlgorithm(),
      &haloAlgorithm(),
      &groupedAlgorithm(),
      &depthwiseAlgorithm(),
      &channelwiseAlgorithm(),
      &stemAlgorithm(),
      &residentAlgorithm(),
      &sm90::im2colAlgorithm(),
      &phasesAlgorithm(innerSearch()),
      &relayoutAlgorithm(innerSearch()),
      &repeatedAlgorithm(innerSearch()),
      &reversedAlgorithm(innerSearch()),
      &paddedAlgorithm(innerSearch()),
      &joinedAlgorithm(innerSearch()),
      &mergedAlgorithm(innerSearch()),
      &pointwiseAlgorithm(),
      &thinAlgorithm(),
      &rawRowsAlgorithm(),
      &gatheredAlgorithm(),
      &directAlgorithm(),
  };
  // clang-format on
  return table;
}

Status findAlgorithm(std::string_view name, const Algorithm*& algorithm) {
  for (const Algorithm* one : algorithms())
    if (one->name() == name) {
      algorithm = one;
      return {};
    }
  const std::string known = algorithmNames(algorithms(), [](const Algorithm&) { return true; });
  return {StatusCode::NotFound, fmt::format("there is no algorithm {}; known are {}", quoted(name), known)};
}

}  // namespace shiftconv::plan
