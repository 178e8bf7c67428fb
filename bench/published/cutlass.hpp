// What CUTLASS's convolution kernels for sm_100a take, modelled with the rates that the planner's estimates use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/device/device.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::bench {

/// Output pixels and channels of an MMA, of one CTA or of a pair; 64 channels of a tap are reduced at once.
struct CutlassTile {
  int64_t rows, columns, ctas;

  int64_t ctaRows() const { return rows / ctas; }
};
/// Those of bf16 in CUTLASS 4 (python/cutlass_library/generator.py, GenerateSM100_TensorOp_16b_UMMA_conv3x), in the smallest
/// cluster that each has: without multicast. Example 76 takes the second one.
inline constexpr std::array<CutlassTile, 6> kCutlassTiles{
    {{64, 128, 1}, {128, 128, 1}, {128, 256, 1}, {128, 128, 2}, {128, 256, 2}, {256, 256, 2}}};
std::string describe(const CutlassTile& tile);

/// Of one CTA, for all channels of one filter tap.
struct CutlassTap {
  double clocks = 0;
  plan::Resource bound = plan::Resource::TensorCore;
};
/// While `loading` multiprocessors load. Requires one image tensor of 16-bit elements, without groups.
CutlassTap modelTap(const Problem& problem, const device::Properties& properties, const CutlassTile& tile, int64_t loading);

/// A modelled time, whose `bound` is that of a tap when all multiprocessors work.
plan::Estimate modelCutlass(const Problem& problem, const device::Properties& properties, const CutlassTile& tile);

struct CutlassChoice {
  CutlassTile tile{};
  plan::Estimate estimate;
};
/// The fastest of the tiles, as the published times are those of the best kernel that was tried.
CutlassChoice modelCutlass(const Problem& problem, const device::Properties& properties);

}  // namespace shiftconv::bench
