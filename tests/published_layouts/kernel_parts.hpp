// Pieces of kernel bodies that the tests share (see tests/support/tensor_kernel.hpp for the frame around them).
#pragma once

#include <cstdint>
#include <string>

#include "common/emulator/options.hpp"

namespace shiftconv::tests::layouts {

/// Every program here is correct: the hazard checker must stay silent.
inline emulator::Options withHazardChecks() {
  emulator::Options options;
  options.hazards = emulator::HazardMode::Error;
  return options;
}

/// Cells [0, columns) of every lane l become l * 1000 + 0x5a000000 + column % 16; `columns` a multiple of 16.
std::string fillCells(uint32_t columns);
/// Cells [column, column + count) of lane l become the words of shared memory at start + (l * count + i) * 4; count <= 16, a
/// multiple of 4.
std::string loadCells(uint32_t start, uint32_t column, uint32_t count);
/// Every thread stores cells [0, columns) of its lane to out[lane * columns ...]; `columns` a multiple of 16.
std::string dumpCells(uint32_t columns);
/// Orders Tensor Memory accesses of all threads of the cluster before the barrier and those after it.
std::string clusterBarrier();
/// Thread 0 of the CTA of rank 0 (%p1) commits to mbarrier `index` of every CTA of the group; then everybody waits.
std::string commitFromFirstCta(unsigned index, uint32_t ctaGroup);

}  // namespace shiftconv::tests::layouts
