// The sheet: pictures beside each other, each with a line below.
#pragma once

#include <string>
#include <vector>

#include "examples/feature_maps/image_io.hpp"

namespace denoise {

struct LabelledPicture {
  std::string label;
  feature_maps::Image picture;
};

/// At least one picture, all of one size, which are enlarged by whole factors to about 192 pixels.
feature_maps::Image sheetOf(const std::vector<LabelledPicture>& pictures);

}  // namespace denoise
