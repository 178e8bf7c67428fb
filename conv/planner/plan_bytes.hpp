// Plans as bytes, for files: what a plan was made from and what was chosen, so that it is made again without a search.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/device/status.hpp"
#include "conv/plan/plan.hpp"

namespace shiftconv::plan {

/// Bytes that planOf of the same version reads. `version`: of this library.
///
///   "ShiftConv plan\n"
///   fields, each its length as 4 bytes, little-endian, and its bytes:
///     version, problem (text), device (name and numbers), algorithm, options, estimate, choice, checksum of describe(plan)
///   checksum of everything before, 8 bytes, little-endian
std::string bytesOf(const Plan& plan, std::string_view version);

/// The plan that bytesOf was given: the same launches, description and estimate, by the algorithm's own planning from the stored
/// options; nothing in the bytes becomes a parameter of a kernel unchecked. The message says whether the bytes are damaged, of
/// another version, or of a build that plans differently.
Status planOf(std::string_view bytes, std::string_view version, std::shared_ptr<const Plan>& plan);

}  // namespace shiftconv::plan
