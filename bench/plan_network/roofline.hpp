// What a device needs for a layer at least: its products at the tensor cores' full rate, or every tensor once through device
// memory.
#pragma once

#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::bench {

/// Seconds, without a launch. Rates of types beside 16-bit ones are by width: half for f32 as tf32, twice for 8 bits; 8-bit
/// integers on sm_103a have the data sheet's rate, a thirtieth.
double rooflineSeconds(const Problem& problem, const device::Properties& properties);

}  // namespace shiftconv::bench
