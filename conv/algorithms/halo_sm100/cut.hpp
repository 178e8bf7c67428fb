// How halo_sm100 cuts a problem: patches or row streams, what fits, and what the cut multiplies and moves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/device/device.hpp"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/layout/ceil_divide.hpp"
#include "conv/algorithms/halo_sm100/params.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/sm100_operands.hpp"
#include "conv/plan/taps.hpp"
#include "conv/plan/traffic.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm100::halo {

using namespace kernels::halo_sm100;

inline constexpr int64_t kColumns = 512, kColumnStep = 32;  ///< of Tensor Memory

/// One direction of an image.
struct Axis {
  int64_t extent, outputs, taps, stride, dilation, pad;
  std::vector<int64_t> phases{};  ///< of the taps among the rows or columns of a stride

  Axis(int64_t extentOf, int64_t outputsOf, int64_t tapsOf, int64_t strideOf, int64_t dilationOf, int64_t padOf)
      : extent(extentOf), outputs(outputsOf), taps(tapsOf), stride(strideOf), dilation(dilationOf), pad(padOf) {
    for (int64_t tap = 0; tap < std::min(taps, stride); ++tap) phases.push_back(tap * dilation % stride);  // later ones repeat
    std::sort(phases.begin(), phases.end());
    phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
  }
  /// Steps of the stride from the first to the last tap of a phase.
  int64_t reach() const { return (taps - 1) * dilation / stride; }
  int64_t stepOf(int64_t tap) const { return tap * dilation / stride; }
  int64_t phaseIndexOf(int64_t tap) const {
    return std::find(phases.begin(), phases.end(), tap * dilation % stride) - phases.begin();
  }
  /// Of all phases' patches for `tiles` tiles of `outputsOfTile` outputs from `first` on: rows or columns that lie inside.
  int64_t insideOf(int64_t first, int64_t outputsOfTile, int64_t tiles) const {
    int64_t inside = 0;
    for (const int64_t phase : phases)
      inside += tapsInside(extent, tiles, outputsOfTile + reach(), outputsOfTile * stride, stride, pad - phase - first * stride);
    return inside;
  }

  // Row streams: every row from the first to the last tap of a block of outputs that some tap reads.
  int64_t streamOf(int64_t outputsOfBlock) const { return (outputsOfBlock - 1) * stride + (taps - 1) * dilation + 1; }
  bool isRead(int64_t row, int64_t outputsOfBlock) const {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t distance = row - tap * dilation;
      if (distance >= 0 && distance % stride == 0 && distance / stride < outputsOfBlock) return true;
    }
    return false;
  }
  int64_t readOf(int64_t outputsOfBlock) const {
    int64_t read = 0;
    for (int64_t row = 0; row < streamOf(outputsOfBlock); ++row) read += isRead(row, outputsOfBlock);
    return read;
  }
  int64_t readInsideOf(int64_t first, int64_t outputsOfBlock, int64_t blocks) const {
    int64_t read = 0;
    for (int64_t row = 0; row < streamOf(outputsOfBlock); ++row)
      if (isRead(row, outputsOfBlock))
        read += tapsInside(extent, blocks, 1, outputsOfBlock * stride, 1, pad - row - first * stride);
    return read;
  }
  /// Outputs that a row can belong to, if none is left out.
  int64_t live() const { return (taps - 1) * dilation / stride + 1; }
};
inline Axis columnsOf(const Problem& p) { return {p.w, p.q(), p.s, p.strideW, p.dilationW, p.padLeft}; }
inline Axis rowsOf(const Problem& p) { return {p.h, p.p(), p.r, p.strideH, p.dilationH, p.padTop}; }

/// One way to cut the problem, and what it costs.
struct Cut {
  int64_t tileN = 0, passes = 0, tileImages = 1;
  int64_t streamRows = 0;  ///< of output, of a row stream; 0: patches
  int64_t accumulators = kAccumulators;
  bool pair = false, resident = false;
  int64_t patchStages = 0, filterStages = 0, scaleStages = 0, clusters = 0;
  int64_t stagingTileBytes = 0;  ///< 0: outputs are not staged
  Traffic traffic{};
  double clocks = 0;
  Resource bound = Resource::TensorCore;

