// What is remembered of one page of global memory.
//
// Most lines of 128 bytes are used alike: by one copy as a whole, or by neighbouring lanes of a warp, each with its own few bytes.
// Such a line takes one entry. Any other access gives every four bytes of the line a cell of their own (and every byte, where
// it takes that), until a write to all of the line makes it one again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "common/emulator/hazards/global_access.hpp"
#include "common/emulator/hazards/shadow.hpp"

namespace shiftconv::emulator::hazards {

inline constexpr uint64_t kGlobalPageBytes = 4096;

/// One entry for a line: an access of it belongs to all bytes, or to the first ones and, with the lanes that follow, to the others.
class GlobalLine {
 public:
  static constexpr uint32_t kBytes = 128, kCellBytes = 4, kCells = kBytes / kCellBytes;
  static constexpr uint8_t kSame = 31;  ///< a shift that makes every byte the first lane's

  enum Slot : uint8_t { Writer, FirstReader, SecondReader, Slots };

  bool isWhole() const { return !split_; }
  const GlobalAccess& at(Slot slot) const { return slot == Writer ? first_.writer : first_.readers[slot - FirstReader]; }
  /// log2 of the bytes of a lane, or kSame.
  uint8_t shift(Slot slot) const { return shifts_[slot]; }
  /// By the lane that used the byte.
  static GlobalAccess ofByte(GlobalAccess first, uint8_t shift, uint32_t byte) {
    if (const uint32_t lane = byte >> shift; lane != 0) first.bits = first.access().ofLane(lane).bits();
    return first;
  }
  void set(Slot slot, const GlobalAccess& first, uint8_t shift) {
    (slot == Writer ? first_.writer : first_.readers[slot - FirstReader]) = first;
    shifts_[slot] = shift;
  }
  /// All of the line was written, by lanes as `shift` says.
  void setWritten(const GlobalAccess& first, uint8_t shift) {
    split_ = false;
    first_ = {.writer = first, .readers = {}};
    shifts_ = {shift, kSame, kSame};
  }

  /// The cells of a line that is not whole.
  GlobalCell* cells() { return cells_->granules(); }
  /// The entries of a byte and those behind it in its cell, when they have their own; nullptr otherwise.
  GlobalCell* partsAt(uint64_t byte) {
    const GlobalCell& cell = cells()[byte / kCellBytes];
    return cell.isSplit() ? cells_->partsOf(cell) + byte % kCellBytes : nullptr;
  }

  /// As Shadow::visit, for bytes of the line; parts are bytes. A whole line counts as one cell where that says all.
  template <class Visit>
  void visit(uint32_t begin, uint32_t count, bool writes, Visit&& visit) {
    const bool all = count == kBytes;
    // Whether bytes that nobody has written are undefined is asked cell by cell.
    if (all && isWhole() && shifts_ == kAlike && (writes || first_.writer.launch != GlobalAccess::kNobody))
      return visit(first_, size_t{0}, size_t{kBytes});
    if (isWhole()) split();
    cells_->visit(begin, count, writes, visit);
    if (!all || !writes) return;
    first_ = cells()[0];
    shifts_ = kAlike;
    split_ = false;
  }

  template <class Action>
  void forEach(Action&& action) const {
    if (isWhole())
      action(first_);
    else
      cells_->forEach(action);
  }

 private:
  void split() {
    if (!cells_) cells_ = std::make_unique<Shadow<kCellBytes, GlobalCell>>(kBytes);
    cells_->visit(0, kBytes, true, [&](GlobalCell& cell) { cell = {}; });  // whatever was split is whole again
    for (uint32_t i = 0; i < kCells; ++i) {
      GlobalCell& cell = cells()[i];
      cell.writer = ofByte(first_.writer, shifts_[Writer], i * kCellBytes);
      for (unsigned reader = 0; reader < 2; ++reader)
        cell.readers[reader] = ofByte(first_.readers[reader], shifts_[FirstReader + reader], i * kCellBytes);
    }
    split_ = true;
  }

  static constexpr std::array<uint8_t, Slots> kAlike = {kSame, kSame, kSame};
  GlobalCell first_;
  std::array<uint8_t, Slots> shifts_ = kAlike;
  bool split_ = false;
  std::unique_ptr<Shadow<kCellBytes, GlobalCell>> cells_;  ///< kept when the line is whole again
};

class GlobalCells {
 public:
  /// `byte`: of the page.
  GlobalLine& line(uint64_t byte) { return lines_[byte / GlobalLine::kBytes]; }

  /// As Shadow::visit, for bytes of the page.
  template <class Visit>
  void visit(uint64_t first, uint64_t count, bool writes, Visit&& visit) {
    const uint64_t end = first + count;
    while (first < end) {
      const uint64_t begin = first / GlobalLine::kBytes * GlobalLine::kBytes;
      const uint64_t stop = std::min(end, begin + GlobalLine::kBytes);
      line(first).visit(static_cast<uint32_t>(first - begin), static_cast<uint32_t>(stop - first), writes,
                        [&](GlobalCell& cell, size_t part, size_t parts) { visit(cell, begin + part, parts); });
      first = stop;
    }
  }

  template <class Action>
  void forEach(Action&& action) const {
    for (const GlobalLine& line : lines_) line.forEach(action);
  }

 private:
  std::array<GlobalLine, kGlobalPageBytes / GlobalLine::kBytes> lines_;
};

}  // namespace shiftconv::emulator::hazards
