// Random valid problems of every kind that the description allows, whether an algorithm takes them or not.
#pragma once

#include <random>

#include "common/device/device.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::tests {

Problem randomProblem(std::mt19937_64& generator);

/// A known device, or one like it with fewer multiprocessors or less shared memory, as other devices have.
device::Properties randomProperties(std::mt19937_64& generator);

}  // namespace shiftconv::tests
