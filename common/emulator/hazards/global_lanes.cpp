// Weak accesses that need no closer look, most of all: of neighbouring lanes that share out lines or sectors, of many lanes to one
// word, and of a lane to cells that it has for itself.
#include <algorithm>
#include <bit>

#include "common/emulator/hazards/global_checker.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::hazards {

using machine::forEachLane;
using machine::kAllLanes;
using machine::kWarpLanes;
using machine::Warp;

/// How an access by a thread stands to an earlier one that needs no look at operations or at what other clusters released.
inline GlobalChecker::Standing GlobalChecker::standing(const GlobalAccess& earlier, const View& view) {
  if (!earlier.isLaunch()) return Standing::Behind;
  if (earlier.launch != launch_.number) return isOfEarlierLaunch(earlier) ? Standing::Behind : Standing::Unclear;
  if (earlier.cluster != cluster_) return view.base->foreign ? Standing::Unclear : Standing::Beside;
  const Access access = earlier.access();
  if (access.kind() != Access::Kind::Thread) return Standing::Unclear;
  const uint32_t known = access.thread() == view.thread ? view.clock : entry(view.base->generic, access.thread());
  return known >= access.clock() ? Standing::Behind : Standing::Beside;
}

/// What most accesses are: alone, after the threads that used the cell before, or one of its many readers. False when it takes a
/// closer look, at split cells, too.
inline bool GlobalChecker::touchAlone(GlobalCell& cell, const GlobalAccess& access, const View& view, bool reads, bool writes) {
  if (cell.isSplit() || (reads && cell.writer.launch == GlobalAccess::kNobody)) return false;
  if (standing(cell.writer, view) != Standing::Behind) return false;
  // Most often: after a reader of another cluster, the second place is for the latest one of this cluster.
  const auto isOther = [&](const GlobalAccess& reader) { return reader.launch == launch_.number && reader.cluster != cluster_; };
  const auto isOwn = [&](const GlobalAccess& reader) {
    return reader.launch == launch_.number && reader.access().kind() == Access::Kind::Thread;
  };
  if (!writes && isOther(cell.readers[0]) && (isOther(cell.readers[1]) || isOwn(cell.readers[1])) && !view.base->foreign) {
    cell.readers[1] = access;
    return true;
  }
  const Standing first = standing(cell.readers[0], view), second = standing(cell.readers[1], view);
  if (writes) {
    if (first != Standing::Behind || second != Standing::Behind) return false;
    cell.writer = access;
    cell.readers[0] = cell.readers[1] = {};
    return true;
  }
  if (first == Standing::Unclear || second == Standing::Unclear) return false;
  // As addReader: readers behind which it stands are covered by it, and of the others two are kept.
  if (first == Standing::Behind) cell.readers[0] = {};
  if (second == Standing::Behind) cell.readers[1] = {};
  const bool takesSecond = cell.readers[0].isLaunch() && (!cell.readers[1].isLaunch() || cell.readers[0].cluster != cluster_);
  cell.readers[takesSecond ? 1 : 0] = access;
  return true;
}

template <class Run>
bool GlobalChecker::isBeforeLanes(const Warp& warp, const Run& run, GlobalEntry::Slot slot, unsigned firstLane, uint8_t shift) {
  const bool earlierWrites = slot == GlobalEntry::Writer;
  const GlobalAccess& first = run.at(slot);
  if (!first.isLaunch()) return true;
  if (first.launch != launch_.number) return isOfEarlierLaunch(first);
  const unsigned lanes = Run::kBytes >> shift;
  const auto threads = base_.threadsOf(warp).subspan(firstLane);
  if (standing(first, threads[0].view) == Standing::Beside) return false;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const View& view = threads[lane].view;
    const Subject subject{view, nullptr, Access::byThread(view.thread, view.clock, 0, false)};
    const Visitor visitor{subject, {}, 0, 0, !earlierWrites, earlierWrites};
    const uint32_t begin = lane << shift, end = begin + (1u << shift);
    // The bytes of this lane may have belonged to several lanes then.
    for (uint32_t byte = begin; byte < end; byte += 1u << run.shift(slot)) {
      if (order(GlobalEntry::ofByte(first, run.shift(slot), byte), earlierWrites, visitor) != Verdict::Ordered) return false;
      if (run.shift(slot) >= shift) break;
    }
  }
  return true;
}

