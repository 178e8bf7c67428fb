// The pictures of docs/sliding.md, from recordings alone: what is drawn is what the emulator did.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "examples/lane_pictures/recording.hpp"

namespace lane_pictures {

struct Picture {
  std::string_view file;
  std::string svg;
};

/// `example`: of the worked example, `shifted` and `copies`: of the scaled strip with its two ways of moving scale factors,
/// `masked`: of the rows end to end. Throws std::out_of_range when a recording is too short.
std::vector<Picture> drawAll(const Recording& example, const Recording& shifted, const Recording& copies, const Recording& masked);

}  // namespace lane_pictures
