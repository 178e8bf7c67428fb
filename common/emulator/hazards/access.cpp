#include "common/emulator/hazards/access.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::hazards {

uint32_t nextStamp(uint32_t stamp) {
  if (stamp >= Access::kMaximumClock)
    throw EmulatorError(
        ErrorKind::Limit,
        fmt::format("the hazard checker tells at most {} releases and asynchronous operations of a warp apart; run a "
                    "smaller problem, or switch hazards off",
                    Access::kMaximumClock));
  return stamp + 1;
}

}  // namespace shiftconv::emulator::hazards