bool GlobalChecker::isBehind(const Warp& warp, GlobalSector& sector, unsigned firstLane, uint8_t shift, bool reads) {
  if (sector.isWhole()) {
    if (reads && sector.first.writer.launch == GlobalAccess::kNobody) return false;
    return isBeforeLanes(warp, sector, GlobalEntry::Writer, firstLane, shift) &&
           isBeforeLanes(warp, sector, GlobalEntry::FirstReader, firstLane, shift) &&
           isBeforeLanes(warp, sector, GlobalEntry::SecondReader, firstLane, shift);
  }
  const auto threads = base_.threadsOf(warp).subspan(firstLane);
  for (uint32_t byte = 0; byte < GlobalSector::kBytes;) {
    GlobalCell* const own = sector.parts().bytesAt(byte);
    GlobalCell cell = own != nullptr ? *own : sector.parts().cells()[byte / GlobalEntry::kCellBytes];
    if (!touchAlone(cell, {}, threads[byte >> shift].view, reads, true)) return false;
    byte += own != nullptr ? 1 : std::min(1u << shift, GlobalEntry::kCellBytes);
  }
  return true;
}

bool GlobalChecker::isBehind(const Warp& warp, GlobalLine& line, unsigned firstLane, uint8_t shift, bool reads) {
  auto& sectors = line.parts().sectors;
  for (uint32_t i = 0; i < sectors.size(); ++i)
    if (!isBehind(warp, sectors[i], firstLane + (i * GlobalSector::kBytes >> shift), shift, reads)) return false;
  return true;
}

/// A weak access of neighbouring lanes to all of a line or sector. False, with nothing changed, when it takes a closer look.
template <class Run>
bool GlobalChecker::touchRun(const Warp& warp, Run& run, unsigned firstLane, const GlobalAccess& access, uint8_t shift, bool reads,
                             bool writes) {
  if (!run.isWhole()) {
    if (!writes || !isBehind(warp, run, firstLane, shift, reads)) return false;
    run.setWritten(access, shift);
    return true;
  }
  const auto isMine = [&](GlobalEntry::Slot slot) { return run.shift(slot) == shift && access.isBySameThread(run.at(slot)); };
  const bool knowsOthers = base_.threadsOf(warp)[firstLane].view.base->foreign != nullptr;
  const auto isHarmless = [&](GlobalEntry::Slot slot) {
    const GlobalAccess& earlier = run.at(slot);
    if (!earlier.isLaunch()) return true;
    if (earlier.launch != launch_.number) return isOfEarlierLaunch(earlier);
    if (earlier.cluster != cluster_ && !knowsOthers) return false;
    return isMine(slot) || isBeforeLanes(warp, run, slot, firstLane, shift);
  };
  if (!isHarmless(GlobalEntry::Writer) || (reads && run.at(GlobalEntry::Writer).launch == GlobalAccess::kNobody)) return false;
  if (writes) {
    if (!isHarmless(GlobalEntry::FirstReader) || !isHarmless(GlobalEntry::SecondReader)) return false;
    run.setWritten(access, shift);
    return true;
  }
  // As addReader, for all lanes at once.
  if (isMine(GlobalEntry::SecondReader)) {
    run.set(GlobalEntry::SecondReader, access, shift);
    return true;
  }
  for (const auto slot : {GlobalEntry::FirstReader, GlobalEntry::SecondReader})
    if (isHarmless(slot)) run.set(slot, {}, GlobalEntry::kSame);
  const GlobalAccess first = run.at(GlobalEntry::FirstReader), second = run.at(GlobalEntry::SecondReader);
  const bool takesSecond = first.isLaunch() && (!second.isLaunch() || first.cluster != cluster_ || first.launch != launch_.number);
  run.set(takesSecond ? GlobalEntry::SecondReader : GlobalEntry::FirstReader, access, shift);
  return true;
}

