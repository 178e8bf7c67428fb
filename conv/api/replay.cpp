#include "conv/api/replay.hpp"

#include <fmt/format.h>

#include "conv/problem/text.hpp"

namespace shiftconv::api {

std::string replayOf(const plan::Plan& plan) {
  const device::Properties& p = plan.properties;
  const std::string device =
      p.kind == device::Kind::Cuda ? "cuda" : fmt::format("emulated:sm_{}{}a", p.computeMajor, p.computeMinor);
  const std::string options = plan.options.empty() ? std::string() : fmt::format(" --options {}", plan.options);
  return fmt::format("convolve --device {} --algorithm {}{} '{}'", device, plan.algorithm, options, describe(plan.problem));
}

}  // namespace shiftconv::api
