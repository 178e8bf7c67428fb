// Tensor Memory of one CTA: 128 lanes x 512 columns of 32-bit cells (PTX ISA 9.7.16.1), which halves of each
// cell were written, and the column allocator (9.7.16.7.1).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/machine/observer.hpp"

namespace shiftconv::emulator::tensor {

inline constexpr uint32_t kTmemLanes = 128;
inline constexpr uint32_t kTmemColumns = 512;
/// Lanes that one warp of a warpgroup reaches, and inside which shifts move rows.
inline constexpr uint32_t kWindowLanes = 32;
inline constexpr uint32_t kAllocationUnit = 32;

/// Bits 31:16 of an address word are the lane, bits 15:0 the column (9.7.16.1.1).
struct TmemAddress {
  uint32_t lane = 0;
  uint32_t column = 0;
};
constexpr TmemAddress unpackAddress(uint32_t word) { return {word >> 16, word & 0xffffu}; }
constexpr uint32_t packAddress(TmemAddress address) { return address.lane << 16 | address.column; }

/// Which 16-bit halves of a cell hold defined data; kStale besides: a shift left the cell as it was while the rows above it moved.
enum WrittenHalves : uint8_t { kNothing = 0, kLowHalf = 1, kHighHalf = 2, kWholeCell = 3, kStale = 4 };

class TensorMemory {
 public:
  /// `zeroed`: newly allocated cells read as zero instead of being undefined (question U16).
  explicit TensorMemory(bool zeroed) : zeroed_(zeroed) {}

  /// First column of the lowest free run that is aligned to its size; nullopt when none is free now. Throws
  /// EmulatorError IllegalInstruction for a size that is not a power of two in [32, 512], Synchronisation after
  /// relinquish() or when the size exceeds that of an earlier allocation.
  std::optional<uint32_t> allocate(uint32_t columns);
  /// What allocate() would return, and throw; nothing changes.
  std::optional<uint32_t> findFree(uint32_t columns) const;
  /// Whether a live allocation begins at the address.
  bool isAllocation(uint32_t address) const;
  /// Throws EmulatorError Synchronisation unless `address` and `columns` are those of a live allocation.
  void deallocate(uint32_t address, uint32_t columns);
  /// No further allocate() is legal.
  void relinquish() { relinquished_ = true; }
  bool anythingAllocated() const;
  /// "0..31, 64..127" or "none".
  std::string allocatedColumns() const;

  /// Throws EmulatorError OutOfBounds unless columns [first, first+count) are allocated and lanes
  /// [lane, lane+lanes) exist. `who` starts the sentence ("operand D of tcgen05.mma").
  void requireCells(uint32_t lane, uint32_t lanes, uint32_t first, uint32_t count, std::string_view who) const;
  /// True when `halves` of the cells hold defined data.
  bool isDefined(uint32_t lane, uint32_t first, uint32_t count, uint8_t halves) const {
    uint8_t common = kWholeCell;
    const uint8_t* state = written(lane) + first;
    for (uint32_t i = 0; i < count; ++i) common &= state[i];
    return (common & halves) == halves;
  }
  /// True when one of the cells is stale.
  bool isStale(uint32_t lane, uint32_t first, uint32_t count) const {
    uint8_t any = 0;
    const uint8_t* state = written(lane) + first;
    for (uint32_t i = 0; i < count; ++i) any |= state[i];
    return (any & kStale) != 0;
  }

  /// The 512 cells of a lane. Callers have checked their columns.
  uint32_t* cells(uint32_t lane) { return cells_.data() + size_t{lane} * kTmemColumns; }
  const uint32_t* cells(uint32_t lane) const { return cells_.data() + size_t{lane} * kTmemColumns; }
  /// The WrittenHalves of those cells.
  uint8_t* written(uint32_t lane) { return written_.data() + size_t{lane} * kTmemColumns; }
  const uint8_t* written(uint32_t lane) const { return written_.data() + size_t{lane} * kTmemColumns; }

  /// Tells the observer, if there is one, what the operation that is completing touches.
  void observe(uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns, bool writes, machine::OperandRole role) const {
    if (observer_ != nullptr) [[unlikely]]
      observer_->operationTensor(rank_, lane, lanes, column, columns, writes, role);
  }
  void watch(machine::Observer* observer, uint32_t rank) {
    observer_ = observer;
    rank_ = rank;
  }
  /// A shift moved rows [first + 1, first + lanes) up by one, and left the last one as it was.
  void observeShift(uint32_t first, uint32_t lanes, uint32_t column, uint32_t columns) const {
    if (observer_ != nullptr) [[unlikely]]
      observer_->operationShift(rank_, first, lanes, column, columns);
  }

  /// The operation that is completing has put undefined data into the lane: from shared memory, or as the result of an mma.
  void observeUndefined(uint32_t lane, uint32_t sharedOffset) const {
    if (observer_ != nullptr) [[unlikely]]
      observer_->undefinedInTensor(rank_, lane, sharedOffset);
  }
  void observeUndefined(uint32_t lane, const machine::Observer::UndefinedOperand& operand) const {
    if (observer_ != nullptr) [[unlikely]]
      observer_->undefinedResult(rank_, lane, operand);
  }
  /// A tcgen05.ld has filled a register of the warp; in `lanes` with undefined data.
  void observeUndefinedLoad(const std::byte* reg, uint32_t lanes, uint32_t tensorLane) const {
    if (observer_ != nullptr && lanes != 0) [[unlikely]]
      observer_->loadedUndefined(rank_, reg, lanes, tensorLane);
  }

  /// Stores one cell whose halves are all defined.
  void store(uint32_t lane, uint32_t column, uint32_t value) {
    cells(lane)[column] = value;
    written(lane)[column] = kWholeCell;
  }

 private:
  machine::Observer* observer_ = nullptr;
  uint32_t rank_ = 0;
  static constexpr uint32_t kUnits = kTmemColumns / kAllocationUnit;
  bool zeroed_;
  bool relinquished_ = false;
  uint32_t largestAllowed_ = kTmemColumns;  ///< size of the previous allocation
  std::array<uint32_t, kUnits> sizeAt_{};   ///< columns of the allocation that starts at this unit, else 0
  std::array<bool, kUnits> taken_{};
  std::vector<uint32_t> cells_;  ///< made at the first allocation
  std::vector<uint8_t> written_;
};

}  // namespace shiftconv::emulator::tensor
