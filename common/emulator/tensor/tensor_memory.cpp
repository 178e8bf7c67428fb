#include "common/emulator/tensor/tensor_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::tensor {

namespace {
/// What never-written cells hold, so that a missing check shows.
constexpr uint32_t kPoison = 0xcbcbcbcbu;
}  // namespace

std::optional<uint32_t> TensorMemory::findFree(uint32_t columns) const {
  if (!std::has_single_bit(columns) || columns < kAllocationUnit || columns > kTmemColumns) {
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("tcgen05.alloc of {} columns: the size must be a power of two from 32 to 512.", columns));
  }
  if (relinquished_) {
    throw EmulatorError(ErrorKind::Synchronisation,
                        "tcgen05.alloc after tcgen05.relinquish_alloc_permit: this CTA has given up its right to allocate.");
  }
  if (columns > largestAllowed_) {
    throw EmulatorError(ErrorKind::Synchronisation,
                        fmt::format("tcgen05.alloc of {} columns after one of {}: the sizes of successive allocations of a CTA "
                                    "must not grow.",
                                    columns, largestAllowed_));
  }
  const uint32_t units = columns / kAllocationUnit;
  for (uint32_t first = 0; first + units <= kUnits; first += units) {
    if (std::none_of(taken_.begin() + first, taken_.begin() + first + units, [](bool taken) { return taken; }))
      return first * kAllocationUnit;
  }
  return std::nullopt;
}

std::optional<uint32_t> TensorMemory::allocate(uint32_t columns) {
  const std::optional<uint32_t> column = findFree(columns);
  if (!column) return column;
  if (cells_.empty()) {
    cells_.assign(size_t{kTmemLanes} * kTmemColumns, kPoison);
    written_.assign(cells_.size(), kNothing);
  }
  const uint32_t first = *column / kAllocationUnit;
  std::fill_n(taken_.begin() + first, columns / kAllocationUnit, true);
  sizeAt_[first] = columns;
  largestAllowed_ = columns;
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
    std::fill_n(cells(lane) + *column, columns, zeroed_ ? 0u : kPoison);
    std::fill_n(written(lane) + *column, columns, static_cast<uint8_t>(zeroed_ ? kWholeCell : kNothing));
  }
  return column;
}

bool TensorMemory::isAllocation(uint32_t address) const {
  const TmemAddress at = unpackAddress(address);
  const uint32_t unit = at.column / kAllocationUnit;
  return at.lane == 0 && at.column % kAllocationUnit == 0 && unit < kUnits && sizeAt_[unit] != 0;
}

void TensorMemory::deallocate(uint32_t address, uint32_t columns) {
  const TmemAddress at = unpackAddress(address);
  const uint32_t unit = at.column / kAllocationUnit;
  const bool known = isAllocation(address);
  if (!known || sizeAt_[unit] != columns) {
    throw EmulatorError(
        ErrorKind::Synchronisation,
        known ? fmt::format("tcgen05.dealloc of {} columns at {:#x}: that allocation has {} columns.", columns, address,
                            sizeAt_[unit])
              : fmt::format("tcgen05.dealloc of address {:#x}: no live allocation starts there (allocated columns: {}).", address,
                            allocatedColumns()));
  }
  const uint32_t units = columns / kAllocationUnit;
  std::fill_n(taken_.begin() + unit, units, false);
  sizeAt_[unit] = 0;
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
    std::fill_n(written(lane) + at.column, columns, static_cast<uint8_t>(kNothing));
  }
}

bool TensorMemory::anythingAllocated() const {
  return std::any_of(taken_.begin(), taken_.end(), [](bool taken) { return taken; });
}

std::string TensorMemory::allocatedColumns() const {
  std::string text;
  for (uint32_t unit = 0; unit < kUnits; ++unit) {
    if (sizeAt_[unit] == 0) continue;
    const uint32_t first = unit * kAllocationUnit;
    text += fmt::format("{}{}..{}", text.empty() ? "" : ", ", first, first + sizeAt_[unit] - 1);
  }
  return text.empty() ? "none" : text;
}

void TensorMemory::requireCells(uint32_t lane, uint32_t lanes, uint32_t first, uint32_t count, std::string_view who) const {
  if (lane + lanes > kTmemLanes) {
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("{} reaches lanes {}..{}, but Tensor Memory has lanes 0..127.", who, lane, lane + lanes - 1));
  }
  if (first + count > kTmemColumns) {
    throw EmulatorError(ErrorKind::OutOfBounds, fmt::format("{} reaches columns {}..{}, but Tensor Memory has columns 0..511.", who,
                                                            first, first + count - 1));
  }
  const uint32_t end = (first + count + kAllocationUnit - 1) / kAllocationUnit;
  for (uint32_t unit = first / kAllocationUnit; unit < end; ++unit) {
    if (taken_[unit]) continue;
    throw EmulatorError(ErrorKind::OutOfBounds,
                        fmt::format("{} reaches columns {}..{}, of which {}..{} are not allocated (allocated: {}).", who, first,
                                    first + count - 1, std::max(first, unit * kAllocationUnit),
                                    std::min(first + count, (unit + 1) * kAllocationUnit) - 1, allocatedColumns()));
  }
}

}  // namespace shiftconv::emulator::tensor
