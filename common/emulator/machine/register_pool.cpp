#include "common/emulator/machine/register_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {
namespace {

constexpr uint32_t kStep = 8, kMostOfAThread = 256;  ///< as setmaxnreg counts

uint32_t launchRegisters(const ptx::PerformanceDirectives& directives, uint32_t registersPerMultiprocessor) {
  if (directives.maximumRegisters) return *directives.maximumRegisters;
  const auto& threads = directives.requiredThreads ? directives.requiredThreads : directives.maximumThreads;
  if (!threads || !directives.minimumCtas) return 0;
  uint64_t warps = 1;
  for (const uint32_t extent : *threads) warps *= extent;
  warps = std::max<uint64_t>(1, (warps + kWarpLanes - 1) / kWarpLanes);
  const uint64_t ofAThread = registersPerMultiprocessor / (warps * kWarpLanes * std::max(1u, *directives.minimumCtas));
  return std::min(static_cast<uint32_t>(ofAThread / kStep * kStep), kMostOfAThread);
}

}  // namespace

RegisterPool::RegisterPool(const ptx::PerformanceDirectives& directives, size_t warps, uint32_t registersPerMultiprocessor)
    : atLaunch_(launchRegisters(directives, registersPerMultiprocessor)), held_(warps, atLaunch_) {}

bool RegisterPool::hold(size_t warp, uint32_t count) {
  if (atLaunch_ == 0) return true;
  const int64_t more = int64_t{count} - held_[warp];
  if (more > free_) return false;
  free_ -= more;
  held_[warp] = count;
  return true;
}

std::string RegisterPool::describe(uint32_t count) const {
  return fmt::format(
      "{} registers for each of its threads (setmaxnreg). Its CTA was launched with {} for each thread; its warps have given back "
      "{} "
      "more than they have claimed",
      count, atLaunch_, free_);
}

}  // namespace shiftconv::emulator::machine
