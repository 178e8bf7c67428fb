// What a CTA of the form Stream has, and what the copy engine brings it.
#pragma once

#include <cstdint>

#include "common/layout/tensor_map.hpp"
#include "conv/algorithms/channelwise/kinds.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Threads of a CTA side by side along the channels, and units.
struct CtaShape {
  int64_t channelThreads = 1, units = 1;
};

/// Whether the copy engine takes rows of the input as they lie, and LeanFinisher what comes after the sums.
bool canStream(const Problem& problem);

/// Of at most `threads` threads, with units side by side in a row: with the fewest idle threads and pixels that two CTAs read. No
/// units where no shape fits.
CtaShape streamShape(const Problem& problem, const kernels::channelwise::Kind& kind, int64_t threads);

/// An input row of a CTA.
layout::TiledMap streamMap(const Problem& problem, const kernels::channelwise::Kind& kind, const CtaShape& shape);

}  // namespace shiftconv::plan
