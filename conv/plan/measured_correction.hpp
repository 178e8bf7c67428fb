// What the models of sm_90a do not know, learned from recorded times: trees that look at a problem and at how a candidate cuts it,
// and say how much longer or shorter than modelled it takes. bench/networks/fit_correction makes them from bench/results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/device/device.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/tiling.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// What a tree may ask for, by their indices in CorrectionFeatures. model_part: Tiling::modelParts. Sizes are logarithms to the
/// base 2. tile_alignment is that of the power of two that divides the bytes from tile to tile: neighbours that lie 64 KiB apart
/// wait for the same part of memory (halo on an H200: 1.6 times as long with tiles of 192 pixels of 512 channels as with 200).
/// epilogue: 0 plain (bias, residual of the output's type, ReLU), 1 short (recorded with SiLU), 2 more than that, or an input
/// in two tensors (recorded with amax). operands: 0 of 16 bits, 1 floats and 2 integers of 8 bits, which have trees of their own.
inline constexpr std::array<std::string_view, 35> kCorrectionFeatures{
    "microseconds", "tile_pixels",  "tile_channels",  "split",        "choice_0",       "choice_1",        "choice_2",
    "model_part_0", "model_part_1", "model_part_2",   "model_part_3", "tiles",          "waves",           "tail",
    "channel_fill", "pixel_fill",   "tile_alignment", "pixels",       "input_channels", "output_channels", "reduction",
    "taps",         "filter_width", "stride_h",       "stride_w",     "dilation_w",     "volume",          "c_modulo_64",
    "c_modulo_8",   "k_modulo_8",   "in_group",       "residual",     "epilogue",       "operands",        "bytes"};
inline constexpr size_t kTilingFeatures = 17;  ///< the first ones; the others are of the problem
using CorrectionFeatures = std::array<float, kCorrectionFeatures.size()>;

/// What the trees see of the candidates of one problem.
class CorrectionView {
 public:
  explicit CorrectionView(const Problem& problem);
  /// `microseconds`: as modelled, without this correction.
  CorrectionFeatures of(const Tiling& tiling, double microseconds) const;
  /// The feature epilogue is 2.
  bool hasWholeEpilogue() const;

 private:
  int64_t pixels_, outOfGroup_, groups_, pixelBytes_;
  CorrectionFeatures ofProblem_{};  ///< the features of tilings are 0
};

/// Whether the trees have seen such problems, on compute capability 9.0: 16-bit operands and outputs, or 8-bit operands, whatever
/// they become.
bool hasMeasuredCorrection(const Problem& problem, const device::Properties& properties);

}  // namespace shiftconv::plan
