// Who waits for whom, for reports of deadlocks.
#pragma once

#include <string>

#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {

/// A line for every waiting group of lanes: which warps could end its wait (those that arrived on its mbarrier in earlier phases,
/// or that have not arrived at its barrier), and what they do; then one cycle among them, if there is one.
std::string describeWaitGraph(const Cluster& cluster);

}  // namespace shiftconv::emulator::machine
