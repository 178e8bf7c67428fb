// Who last wrote and who has since read every byte of a shared memory.
//
// Bulk copies and operands use whole lines alike: such a line takes one entry. An access to less than a line gives every four bytes
// of it an entry of their own (and every byte, where it takes that), until a write to all of the line makes it one again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/emulator/hazards/shadow.hpp"

namespace shiftconv::emulator::hazards {

class SharedShadow {
 public:
  static constexpr size_t kLineBytes = 128, kCellBytes = 4;

  explicit SharedShadow(size_t bytes) : lineCount_((bytes + kLineBytes - 1) / kLineBytes), cells_(lineCount_ * kLineBytes) {}

  /// As Shadow::visit, for bytes.
  template <class Visit>
  void visit(size_t first, size_t count, bool writes, Visit&& visit) {
    const size_t end = first + count;
    while (first < end) {
      const size_t line = first / kLineBytes, stop = std::min(end, (line + 1) * kLineBytes);
      if (stop - first == kLineBytes) {
        visitLine(line, writes, visit);
      } else {
        spread(line);
        cells_.visit(first, stop - first, writes, visit);
      }
      first = stop;
    }
  }

  /// The cells from the one of this byte on, some of which may stand for split granules; of one line.
  ShadowCell* cellsAt(size_t byte) {
    spread(byte / kLineBytes);
    return cells_.granules() + byte / kCellBytes;
  }

  /// Calls action(cell) for every cell.
  template <class Action>
  void forEach(Action&& action) const {
    for (size_t line = 0; line < lines_.size(); ++line)
      if (lines_[line].isSplit())
        cells_.forEach(line * kLineBytes, kLineBytes, action);
      else
        action(lines_[line]);
  }
  /// The same; the action may change the cells.
  template <class Action>
  void update(Action&& action) {
    for (size_t line = 0; line < lines_.size(); ++line)
      if (lines_[line].isSplit())
        cells_.update(line * kLineBytes, kLineBytes, action);
      else
        action(lines_[line]);
  }

 private:
  ShadowCell& line(size_t index) {
    if (lines_.empty()) lines_.resize(lineCount_);
    return lines_[index];
  }
  void spread(size_t index) {
    ShadowCell& entry = line(index);
    if (entry.isSplit()) return;
    std::fill_n(cells_.granules() + index * kLineBytes / kCellBytes, kLineBytes / kCellBytes, entry);
    entry = ShadowCell::splitAt(0);
  }
  template <class Visit>
  void visitLine(size_t index, bool writes, Visit& visit) {
    ShadowCell& entry = line(index);
    if (!entry.isSplit()) return cells_.call(visit, entry, index * kLineBytes, kLineBytes);
    cells_.visit(index * kLineBytes, kLineBytes, writes, visit);
    if (writes) entry = *(cells_.granules() + index * kLineBytes / kCellBytes);
  }

  size_t lineCount_;
  std::vector<ShadowCell> lines_;  ///< split: the line's cells say it; none until something is accessed
  Shadow<kCellBytes> cells_;       ///< of lines that are one, no granule is split
};

}  // namespace shiftconv::emulator::hazards
