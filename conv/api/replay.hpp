// The command that repeats a plan: what a bug report needs.
#pragma once

#include <string>

#include "conv/plan/plan.hpp"

namespace shiftconv::api {

/// "convolve --device cuda --algorithm halo --options shape=...,lag=4 '1x56x56x64 f16 * ...'", to be pasted into a shell. It names
/// the emulated device where the plan is for one, and otherwise the first GPU.
std::string replayOf(const plan::Plan& plan);

}  // namespace shiftconv::api
