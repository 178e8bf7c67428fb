// The epilogue of common/gemm for convolutions: rows are output pixels, columns output channels. Of every engine that has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/gemm/epilogue/params.hpp"
#include "conv/plan/plan.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// F32, F16 or S32.
numerics::NumberType accumulatorType(const Problem& problem);

/// No addresses.
gemm::EpilogueParams epilogueOf(const Problem& problem);
/// Has the epilogue's pointers filled in; `offset`: of the EpilogueParams in the parameter.
void bindEpilogue(Parameter& parameter, size_t offset);

/// Why the epilogue cannot do what the problem asks for when a thread holds `segmentColumns` neighbouring channels; empty, or one
/// sentence that begins with the engine's name.
std::string epilogueRefusal(std::string_view engine, const Problem& problem, int32_t segmentColumns);

}  // namespace shiftconv::plan
