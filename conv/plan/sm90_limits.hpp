// What the engines of sm_90a have in common, and depthwise and grouped with them, whose kernels serve Blackwell, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/device/device.hpp"
#include "common/layout/ceil_divide.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm90 {

inline constexpr int64_t kLargestBox = 256;  ///< of a tensor map, in every dimension

/// Why no engine of these can run the problem, on whatever device: scales, zero points and coordinates; empty when one may.
std::string limitsRefusal(std::string_view engine, const Problem& problem);
/// The same, or the device, of engines for sm_90a alone.
std::string anyRefusal(std::string_view engine, const Problem& problem, const device::Properties& properties);
/// Whether an engine with the plain epilogue also adds a residual of the output's type, in rows of 16 bytes.
enum class ResidualAdded : bool { No, Yes };
/// Why an engine of two dimensions, f16 and bf16 with bias and ReLU cannot run the problem, as far as that does not depend on its
/// shape; empty when it can. Includes anyRefusal.
std::string plainRefusal(std::string_view engine, const Problem& problem, const device::Properties& properties,
                         ResidualAdded residual = ResidualAdded::No);

/// The part of it about types, epilogue and output rows.
std::string plainTypesRefusal(std::string_view engine, const Problem& problem, ResidualAdded residual = ResidualAdded::No);
/// The same of an engine with short epilogues (hasShortEpilogue) and without residuals.
std::string shortTypesRefusal(std::string_view engine, const Problem& problem);
/// Why an engine of e4m3 and 8-bit integers, with outputs of 8 bits in rows of 16 bytes after a short epilogue, cannot run the
/// problem, likewise.
std::string bytesTypesRefusal(std::string_view engine, const Problem& problem);
/// What there is behind the sums beside a bias, a residual and ReLU: "alpha is 0.5"; empty when there is nothing.
std::string beyondPlainEpilogue(const Problem& problem);
bool hasPlainEpilogue(const Problem& problem);
/// Whether that is all, or with it alpha, a channel scale and another activation.
bool hasShortEpilogue(const Problem& problem);
/// The problem without what a short epilogue has beyond the plain one.
Problem withPlainEpilogue(const Problem& problem);

/// "f16" or "bf16", as kernel names have it.
inline std::string_view elementName(const Problem& problem) { return problem.inputType == DataType::BF16 ? "bf16" : "f16"; }
inline layout::MapType elementMapType(const Problem& problem) {
  return problem.inputType == DataType::BF16 ? layout::MapType::BF16 : layout::MapType::F16;
}

/// CTAs at work at once that fill a multiprocessor each, in clusters of `size`. Clusters of four or eight do not fill a GPC: of an
/// H200's 132 multiprocessors cudaOccupancyMaxActiveClusters counts 30 clusters of four and 15 of eight. 30 of four took 1.07 times
/// as long as the same tiles alone or in pairs, 31 1.3 times and 32 1.6 times (medians of recorded candidates of im2col_sm90). On
/// other cards the same share is assumed.
inline int64_t mostClusteredCtas(const device::Properties& properties, int64_t size) {
  const int64_t multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  return size > 2 ? multiprocessors * 10 / 11 : multiprocessors;
}

}  // namespace shiftconv::plan::sm90