/// The lanes whose weak accesses need a closer look: all but those that share out whole lines or sectors among them.
LaneMask GlobalChecker::accessLines(const Warp& warp, const Addresses& addresses, uint32_t bytes, bool reads, bool writes,
                                    const Access& ofLane0) {
  const uint64_t first = addresses[0];
  if (first % GlobalSector::kBytes != 0 || !std::has_single_bit(bytes)) return kAllLanes;
  for (unsigned lane = 1; lane < kWarpLanes; ++lane)
    if (addresses[lane] != first + uint64_t{lane} * bytes) return kAllLanes;
  PageHold held;
  LaneMask rest = 0;
  const auto shift = static_cast<uint8_t>(std::countr_zero(bytes));
  const uint64_t end = first + uint64_t{kWarpLanes} * bytes;
  for (uint64_t address = first; address < end;) {
    hold(held, address);
    GlobalLine& line = held.page->cells.line(address % kGlobalPageBytes);
    const uint64_t stop = std::min(end, address / GlobalLine::kBytes * GlobalLine::kBytes + GlobalLine::kBytes);
    const auto lane = static_cast<unsigned>((address - first) >> shift);
    const auto accessOf = [&](unsigned by) { return GlobalAccess::byThreads(launch_.number, cluster_, ofLane0.ofLane(by), false); };
    if (stop - address == GlobalLine::kBytes && touchRun(warp, line, lane, accessOf(lane), shift, reads, writes)) {
      address = stop;
      continue;
    }
    for (; address < stop; address += GlobalSector::kBytes) {
      const auto by = static_cast<unsigned>((address - first) >> shift), lanes = GlobalSector::kBytes >> shift;
      GlobalSector& sector = line.parts().sectors[address % GlobalLine::kBytes / GlobalSector::kBytes];
      if (!touchRun(warp, sector, by, accessOf(by), shift, reads, writes))
        rest |= (lanes == kWarpLanes ? kAllLanes : (LaneMask{1} << lanes) - 1) << by;
    }
  }
  return rest;
}

/// The same for lanes that share out whole sectors among neighbours, several times over or in any order of the sectors.
LaneMask GlobalChecker::accessSectors(const Warp& warp, LaneMask lanes, const Addresses& addresses, uint32_t bytes, bool reads,
                                      bool writes, const Access& ofLane0) {
  if (!std::has_single_bit(bytes) || bytes >= GlobalSector::kBytes || addresses[1] != addresses[0] + bytes) return lanes;
  const auto shift = static_cast<uint8_t>(std::countr_zero(bytes));
  const unsigned count = GlobalSector::kBytes >> shift;
  const auto all = static_cast<LaneMask>((uint64_t{1} << count) - 1);
  const auto areNeighbours = [&](unsigned first) {
    bool neighbours = true;
    for (unsigned lane = 1; lane < count; ++lane)
      neighbours &= addresses[first + lane] == addresses[first] + uint64_t{lane} * bytes;
    return neighbours;
  };
  PageHold held;
  LaneMask rest = lanes;
  for (unsigned lane = 0; lane + count <= kWarpLanes;) {
    if ((lanes >> lane & all) != all || addresses[lane] % GlobalSector::kBytes != 0 || !areNeighbours(lane)) {
      ++lane;
      continue;
    }
    hold(held, addresses[lane]);
    GlobalLine& line = held.page->cells.line(addresses[lane] % kGlobalPageBytes);
    GlobalSector& sector = line.parts().sectors[addresses[lane] % GlobalLine::kBytes / GlobalSector::kBytes];
    const GlobalAccess access = GlobalAccess::byThreads(launch_.number, cluster_, ofLane0.ofLane(lane), false);
    if (touchRun(warp, sector, lane, access, shift, reads, writes)) rest &= ~(all << lane);
    lane += count;
  }
  return rest;
}

/// Reads of the same bytes by neighbouring lanes, which know the same: leaves what all of them would, one after the other. False,
/// with nothing changed, when it takes each of them.
bool GlobalChecker::touchTogether(std::span<GlobalCell> cells, const std::span<HazardChecker::Thread> readers,
                                  GlobalAccess access) {
  const View& view = readers.front().view;
  if (!std::all_of(readers.begin(), readers.end(),
                   [&](const HazardChecker::Thread& reader) { return reader.view.base == view.base; }))
    return false;
  // A lane that has written the cell, or has read it before, is not like the others.
  const auto isOfReader = [&](const GlobalAccess& earlier) {
    return earlier.launch == launch_.number && earlier.cluster == cluster_ && earlier.access().kind() == Access::Kind::Thread &&
           earlier.access().thread() - view.thread < readers.size();
  };
  const auto isLikeFor = [&](const GlobalCell& cell) {
    const auto isClear = [&](const GlobalAccess& earlier) {
      return !isOfReader(earlier) && standing(earlier, view) != Standing::Unclear;
    };
    return cell.writer.launch != GlobalAccess::kNobody && cell.writer.launch != launch_.number &&
           standing(cell.writer, view) == Standing::Behind && isClear(cell.readers[0]) && isClear(cell.readers[1]);
  };
  if (!std::all_of(cells.begin(), cells.end(), isLikeFor)) return false;
  const auto of = [&](size_t lane) {
    GlobalAccess one = access;
    one.bits = Access(access.bits).ofLane(static_cast<unsigned>(lane)).bits();
    return one;
  };
  const GlobalAccess last = of(readers.size() - 1);
  for (GlobalCell& cell : cells) {
    GlobalAccess &first = cell.readers[0], &second = cell.readers[1];
    for (GlobalAccess* reader : {&first, &second})
      if (standing(*reader, view) == Standing::Behind) *reader = {};
    // As touchAlone for each: the second place is taken when it is free, and again when the first one is another cluster's.
    if (first.isLaunch() && first.cluster != cluster_) {
      second = last;
      continue;
    }
    if (!second.isLaunch()) second = of(first.isLaunch() ? 0 : 1);
    first = last;
  }
  return true;
}

