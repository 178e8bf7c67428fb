// What the models of sm_90a do not know, learned from recorded times: trees that look at a problem and at how a candidate cuts it,
// and say how much longer or shorter than modelled it takes. bench/networks/fit_correction makes them from bench/results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/device/device.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/tiling.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// What a tree may ask for, by their indices in CorrectionFeatures. Sizes are logarithms to the base 2. tile_alignment is that of
/// the power of two that divides the bytes from tile to tile: neighbours that lie 64 KiB apart wait for the same part of memory
/// (halo on an H200: 1.6 times as long with tiles of 192 pixels of 512 channels as with 200). epilogue: 0 plain (f32
/// bias, residual of the output's type, ReLU), 1 short (recorded with SiLU), 2 more than that, or an input in two tensors (recorded
/// with amax). operands: 0 of 16 bits, 1 floats and 2 integers of 8 bits, which have trees of their own.
inline constexpr std::array<std::string_view, 30> kCorrectionFeatures{
    "microseconds",   "tile_pixels",     "tile_channels", "split",        "choice_0",     "choice_1",       "choice_2",
    "tiles",          "waves",           "tail",          "channel_fill", "pixel_fill",   "tile_alignment", "pixels",
    "input_channels", "output_channels", "reduction",     "taps",         "filter_width", "stride_h",       "stride_w",
    "dilation_w",     "volume",          "c_modulo_64",   "c_modulo_8",   "k_modulo_8",   "in_group",       "residual",
    "epilogue",       "operands"};
using CorrectionFeatures = std::array<float, kCorrectionFeatures.size()>;

/// What the trees see of the candidates of one problem.
class CorrectionView {
 public:
  explicit CorrectionView(const Problem& problem);
  /// `microseconds`: as modelled, without this correction.
  CorrectionFeatures of(const Tiling& tiling, double microseconds) const;

 private:
  int64_t pixels_, outOfGroup_, groups_, pixelBytes_;
  CorrectionFeatures ofProblem_{};  ///< the features of tilings are 0
};

/// The first trees correct most: those of whole epilogues, and the first 20 of the others. Every candidate is asked these. One that
/// is then more than e^kNear times as slow as the fastest of its algorithm is not asked the rest, and stays as many times as slow.
/// (Of 5,797 recorded problems, none gets another choice by that.)
inline constexpr size_t kTreesOfAll = 40;
inline constexpr double kNear = 0.2;

/// Whether the trees have seen such problems, on compute capability 9.0: 16-bit operands and outputs, or 8-bit operands, whatever
/// they become.
bool hasMeasuredCorrection(const Problem& problem, const device::Properties& properties);

/// By how much the times of this algorithm's candidates for one problem differ from their estimates, as factors between 1/3 and 3;
/// false, and no factors, for algorithms without recorded times, and for problems with
/// groups where none were recorded. `factors` has as many elements as there are candidates.
bool measuredCorrections(std::string_view algorithm, std::span<const CorrectionFeatures> candidates, std::span<double> factors);

}  // namespace shiftconv::plan
