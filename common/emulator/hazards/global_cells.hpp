// What is remembered of one page of global memory.
//
// Most lines of 128 bytes are used alike: by one copy as a whole, or by neighbouring lanes of a warp, each with its own few bytes.
// Such a line takes one entry. Any other access gives each of its sectors of 32 bytes one, and an access to less than a sector, or
// by lanes that are no neighbours, gives every four bytes of the sector a cell of their own (and every byte, where it takes
// that), until a write to all of the line or sector makes it one again. A loop in which a thread walks along a sector needs no
// cells: until the thread is through, the sector has an entry for what is behind it, and another for what is before it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/emulator/hazards/global_access.hpp"

namespace shiftconv::emulator::hazards {

inline constexpr uint64_t kGlobalPageBytes = 4096;

/// What is known of neighbouring bytes that are used alike: an access of them belongs to all of them, or to the first ones and,
/// with the lanes that follow, to the others.
struct GlobalEntry {
  static constexpr uint32_t kCellBytes = 4;
  static constexpr uint8_t kSame = 31;  ///< a shift that makes every byte the first lane's
  enum Slot : uint8_t { Writer, FirstReader, SecondReader, Slots };
  static constexpr std::array<uint8_t, Slots> kAlike = {kSame, kSame, kSame};

  GlobalCell first;
  std::array<uint8_t, Slots> shifts = kAlike;  ///< log2 of the bytes of a lane, or kSame

  const GlobalAccess& at(Slot slot) const { return slot == Writer ? first.writer : first.readers[slot - FirstReader]; }
  /// By the lane that used the byte.
  static GlobalAccess ofByte(GlobalAccess first, uint8_t shift, uint32_t byte) {
    if (const uint32_t lane = byte >> shift; lane != 0) first.bits = first.access().ofLane(lane).bits();
    return first;
  }
  GlobalCell cellOf(uint32_t byte) const {
    return {.writer = ofByte(first.writer, shifts[Writer], byte),
            .readers = {ofByte(first.readers[0], shifts[FirstReader], byte), ofByte(first.readers[1], shifts[SecondReader], byte)}};
  }
  /// Whether the four bytes of a cell belong to several lanes.
  bool isFine() const {
    return std::any_of(shifts.begin(), shifts.end(), [](uint8_t shift) { return (1u << shift) < kCellBytes; });
  }
};

/// One entry for `Bytes` bytes, or their `Parts`.
template <uint32_t Bytes, class Parts>
class GlobalRun : public GlobalEntry {
 public:
  static constexpr uint32_t kBytes = Bytes;

  bool isWhole() const { return !split_; }
  uint8_t shift(Slot slot) const { return shifts[slot]; }
  void set(Slot slot, const GlobalAccess& access, uint8_t shift) {
    (slot == Writer ? first.writer : first.readers[slot - FirstReader]) = access;
    shifts[slot] = shift;
  }
  /// All of it was written, by lanes as `shift` says.
  void setWritten(const GlobalAccess& access, uint8_t shift) {
    assign({.first = {.writer = access, .readers = {}}, .shifts = {shift, kSame, kSame}});
  }
  void assign(const GlobalEntry& entry) {
    static_cast<GlobalEntry&>(*this) = entry;
    split_ = false;
  }

  /// The parts; of one that is whole, made first.
  Parts& parts() {
    if (split_) return *parts_;
    if (!parts_) parts_ = std::make_unique<Parts>();
    parts_->fill(*this);
    split_ = true;
    return *parts_;
  }

  /// As Shadow::visit, for bytes of the run; parts are bytes. What is whole counts as one cell where that says all.
  template <class Visit>
  void visit(uint32_t begin, uint32_t count, bool writes, Visit&& visit) {
    const bool all = count == kBytes;
    // Whether bytes that nobody has written are undefined is asked cell by cell.
    if (all && isWhole() && shifts == kAlike && (writes || first.writer.launch != GlobalAccess::kNobody))
      return visit(first, size_t{0}, size_t{kBytes});
    parts().visit(begin, count, writes, visit);
    if (all && writes) assign({.first = parts_->front(), .shifts = kAlike});
  }

  template <class Action>
  void forEach(Action&& action) const {
    if (isWhole())
      action(first);
    else
      parts_->forEach(action);
  }

 private:
  bool split_ = false;
  std::unique_ptr<Parts> parts_;  ///< kept when the run is whole again
};

/// The cells of a sector.
class GlobalSectorParts {
 public:
  static constexpr uint32_t kCellBytes = GlobalEntry::kCellBytes, kBytes = 32, kCells = kBytes / kCellBytes;

  GlobalCell* cells() { return cells_.data(); }
  /// The entries of a byte and those after it in its cell, when they have their own; nullptr otherwise.
  GlobalCell* bytesAt(uint32_t byte) {
    return cells_[byte / kCellBytes].isSplit() ? (*bytes_)[byte / kCellBytes].data() + byte % kCellBytes : nullptr;
  }
  void fill(const GlobalEntry& entry) {
    for (uint32_t i = 0; i < kCells; ++i) {
      cells_[i] = entry.cellOf(i * kCellBytes);
      if (!entry.isFine()) continue;
      Bytes& bytes = split(i);
      for (uint32_t byte = 0; byte < kCellBytes; ++byte) bytes[byte] = entry.cellOf(i * kCellBytes + byte);
    }
  }
  template <class Visit>
  void visit(uint32_t begin, uint32_t count, bool writes, Visit&& visit) {
    const uint32_t end = begin + count;
    while (begin < end) {
      const uint32_t i = begin / kCellBytes, first = i * kCellBytes, stop = std::min(end, first + kCellBytes);
      const bool all = stop - begin == kCellBytes;
      if (all && !cells_[i].isSplit()) {
        visit(cells_[i], size_t{first}, size_t{kCellBytes});
      } else {
        Bytes& bytes = split(i);
        for (uint32_t byte = begin; byte < stop; ++byte) visit(bytes[byte - first], size_t{byte}, size_t{1});
        if (all && writes) cells_[i] = bytes[0];
      }
      begin = stop;
    }
  }
  const GlobalCell& front() const { return cells_[0]; }
  template <class Action>
  void forEach(Action&& action) const {
    for (uint32_t i = 0; i < kCells; ++i)
      if (cells_[i].isSplit())
        for (const GlobalCell& byte : (*bytes_)[i]) action(byte);
      else
        action(cells_[i]);
  }

