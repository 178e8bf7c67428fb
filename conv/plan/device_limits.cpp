#include "conv/plan/device_limits.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace shiftconv::plan {
namespace {

/// Of compute capabilities, whose minor number is one digit.
constexpr int kHighestMajor = 99, kHighestMinor = 9;
/// Of static shared memory, on every compute capability (CUDA C++ Programming Guide, technical specifications).
constexpr uint32_t kLeastSharedBytes = 48 * 1024;

}  // namespace

Status validate(const device::Properties& properties) {
  const auto invalid = [](std::string message) -> Status { return {StatusCode::InvalidArgument, std::move(message)}; };
  if (properties.computeMajor < 1 || properties.computeMajor > kHighestMajor)
    return invalid(fmt::format("properties.compute_major must be in 1..{}, but is {}", kHighestMajor, properties.computeMajor));
  if (properties.computeMinor < 0 || properties.computeMinor > kHighestMinor)
    return invalid(fmt::format("properties.compute_minor must be in 0..{}, but is {}", kHighestMinor, properties.computeMinor));
  if (properties.multiprocessors == 0) return invalid("properties.multiprocessors must be at least 1, but is 0");
  if (properties.sharedBytesPerBlock < kLeastSharedBytes)
    return invalid(fmt::format("properties.shared_bytes_per_block must be at least {}, what every CUDA device has, but is {}",
                               kLeastSharedBytes, properties.sharedBytesPerBlock));
  return {};
}

}  // namespace shiftconv::plan
