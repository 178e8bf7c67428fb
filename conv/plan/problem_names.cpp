#include "conv/plan/problem_names.hpp"

#include <string_view>
#include <utility>

namespace shiftconv::plan {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    // gemm::EpilogueParams
    {"accumulatorType", "compute"},
    {"outputType", "output_type"},
    {"outputBlock", "output_block_scale"},
    {"outputZeroPoint", "output_zero_point"},
    {"outputPitch", "output_pixel_pitch"},
    {"residualType", "residual_type"},
    {"residualPitch", "residual_pixel_pitch"},
    {"activationA", "activation_a"},
    // gemm::Window, and the map of its pixels
    {"the channels of a group", "C / groups"},
    {"the columns of a group", "K / groups"},
    {"along x", "along W"},
    {"along y", "along H"},
    {"along z", "along D"},
    {"pixelBoxLowerCorner[0]", "-pad_left"},
    {"pixelBoxLowerCorner[1]", "-pad_top"},
    {"pixelBoxLowerCorner[2]", "-pad_front"},
    {"pixelBoxUpperCorner[0]", "(Q - 1) * stride_w - pad_left - (W - 1)"},
    {"pixelBoxUpperCorner[1]", "(P - 1) * stride_h - pad_top - (H - 1)"},
    {"pixelBoxUpperCorner[2]", "(Z - 1) * stride_d - pad_front - (D - 1)"},
};

}  // namespace

std::string inNamesOfProblems(std::string sentence) {
  for (const auto& [name, ofProblem] : kNames)
    for (size_t at = sentence.find(name); at != std::string::npos; at = sentence.find(name, at + ofProblem.size()))
      sentence.replace(at, name.size(), ofProblem);
  return sentence;
}

}  // namespace shiftconv::plan
