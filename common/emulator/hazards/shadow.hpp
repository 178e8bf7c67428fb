// Who last wrote and who has since read every byte of a memory.
//
// The memory is kept in granules of `Parts` bytes or cells. A granule whose parts were all accessed alike needs one
// entry; the first access to less than a granule splits it, and a write to all of it makes it whole again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace shiftconv::emulator::hazards {

struct ShadowCell {
  uint64_t writer = 0;   ///< an Access; 0: nobody
  uint64_t readers = 0;  ///< an Access, or the number of a reader set (reader_sets.hpp); 0: nobody

  // A writer is an Access, whose kind is never 0 in the top bits; a split granule has a 0 there.
  static constexpr uint64_t kSplit = uint64_t{1} << 61;
  static ShadowCell splitAt(size_t index) { return {kSplit | index, 0}; }
  bool isSplit() const { return writer >> 61 == 1; }
  size_t splitIndex() const { return writer & ~kSplit; }
};

/// `Cell` says what is remembered; it can also stand for a split granule (splitAt, isSplit, splitIndex).
template <uint32_t Parts, class Cell = ShadowCell>
class Shadow {
 public:
  explicit Shadow(size_t parts) : size_((parts + Parts - 1) / Parts) {}

  /// Calls visit(cell), or visit(cell, first part, parts), for the cells that together hold [first, first + count). With `writes` a
  /// granule that is covered as a whole becomes one cell after all of its cells were visited; visit must then leave them all the
  /// same.
  template <class Visit>
  void visit(size_t first, size_t count, bool writes, Visit&& visit) {
    const size_t end = first + count;
    if (granules_.empty()) granules_.resize(size_);
    while (first < end) {
      const size_t granule = first / Parts;
      const size_t stop = std::min(end, (granule + 1) * Parts);
      if (stop - first == Parts) {
        visitWhole(granules_[granule], first, writes, visit);
      } else {
        std::array<Cell, Parts>& parts = split(granules_[granule]);
        for (size_t part = first % Parts; part < stop - granule * Parts; ++part)
          call(visit, parts[part], granule * Parts + part, 1);
      }
      first = stop;
    }
  }

  /// One cell for each granule, some of which may stand for split granules.
  Cell* granules() {
    if (granules_.empty()) granules_.resize(size_);
    return granules_.data();
  }
  /// The cells of a granule that is split.
  Cell* partsOf(const Cell& granule) { return splits_[granule.splitIndex()].data(); }

  /// Calls action(cell) for every cell.
  template <class Action>
  void forEach(Action&& action) const {
    visitAll(*this, 0, granules_.size(), action);
  }
  /// The same; the action may change the cells.
  template <class Action>
  void update(Action&& action) {
    visitAll(*this, 0, granules_.size(), action);
  }
  /// The same for the cells of whole granules, [first, first + count), something of which has been accessed.
  template <class Action>
  void forEach(size_t first, size_t count, Action&& action) const {
    visitAll(*this, first / Parts, (first + count) / Parts, action);
  }
  template <class Action>
  void update(size_t first, size_t count, Action&& action) {
    visitAll(*this, first / Parts, (first + count) / Parts, action);
  }

  template <class Visit>
  static void call(Visit& visit, Cell& cell, size_t first, size_t count) {
    if constexpr (std::is_invocable_v<Visit&, Cell&, size_t, size_t>)
      visit(cell, first, count);
    else
      visit(cell);
  }

 private:
  template <class Self, class Action>
  static void visitAll(Self& self, size_t first, size_t end, Action& action) {
    for (size_t i = first; i < end; ++i) {
      auto& granule = self.granules_[i];
      if (!granule.isSplit()) {
        action(granule);
        continue;
      }
      for (auto& part : self.splits_[granule.splitIndex()]) action(part);
    }
  }

  template <class Visit>
  void visitWhole(Cell& granule, size_t first, bool writes, Visit& visit) {
    if (!granule.isSplit()) return call(visit, granule, first, Parts);
    std::array<Cell, Parts>& parts = splits_[granule.splitIndex()];
    for (size_t part = 0; part < Parts; ++part) call(visit, parts[part], first + part, 1);
    if (!writes) return;
    free_.push_back(granule.splitIndex());
    granule = parts[0];
  }

  std::array<Cell, Parts>& split(Cell& granule) {
    if (granule.isSplit()) return splits_[granule.splitIndex()];
    if (free_.empty()) {
      free_.push_back(splits_.size());
      splits_.emplace_back();
    }
    const size_t index = free_.back();
    free_.pop_back();
    splits_[index].fill(granule);
    granule = Cell::splitAt(index);
    return splits_[index];
  }

  size_t size_;
  std::vector<Cell> granules_;  ///< none until something is accessed: many CTAs never use a memory
  std::vector<std::array<Cell, Parts>> splits_;
  std::vector<size_t> free_;
};

}  // namespace shiftconv::emulator::hazards
