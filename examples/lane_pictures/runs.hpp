// The convolutions that are drawn, run on the emulated device with marks for data. All throw std::runtime_error with a reason.
#pragma once

#include <string>

#include "examples/lane_pictures/recording.hpp"

namespace lane_pictures {

/// Two images of 9x9 pixels, a 3x3 filter, padding 1: step 4 of the ladder, whose PTX is in the file.
struct WorkedExample {
  static constexpr int kImages = 2, kSide = 9, kBlocks = 3, kBlockRows = 3;
  static constexpr uint32_t kPixels = kImages * kSide * kBlocks;  ///< lanes in use
  static constexpr int kSteps = kBlockRows + 2;
  /// Tensor Memory columns from the sums of one output row to those of the next.
  static constexpr uint32_t kSumColumns = 32;
};
Recording runWorkedExample(const std::string& ptxPath);

/// One image of 3x40 pixels in mxfp8, a 3x3 filter, padding 1: the library's shift_stream.
struct ScaledStrip {
  static constexpr int kHeight = 3, kWidth = 40, kOutputsPerStrip = 30;
};
Recording runScaledStrip(bool shiftedScales);

/// 18 images of 3x7 pixels in f16, a 3x3 filter, padding 1: the library's shift_stream with rows end to end.
struct MaskedRows {
  static constexpr int kImages = 18, kHeight = 3, kWidth = 7;
};
Recording runMaskedRows();

}  // namespace lane_pictures
