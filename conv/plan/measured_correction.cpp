#include "conv/plan/measured_correction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numbers>
#include <tuple>
#include <vector>

#include "conv/plan/sm90_limits.hpp"

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

struct TreesOf {
  std::string_view algorithm;
  bool areBytes;        ///< the operands
  bool sawGroups;       ///< problems with more than one
  size_t first, count;  ///< of kTrees
};
constexpr TreesOf kTreesOf[] = {
#define SHIFTCONV_TREE(...)
#define SHIFTCONV_TREES_OF(NAME, BYTES, GROUPS, FIRST, COUNT) {NAME, BYTES, GROUPS, FIRST, COUNT},
#include "conv/plan/correction_trees.inc"
#undef SHIFTCONV_TREES_OF
#undef SHIFTCONV_TREE
};

constexpr size_t kOfTilings = 13;  // features, the first ones; the others are of the problem
constexpr size_t kInputChannels = 14, kInGroup = 26;
static_assert(kCorrectionFeatures[kInputChannels] == "input_channels" && kCorrectionFeatures[kInGroup] == "in_group");
constexpr double kMultiprocessors = 132;       // of the card that was measured
constexpr double kLeast = 1.0 / 3, kMost = 3;  // corrections
constexpr size_t kMicroseconds = 0;            // the feature
static_assert(kCorrectionFeatures[kMicroseconds] == "microseconds");
constexpr double kMostWaves = 10;  // more of them are as good

// A tree is asked for many candidates at once. They are of one problem and of few tiles, so that most nodes send them all one way,
// and are passed once.
typedef float Vector __attribute__((vector_size(16)));  // of the host: a candidate in each lane
constexpr size_t kVectorLanes = sizeof(Vector) / sizeof(float), kMostVectors = 16, kMostLanes = kMostVectors * kVectorLanes;
using Lanes = std::array<Vector, kMostVectors>;

struct Block {
  std::array<Lanes, std::tuple_size_v<CorrectionFeatures>> features;  ///< those in which candidates differ
  CorrectionFeatures least, most;
  size_t vectors;  ///< the last lanes repeat the first candidate

  explicit Block(std::span<const CorrectionFeatures> candidates)
      : least(candidates[0]), most(candidates[0]), vectors((candidates.size() + kVectorLanes - 1) / kVectorLanes) {
    for (const CorrectionFeatures& one : candidates)
      for (size_t i = 0; i < one.size(); ++i) least[i] = std::min(least[i], one[i]), most[i] = std::max(most[i], one[i]);
    for (size_t i = 0; i < least.size(); ++i)
      for (size_t lane = 0; lane < vectors * kVectorLanes && least[i] != most[i]; ++lane)
        features[i][lane / kVectorLanes][lane % kVectorLanes] = candidates[lane < candidates.size() ? lane : 0][i];
  }

  /// The node below `i`, or leaf, where the candidates part.
  size_t partingOf(const Tree& tree, size_t i) const {
    while (i < Tree::kNodes) {
      const uint8_t feature = tree.features[i];
      const float threshold = tree.thresholds[i];
      const bool isAbove = least[feature] > threshold;
      if (!isAbove && most[feature] > threshold) break;
      i = 2 * i + 1 + static_cast<size_t>(isAbove);
    }
    return i;
  }

  /// The leaf below a node where the candidates part, or a leaf itself, in every lane.
  void leavesOf(const Tree& tree, size_t i, Lanes& values) const {
    if (i >= Tree::kNodes) {
      const Vector leaf = Vector{} + tree.leaves[i - Tree::kNodes];
      for (size_t v = 0; v < vectors; ++v) values[v] = leaf;
      return;
    }
    const size_t no = partingOf(tree, 2 * i + 1), yes = partingOf(tree, 2 * i + 2);
    const Vector threshold = Vector{} + tree.thresholds[i];
    const Lanes& asked = features[tree.features[i]];
    if (no >= Tree::kNodes && yes >= Tree::kNodes) {
      const Vector below = Vector{} + tree.leaves[no - Tree::kNodes], above = Vector{} + tree.leaves[yes - Tree::kNodes];
      for (size_t v = 0; v < vectors; ++v) values[v] = asked[v] > threshold ? above : below;
      return;
    }
    Lanes above;
    leavesOf(tree, no, values);
    leavesOf(tree, yes, above);
    for (size_t v = 0; v < vectors; ++v) values[v] = asked[v] > threshold ? above[v] : values[v];
  }
};

/// Adds what the trees say of every candidate to its sum.
void addTrees(std::span<const Tree> trees, std::span<const CorrectionFeatures> candidates, std::span<double> sums) {
  for (size_t first = 0; first < candidates.size(); first += kMostLanes) {
    const std::span some = candidates.subspan(first, std::min(kMostLanes, candidates.size() - first));
    const Block block(some);
    Lanes ofTrees{}, values;
    for (const Tree& tree : trees) {
      block.leavesOf(tree, block.partingOf(tree, 0), values);
      for (size_t v = 0; v < block.vectors; ++v) ofTrees[v] += values[v];
    }
    for (size_t i = 0; i < some.size(); ++i) sums[first + i] += static_cast<double>(ofTrees[i / kVectorLanes][i % kVectorLanes]);
  }
}

double log2Of(int64_t value) { return std::log2(static_cast<double>(value)); }

bool isHalf(DataType type) { return type == DataType::F16 || type == DataType::BF16; }

}  // namespace