 private:
  using Bytes = std::array<GlobalCell, kCellBytes>;
  Bytes& split(uint32_t cell) {
    if (!bytes_) bytes_ = std::make_unique<std::array<Bytes, kCells>>();
    Bytes& bytes = (*bytes_)[cell];
    if (cells_[cell].isSplit()) return bytes;
    bytes.fill(cells_[cell]);
    cells_[cell] = GlobalCell::splitAt(cell);
    return bytes;
  }
  std::array<GlobalCell, kCells> cells_;
  std::unique_ptr<std::array<Bytes, kCells>> bytes_;  ///< of cells that are split
};

/// A walk begins at the first byte of a sector that is used alike, and every step goes on where the last one ended. Its steps leave
/// the same after them: the walker's stamp has not changed, so all it can have learnt is that more is ordered before it.
class GlobalSector : public GlobalRun<GlobalSectorParts::kBytes, GlobalSectorParts> {
 public:
  using Run = GlobalRun<GlobalSectorParts::kBytes, GlobalSectorParts>;

  bool isWhole() const { return walk_ == 0 && Run::isWhole(); }
  bool isSplit() const { return !Run::isWhole(); }
  GlobalSectorParts& parts() {
    endWalk();
    return Run::parts();
  }
  void assign(const GlobalEntry& entry) {
    walk_ = 0;
    Run::assign(entry);
  }
  void setWritten(const GlobalAccess& access, uint8_t shift) {
    walk_ = 0;
    Run::setWritten(access, shift);
  }
  template <class Visit>
  void visit(uint32_t begin, uint32_t count, bool writes, Visit&& visit) {
    endWalk();
    Run::visit(begin, count, writes, visit);
  }
  template <class Action>
  void forEach(Action&& action) const {
    Run::forEach(action);
    if (walk_ != 0) action(ahead_.first);
  }

  /// Of a whole sector: an access of its first `bytes`, for which touch(cell) does what is to do. False, with nothing changed, when
  /// touch() returns that. `walk`: a number for this access, and for the steps to come.
  template <class Touch>
  bool beginWalk(uint64_t walk, uint32_t bytes, Touch&& touch) {
    ahead_ = *this;
    if (!touch(first)) return false;
    if (shifts != kAlike)
      for (const Slot slot : {Writer, FirstReader, SecondReader})
        if (!(at(slot) == ahead_.at(slot))) shifts[slot] = kSame;
    walk_ = walk;
    walked_ = 0;
    step(walk, bytes);
    return true;
  }
  enum class Step : uint8_t { Refused, Done, Last };
  /// The same access of the bytes that follow. Refused, with nothing done, when the sector was used otherwise since.
  Step step(uint64_t walk, uint32_t bytes) {
    if (walk_ != walk) return Step::Refused;
    walked_ = static_cast<uint8_t>(walked_ + bytes);
    if (walked_ != kBytes) return Step::Done;
    walk_ = 0;
    return Step::Last;
  }
  bool isWalked() const { return walk_ != 0; }

 private:
  /// Gives the bytes cells, as those after the walker and those ahead of it differ.
  void endWalk() {
    if (std::exchange(walk_, 0) == 0) return;
    const GlobalEntry behind = *this;
    Run::assign(ahead_);
    Run::parts().visit(0, walked_, false,
                       [&](GlobalCell& cell, size_t at, size_t) { cell = behind.cellOf(static_cast<uint32_t>(at)); });
  }
  uint8_t walked_ = 0;  ///< bytes
  uint64_t walk_ = 0;   ///< 0: nobody walks here
  GlobalEntry ahead_;   ///< of the bytes that the walker has not reached
};

/// The sectors of a line.
class GlobalLineParts {
 public:
  static constexpr uint32_t kBytes = 128, kSectors = kBytes / GlobalSector::kBytes;
  std::array<GlobalSector, kSectors> sectors;

  void fill(const GlobalEntry& entry) {
    for (uint32_t i = 0; i < sectors.size(); ++i)
      sectors[i].assign({.first = entry.cellOf(i * GlobalSector::kBytes), .shifts = entry.shifts});
  }
  template <class Visit>
  void visit(uint32_t begin, uint32_t count, bool writes, Visit&& visit) {
    const uint32_t end = begin + count;
    while (begin < end) {
      const uint32_t sector = begin / GlobalSector::kBytes, first = sector * GlobalSector::kBytes;
      const uint32_t stop = std::min(end, first + GlobalSector::kBytes);
      sectors[sector].visit(begin - first, stop - begin, writes,
                            [&](GlobalCell& cell, size_t part, size_t parts) { visit(cell, first + part, parts); });
      begin = stop;
    }
  }
  const GlobalCell& front() const { return sectors[0].first; }
  template <class Action>
  void forEach(Action&& action) const {
    for (const GlobalSector& sector : sectors) sector.forEach(action);
  }
};

using GlobalLine = GlobalRun<GlobalLineParts::kBytes, GlobalLineParts>;

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