  int64_t ctas() const { return pair ? 2 : 1; }
  bool streams() const { return streamRows != 0; }
  int64_t tileRows() const { return streams() ? streamRows : kGroups / tileImages; }
  int64_t operandRows() const { return streams() ? streamRows : 1; }  ///< operands' worth of outputs of a tile
  int64_t unitsOfOperand() const { return streams() ? kGroups : 1; }  ///< blocks of an image
  int64_t filterStageBytes() const { return tileN / ctas() * layout::kSwizzle128RowBytes; }
  /// Atoms of scale factors of a tap and chunk: those of the pixels and, in every CTA, those of all its output channels.
  int64_t scaleAtoms(layout::MmaKind kind) const {
    if (!layout::isBlockScaled(kind)) return 0;
    return gemm::sm100::scaleAtomsPerChunk(kind) * (1 + ceilDivide(tileN, gemm::sm100::kScaleAtomRows));
  }
  int64_t scaleStageBytes(layout::MmaKind kind) const { return scaleAtoms(kind) * gemm::sm100::kScaleAtomBytes; }
};

/// The shape of patches in shared memory: one box, or a row of each stream.
struct Patches {
  int64_t width, height, images, count, boxes;

  Patches(const Axis& rows, const Axis& columns, const Cut& cut)
      : width(kGroupPixels + columns.reach()),
        height(cut.streams() ? 1 : cut.tileRows() + rows.reach()),
        images(cut.tileImages),
        count(static_cast<int64_t>((cut.streams() ? 1 : rows.phases.size()) * columns.phases.size())),
        boxes(cut.unitsOfOperand()) {}
  int64_t pixels() const { return width * height * images; }
  int64_t boxBytes() const { return pixels() * layout::kSwizzle128RowBytes; }
  int64_t bytes() const { return roundUp(boxes * boxBytes(), layout::kSwizzle128AtomBytes); }
};

int64_t rowBlocks(const Problem& problem, const Cut& cut);
int64_t columnBlocks(const Problem& problem);
int64_t tilesOf(const Problem& problem, const Cut& cut);

int64_t sharedBytes(const Channels& channels, const Patches& patches, const Cut& cut);
/// Accumulators and scale factors. Two accumulators where that leaves room for the factors of two taps.
void fitTensorMemory(const Channels& channels, Cut& cut);
/// False when the stages do not fit into shared memory. Two patches are worth more than a resident filter with one, and staged
/// outputs, where `mayStage`, more than any further stage.
bool fitSharedMemory(const Problem& problem, const Channels& channels, const Patches& patches, int64_t available,
                     std::optional<bool> residentWanted, bool mayStage, Cut& cut);
/// Whether all chunks of a row of streams are multiplied before the next row comes, so that output rows finish one by one.
bool finishesRows(const Problem& problem, const Channels& channels, const Cut& cut);

/// Of one tile in all passes, whatever of the image and the output lies in it.
Traffic anyTile(const Problem& problem, const Channels& channels, const Patches& patches, const Cut& cut);
/// Rows inside of the image that are loaded for the outputs of `tiles` tiles from `first` on.
int64_t insideRowsOf(const Axis& rows, const Cut& cut, int64_t first, int64_t tiles);
/// What is done once for a cluster, in all passes.
Traffic clusterTraffic(const Problem& problem, const Channels& channels, const Cut& cut);
/// What all CTAs do together, and the model's time of the slowest. False, and nothing that may be used, when the products alone
/// take `most` clocks.
bool count(const Problem& problem, const Channels& channels, const Axis& rows, const Axis& columns,
           const device::Properties& properties, std::optional<uint32_t> clustersWanted, double most, Cut& cut);

}  // namespace shiftconv::plan::sm100::halo
