#include "conv/plan/correction_trees.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace shiftconv::plan {
namespace {

/// A complete tree: node i asks whether a feature is above a threshold, and goes on to node 2i + 1 (no) or 2i + 2.
struct Tree {
  static constexpr size_t kDepth = 7, kNodes = (1 << kDepth) - 1;
  std::array<uint8_t, kNodes> features;
  std::array<float, kNodes> thresholds;
  std::array<float, kNodes + 1> leaves;  ///< natural logarithms of factors
};

constexpr float kNever = std::numeric_limits<float>::max();  // no feature is above it

constexpr Tree kTrees[] = {
#define SHIFTCONV_TREE(...) Tree{__VA_ARGS__},
#define SHIFTCONV_TREES_OF(NAME, BYTES, GROUPS, FIRST, COUNT)
#include "conv/plan/correction_trees.inc"
#undef SHIFTCONV_TREES_OF
#undef SHIFTCONV_TREE
};

constexpr CorrectionTrees kTreesOf[] = {
#define SHIFTCONV_TREE(...)
#define SHIFTCONV_TREES_OF(NAME, BYTES, GROUPS, FIRST, COUNT) {NAME, BYTES, GROUPS, FIRST, COUNT},
#include "conv/plan/correction_trees.inc"
#undef SHIFTCONV_TREES_OF
#undef SHIFTCONV_TREE
};

/// Without a branch: where a candidate goes cannot be guessed, and a processor that need not guess follows many at once.
float leafOf(const Tree& tree, const CorrectionFeatures& features) {
  size_t i = 0;
#pragma GCC unroll 7
  for (size_t level = 0; level < Tree::kDepth; ++level)
    i = 2 * i + 1 + static_cast<size_t>(features[tree.features[i]] > tree.thresholds[i]);
  return tree.leaves[i - Tree::kNodes];
}

}  // namespace

const CorrectionTrees* correctionTrees(std::string_view algorithm, bool areBytes, bool haveGroups) {
  const auto found = std::find_if(std::begin(kTreesOf), std::end(kTreesOf), [&](const CorrectionTrees& of) {
    return of.algorithm == algorithm && of.areBytes == areBytes && (of.sawGroups || !haveGroups);
  });
  return found == std::end(kTreesOf) ? nullptr : &*found;
}

void CorrectionTrees::ask(size_t from, size_t to, std::span<Corrected> candidates) const {
  for (const Tree& tree : std::span(kTrees).subspan(first + from, to - from))
    for (Corrected& one : candidates) one.sum += static_cast<double>(leafOf(tree, one.features));
}

}  // namespace shiftconv::plan