CorrectionView::CorrectionView(const Problem& p)
    : pixels_(p.outputPixels()),
      outOfGroup_(p.k / p.groups),
      groups_(p.groups),
      pixelBytes_(p.inputPitch() * bytesOf(p.inputType)) {
  const int64_t inGroup = p.groupChannels(), taps = p.t * p.r * p.s;
  const double values[] = {log2Of(pixels_),
                           log2Of(p.c),
                           log2Of(outOfGroup_),
                           log2Of(taps * inGroup),
                           static_cast<double>(taps),
                           static_cast<double>(p.s),
                           static_cast<double>(p.strideH),
                           static_cast<double>(p.strideW),
                           static_cast<double>(p.dilationW),
                           p.d > 1 || p.t > 1 ? 1.0 : 0.0,
                           static_cast<double>(inGroup % 64),
                           static_cast<double>(inGroup % 8),
                           static_cast<double>(p.k % 8),
                           log2Of(inGroup),
                           p.hasResidual() ? 1.0 : 0.0,
                           p.isSplit()                 ? 2.0
                           : sm90::hasPlainEpilogue(p) ? 0.0
                           : sm90::hasShortEpilogue(p) ? 1.0
                                                       : 2.0,
                           isHalf(p.inputType)      ? 0.0
                           : isInteger(p.inputType) ? 2.0
                                                    : 1.0};
  static_assert(kOfTilings + std::size(values) == std::tuple_size_v<CorrectionFeatures>);
  for (size_t i = 0; i < std::size(values); ++i) ofProblem_[kOfTilings + i] = static_cast<float>(values[i]);
}

CorrectionFeatures CorrectionView::of(const Tiling& tiling, double microseconds) const {
  const int64_t tilePixels = std::max(tiling.pixels, 1), tileChannels = std::max(tiling.channels, 1);
  const int64_t pixelTiles = (pixels_ + tilePixels - 1) / tilePixels,
                channelTiles = (outOfGroup_ + tileChannels - 1) / tileChannels;
  const double tiles = static_cast<double>(pixelTiles * channelTiles * groups_ * std::max(tiling.split, 1));
  const double waves = tiles / kMultiprocessors;
  const double values[] = {std::log2(microseconds),
                           static_cast<double>(tiling.pixels),
                           static_cast<double>(tiling.channels),
                           static_cast<double>(tiling.split),
                           static_cast<double>(tiling.choices[0]),
                           static_cast<double>(tiling.choices[1]),
                           static_cast<double>(tiling.choices[2]),
                           std::log2(tiles),
                           std::min(waves, kMostWaves),
                           std::ceil(waves) / waves,
                           static_cast<double>(outOfGroup_) / static_cast<double>(channelTiles * tileChannels),
                           static_cast<double>(pixels_) / static_cast<double>(pixelTiles * tilePixels),
                           static_cast<double>(std::countr_zero(static_cast<uint64_t>(tilePixels * pixelBytes_)))};
  static_assert(std::size(values) == kOfTilings);
  CorrectionFeatures features = ofProblem_;
  for (size_t i = 0; i < std::size(values); ++i) features[i] = static_cast<float>(values[i]);
  return features;
}

bool hasMeasuredCorrection(const Problem& problem, const device::Properties& properties) {
  const bool areHalves = isHalf(problem.inputType) && isHalf(problem.filterType) && isHalf(problem.outputType);
  const bool areBytes = bitsOf(problem.inputType) == 8 && bitsOf(problem.filterType) == 8 && problem.inputScale.blockSize == 0;
  return properties.computeMajor == 9 && properties.computeMinor == 0 && (areHalves || areBytes);
}

bool measuredCorrections(std::string_view algorithm, std::span<const CorrectionFeatures> candidates, std::span<double> factors) {
  if (candidates.empty()) return false;
  const bool areBytes = candidates.front().back() > 0;
  const bool haveGroups = candidates.front()[kInputChannels] != candidates.front()[kInGroup];
  const auto found = std::find_if(std::begin(kTreesOf), std::end(kTreesOf),
                                  [&](const TreesOf& of) { return of.algorithm == algorithm && of.areBytes == areBytes; });
  if (found == std::end(kTreesOf) || (haveGroups && !found->sawGroups)) return false;
  const auto trees = std::span(kTrees).subspan(found->first, found->count);
  std::fill(factors.begin(), factors.end(), 0.0);
  const size_t few = std::min(kTreesOfAll, trees.size());
  addTrees(trees.first(few), candidates, factors);

  const auto timeOf = [&](size_t i) { return candidates[i][kMicroseconds] * std::numbers::ln2 + factors[i]; };
  size_t fastest = 0;
  for (size_t i = 1; i < candidates.size(); ++i)
    if (timeOf(i) < timeOf(fastest)) fastest = i;
  std::vector<size_t> near{fastest}, far;
  std::vector<CorrectionFeatures> ofNear{candidates[fastest]};
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i == fastest) continue;
    if (timeOf(i) > timeOf(fastest) + kNear)
      far.push_back(i);
    else
      near.push_back(i), ofNear.push_back(candidates[i]);
  }
  std::vector<double> rest(near.size());
  addTrees(trees.subspan(few), ofNear, rest);
  for (size_t i = 0; i < near.size(); ++i) factors[near[i]] += rest[i];
  for (const size_t i : far) factors[i] += rest.front();  // stays as far behind as it was
  for (double& factor : factors) factor = std::clamp(std::exp(factor), kLeast, kMost);
  return true;
}

}  // namespace shiftconv::plan