/// An access of the first bytes of a whole sector, by one thread or by several that read the same. False, with nothing changed,
/// when it takes a closer look.
bool GlobalChecker::beginWalk(GlobalSector& sector, uint32_t bytes, uint64_t number, const GlobalAccess& walker,
                              std::span<HazardChecker::Thread> threads, bool reads, bool writes) {
  // What lanes of this launch left is not the same for all bytes.
  if (sector.shifts != GlobalEntry::kAlike)
    for (const auto slot : {GlobalEntry::Writer, GlobalEntry::FirstReader, GlobalEntry::SecondReader})
      if (sector.shift(slot) != GlobalEntry::kSame && sector.at(slot).launch == launch_.number) return false;
  return sector.beginWalk(number, bytes, [&](GlobalCell& cell) {
    return threads.size() == 1 ? touchAlone(cell, walker, threads.front().view, reads, writes)
                               : touchTogether({&cell, 1}, threads, walker);
  });
}

GlobalChecker::Walks& GlobalChecker::walksOf(const Warp& warp, uint32_t site) {
  if (walks_.empty()) walks_.resize(base_.clocks_.size() * kWalksOfWarp);
  return walks_[base_.warpIndex(warp) * kWalksOfWarp + site % kWalksOfWarp];
}

/// The lanes whose accesses are no steps of walks that they are on.
LaneMask GlobalChecker::walkOn(const Warp& warp, LaneMask lanes, const Addresses& addresses, uint32_t bytes, bool writes,
                               const Access& ofLane0) {
  Walks& walks = walksOf(warp, ofLane0.site());
  if (walks.count == 0) return lanes;
  if (!(walks.ofLane0 == ofLane0) || walks.bytes != bytes || walks.writes != writes) {
    walks.count = 0;
    return lanes;
  }
  uint64_t difference = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) difference |= addresses[lane] ^ walks.next[lane];
  LaneMask go = lanes;
  if (difference != 0)
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) go &= ~(static_cast<LaneMask>(addresses[lane] != walks.next[lane]) << lane);
  std::unique_lock<SpinLock> lock;
  LaneMask gone = 0;
  uint32_t kept = 0;
  for (uint32_t i = 0, count = walks.count; i < count; ++i) {
    const Walks::Walk& walk = walks.at[i];
    if ((walk.lanes & go) == walk.lanes) {
      if (lock.mutex() != walk.lock) {
        lock = {};
        lock = std::unique_lock(*walk.lock);
      }
      const GlobalSector::Step step = walk.sector->step(walk.number, bytes);
      if (step == GlobalSector::Step::Refused) continue;
      gone |= walk.lanes;
      if (step == GlobalSector::Step::Last) continue;
    } else if ((walk.lanes & lanes) != 0) {
      continue;
    }
    if (kept != i) walks.at[kept] = walk;
    ++kept;
  }
  walks.count = kept;
  if (gone == kAllLanes)
    for (uint64_t& next : walks.next) next += bytes;
  else
    forEachLane(gone, [&](unsigned lane) { walks.next[lane] += bytes; });
  return lanes & ~gone;
}

