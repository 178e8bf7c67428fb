// Who last wrote and who has since read every byte of a memory.
//
// The memory is kept in granules of `Parts` bytes or cells. A granule whose parts were all accessed alike needs one
// entry; the first access to less than a granule splits it, and a write to all of it makes it whole again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace shiftconv::emulator::hazards {

struct ShadowCell {
  uint64_t writer = 0;   ///< an Access; 0: nobody
  uint64_t readers = 0;  ///< an Access, or the number of a reader set (reader_sets.hpp); 0: nobody
};

template <uint32_t Parts>
class Shadow {
 public:
  explicit Shadow(size_t parts) : granules_((parts + Parts - 1) / Parts) {}

  /// Calls visit(cell) for the cells that together hold [first, first + count). With `writes` a granule that is covered
  /// as a whole becomes one cell after all of its cells were visited; visit must then leave them all the same.
  template <class Visit>
  void visit(size_t first, size_t count, bool writes, Visit&& visit) {
    const size_t end = first + count;
    while (first < end) {
      const size_t granule = first / Parts;
      const size_t stop = std::min(end, (granule + 1) * Parts);
      if (stop - first == Parts) {
        visitWhole(granules_[granule], writes, visit);
      } else {
        std::array<ShadowCell, Parts>& parts = split(granules_[granule]);
        for (size_t part = first % Parts; part < stop - granule * Parts; ++part) visit(parts[part]);
      }
      first = stop;
    }
  }

  /// Calls action(cell) for every cell that was ever touched.
  template <class Action>
  void forEach(Action&& action) const {
    for (const ShadowCell& granule : granules_) {
      if (!isSplit(granule)) {
        action(granule);
        continue;
      }
      for (const ShadowCell& part : splits_[indexOf(granule)]) action(part);
    }
  }

 private:
  // A writer is an Access, whose kind is never 0 in the top bits; a split granule has a 0 there and its index, plus one.
  static constexpr uint64_t kSplit = uint64_t{1} << 61;
  static bool isSplit(const ShadowCell& granule) { return granule.writer >> 61 == 1; }
  static size_t indexOf(const ShadowCell& granule) { return granule.writer & ~kSplit; }

  template <class Visit>
  void visitWhole(ShadowCell& granule, bool writes, Visit&& visit) {
    if (!isSplit(granule)) return visit(granule);
    std::array<ShadowCell, Parts>& parts = splits_[indexOf(granule)];
    for (ShadowCell& part : parts) visit(part);
    if (!writes) return;
    free_.push_back(indexOf(granule));
    granule = parts[0];
  }

  std::array<ShadowCell, Parts>& split(ShadowCell& granule) {
    if (isSplit(granule)) return splits_[indexOf(granule)];
    if (free_.empty()) {
      free_.push_back(splits_.size());
      splits_.emplace_back();
    }
    const size_t index = free_.back();
    free_.pop_back();
    splits_[index].fill(granule);
    granule = {kSplit | index, 0};
    return splits_[index];
  }

  std::vector<ShadowCell> granules_;
  std::vector<std::array<ShadowCell, Parts>> splits_;
  std::vector<size_t> free_;
};

}  // namespace shiftconv::emulator::hazards
