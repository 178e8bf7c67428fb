// Which shape files the tests of sm_90a's engines read, and on which device.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests {

/// On an H200, of SM90_SHAPES_FOLDER.
inline constexpr std::array<const char*, 24> kGpuShapeFiles{"engines",
                                                            "emulated/activated",
                                                            "emulated/channelwise",
                                                            "emulated/cuts",
                                                            "emulated/depthwise",
                                                            "emulated/direct",
                                                            "emulated/epilogues",
                                                            "emulated/flipped",
                                                            "emulated/gathered",
                                                            "emulated/grouped",
                                                            "emulated/im2col",
                                                            "emulated/kinds",
                                                            "emulated/layouts",
                                                            "emulated/pointwise",
                                                            "emulated/raw_rows",
                                                            "emulated/reduction",
                                                            "emulated/resident",
                                                            "emulated/residual",
                                                            "emulated/split",
                                                            "emulated/stem",
                                                            "emulated/strides",
                                                            "emulated/thin",
                                                            "emulated/tiles",
                                                            "emulated/transposed"};
/// On the emulated sm_90a at night.
inline constexpr std::array<const char*, 1> kNightlyShapeFiles{"engines"};

template <class Names>
std::vector<ShapeLine> readShapeFiles(const std::string& folder, const Names& names) {
  std::vector<ShapeLine> all;
  for (const auto& name : names) {
    const auto lines = readShapes(folder + "/" + name + ".txt");
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

}  // namespace shiftconv::tests