/// Of the accesses from `first` on, in `lanes`: the sectors and cells of their bytes, as far as one lock guards them all. Returns
/// the access after them. Step by step for all of them: most of the time goes to waiting for memory.
unsigned GlobalChecker::findTargets(PageHold& held, const Addresses& addresses, const LaneList& lanes, unsigned first,
                                    uint32_t bytes, std::array<Target, kWarpLanes>& targets) {
  constexpr uint32_t kCell = GlobalEntry::kCellBytes;
  std::array<GlobalLine*, kWarpLanes> lines;
  hold(held, addresses[lanes.at[first]]);
  const SpinLock* const lock = held.lock.mutex();
  unsigned end = first;
  for (; end < lanes.count; ++end) {
    const uint64_t address = addresses[lanes.at[end]];
    if (&shadow_.lockOf(address / kGlobalPageBytes) != lock) break;
    lines[end] = &pageOf(address / kGlobalPageBytes).cells.line(address % kGlobalPageBytes);
  }
  for (unsigned i = first; i < end; ++i) {
    const uint64_t address = addresses[lanes.at[i]];
    const bool fits = address % GlobalSector::kBytes + bytes <= GlobalSector::kBytes;
    targets[i].sector = fits ? &lines[i]->parts().sectors[address % GlobalLine::kBytes / GlobalSector::kBytes] : nullptr;
  }
  for (unsigned i = first; i < end; ++i) {
    GlobalSector* const sector = targets[i].sector;
    targets[i].cells = nullptr;
    if (sector == nullptr || !sector->isSplit()) continue;
    const auto inSector = static_cast<uint32_t>(addresses[lanes.at[i]] % GlobalSector::kBytes);
    GlobalSectorParts& parts = sector->parts();
    targets[i].cells = bytes % kCell == 0 ? parts.cells() + inSector / kCell : parts.bytesAt(inSector);
  }
  return end;
}

/// The lanes whose weak accesses need a closer look.
LaneMask GlobalChecker::accessAlone(const Warp& warp, LaneMask lanes, const Addresses& addresses, uint32_t bytes, bool reads,
                                    bool writes, const Access& ofLane0) {
  constexpr unsigned kFewLanes = 4;
  LaneMask repeats = 0;  // lanes with the bytes of the lane before
  if (!writes && addresses[1] == addresses[0])
    for (unsigned lane = 1; lane < kWarpLanes; ++lane)
      repeats |= static_cast<LaneMask>(addresses[lane] == addresses[lane - 1]) << lane;
  repeats &= lanes & lanes << 1;
  LaneList firsts;  // of lanes with the same bytes
  forEachLane(lanes & ~repeats, [&](unsigned lane) { firsts.at[firsts.count++] = static_cast<uint8_t>(lane); });
  const auto threads = base_.threadsOf(warp);
  const uint32_t count = bytes % GlobalEntry::kCellBytes == 0 ? bytes / GlobalEntry::kCellBytes : bytes;
  GlobalAccess access = GlobalAccess::byThreads(launch_.number, cluster_, ofLane0, false);
  Walks& walks = walksOf(warp, ofLane0.site());
  uint64_t walkNumber = 0;
  PageHold held;
  LaneMask rest = 0;
  std::array<Target, kWarpLanes> targets;
  for (unsigned i = 0, end = 0; i < firsts.count; ++i) {
    if (i == end) end = findTargets(held, addresses, firsts, i, bytes, targets);
    const unsigned first = firsts.at[i];
    const unsigned same = 1 + static_cast<unsigned>(std::countr_one(first + 1 < kWarpLanes ? repeats >> (first + 1) : 0u));
    const auto all = static_cast<LaneMask>((uint64_t{1} << same) - 1) << first;
    const auto [sector, cells] = targets[i];
    access.bits = ofLane0.ofLane(first).bits();
    if (cells == nullptr) {
      const bool mayWalk = sector != nullptr && sector->isWhole() && addresses[first] % GlobalSector::kBytes == 0 &&
                           (same == 1 || same >= kFewLanes);
      if (mayWalk && walkNumber == 0) walkNumber = shadow_.newWalks(kWarpLanes);
      if (!mayWalk || !beginWalk(*sector, bytes, walkNumber + first, access, threads.subspan(first, same), reads, writes)) {
        rest |= all;
      } else if (sector->isWalked()) {
        if (walks.count == 0) walks.ofLane0 = ofLane0, walks.bytes = bytes, walks.writes = writes;
        walks.at[walks.count++] = {sector, held.lock.mutex(), walkNumber + first, all};
        for (unsigned lane = first; lane < first + same; ++lane) walks.next[lane] = addresses[lane] + bytes;
      }
      continue;
    }
    if (same >= kFewLanes && touchTogether({cells, count}, threads.subspan(first, same), access)) continue;
    for (unsigned lane = first; lane < first + same; ++lane) {
      access.bits = ofLane0.ofLane(lane).bits();
      bool alone = true;
      for (uint32_t cell = 0; alone && cell < count; ++cell)
        alone = touchAlone(cells[cell], access, threads[lane].view, reads, writes);
      rest |= static_cast<LaneMask>(!alone) << lane;
    }
  }
  return rest;
}

}  // namespace shiftconv::emulator::hazards
