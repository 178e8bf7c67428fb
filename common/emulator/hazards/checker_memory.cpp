// Accesses: are they ordered after the ones they conflict with?
#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/hazards/checker.hpp"
#include "common/emulator/hazards/global_launch.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/tensor/ordering.hpp"
#include "common/emulator/tensor/tensor_memory.hpp"

namespace shiftconv::emulator::hazards {

using machine::forEachLane;
using machine::kAllLanes;
using machine::kWarpLanes;
using machine::Warp;
using tensor::kTmemColumns;
using tensor::kTmemLanes;

HazardChecker::Verdict HazardChecker::order(Access earlier, bool earlierWrites, const Subject& later, bool tensor,
                                            bool allocation) {
  const View& view = later.view;
  switch (earlier.kind()) {
    case Access::Kind::None:
      return Verdict::Ordered;
    case Access::Kind::Thread: {
      if (earlier.strong() && later.access.strong()) return Verdict::Ordered;
      const bool own = earlier.thread() == view.thread;
      uint32_t known = own ? view.clock : entry(view.base->generic, earlier.thread());
      if (allocation && !own) known = std::max(known, entry(view.base->setUp, earlier.thread()));
      if (known < earlier.clock()) return Verdict::Race;
      if (!earlierWrites || !later.asyncProxy || tensor) return Verdict::Ordered;
      const uint32_t published = own ? view.proxied : entry(view.base->proxied, earlier.thread());
      return published >= earlier.clock() ? Verdict::Ordered : Verdict::ProxyFence;
    }
    case Access::Kind::Warp: {
      if (earlier.strong() && later.access.strong()) return Verdict::Ordered;
      const uint32_t first = earlier.warp() * kWarpLanes;
      for (uint32_t thread = first; thread < first + kWarpLanes; ++thread) {
        const bool own = thread == view.thread;
        if (own ? earlier.clock() > view.clock : entry(view.base->generic, thread) < earlier.clock()) return Verdict::Race;
      }
      return Verdict::Ordered;
    }
    case Access::Kind::Operation: {
      const Operation* operation = operations_.find(earlier.operation());
      if (operation == nullptr || operation == later.operation) return Verdict::Ordered;
      if (later.operation != nullptr && operations_.isBefore(*operation, *later.operation)) return Verdict::Ordered;
      if (operations_.isKnown(*operation, view, tensor, Rules::Isa, earlier.lanes())) {
        const bool published = !operation->genericProxy || !earlierWrites || !later.asyncProxy ||
                               OperationTable::isPublishedCopy(*operation, view, earlier.lanes());
        return published ? Verdict::Ordered : Verdict::ProxyFence;
      }
      return tensor || allocation ? orderByMachine(*operation, later) : Verdict::Race;
    }
  }
  return Verdict::Ordered;
}

HazardChecker::Verdict HazardChecker::excuseOf(Access earlier, const View& view) {
  if (earlier.kind() == Access::Kind::Operation) {
    const Operation& operation = *operations_.find(earlier.operation());
    return operations_.isKnown(operation, view, false, Rules::Exits, earlier.lanes()) ? Verdict::Exit : Verdict::Race;
  }
  const bool whole = earlier.kind() == Access::Kind::Warp;
  const uint32_t first = whole ? earlier.warp() * kWarpLanes : earlier.thread();
  const auto hasExited = [&](uint32_t thread) { return entry(view.base->exited, thread) >= earlier.clock(); };
  bool exited = true;
  for (uint32_t thread = first; thread < first + (whole ? kWarpLanes : 1); ++thread)
    exited &= hasExited(thread) || entry(view.base->generic, thread) >= earlier.clock();
  if (exited) return Verdict::Exit;
  const ptx::Instruction* instruction = launch_.sites.at(earlier.site());
  const bool collective = instruction != nullptr && instruction->opcode == "tcgen05" && !whole &&
                          first / kWarpLanes == view.warp() && view.thread != UINT32_MAX;
  return collective ? Verdict::Collective : Verdict::Race;
}

bool HazardChecker::storesTheSame(Access earlier, Access later, const std::byte* memory, uint32_t bytes) const {
  if (storing == nullptr || earlier.kind() != Access::Kind::Thread || later.kind() != Access::Kind::Thread) return false;
  const unsigned lane = later.thread() % kWarpLanes, other = earlier.thread() % kWarpLanes;
  const machine::LaneAddresses& addresses = *storing->addresses;
  const bool together = earlier.thread() / kWarpLanes == later.thread() / kWarpLanes && other != lane &&
                        (storing->lanes >> other & 1) != 0 && earlier.clock() == later.clock() && earlier.site() == later.site();
  for (uint32_t i = 0; i < bytes; ++i) {
    const std::byte value = storing->at(lane, i);
    const uint64_t inOther = addresses[lane] + i - addresses[other];
    const bool byOther = together && inOther < bytes;
    if (byOther && value != storing->at(other, static_cast<uint32_t>(inOther))) return false;
    // Lanes store in their order: what a higher one wrote may come from an execution of the instruction before this one.
    if ((!byOther || other > lane) &&
        value != static_cast<std::byte>(__atomic_load_n(reinterpret_cast<const uint8_t*>(memory + i), __ATOMIC_RELAXED)))
      return false;
  }
  return true;
}

/// Of accesses to Tensor Memory that the PTX ISA leaves unordered.
HazardChecker::Verdict HazardChecker::orderByMachine(const Operation& earlier, const Subject& later) {
  if (later.operation != nullptr) {
    const Operation& second = *later.operation;
    if (isFragment(earlier) && isFragment(second) && earlier.issuer.ctaRank == second.issuer.ctaRank &&
        earlier.issuer.warp == second.issuer.warp)
      return Verdict::WarpOrder;
    if (operations_.isBefore(earlier, second, Rules::Machine)) return Verdict::TensorFence;
    if (earlier.pairs.kind != 0 && second.pairs.kind != 0 && earlier.view.thread == second.view.thread && earlier.id < second.id) {
      const auto isMma = [](const Operation& operation) {
        return static_cast<tensor::OperationClass>(operation.pairs.kind - 1) == tensor::OperationClass::Mma;
      };
      if (!isMma(earlier) || !isMma(second)) return Verdict::CopyOrder;
      if (!earlier.pairs.shiftsOperand && !second.pairs.shiftsOperand) return Verdict::MmaOrder;
    }
  }
  if (operations_.isKnown(earlier, later.view, false)) return Verdict::TensorFence;
  if (operations_.isKnown(earlier, later.view, true, Rules::Machine)) return Verdict::WarpOrder;
  return operations_.isKnown(earlier, later.view, true, Rules::Releases) ? Verdict::Release : Verdict::Race;
}

void HazardChecker::touch(ShadowCell& cell, const Subject& subject, bool writes, const Place& place, Memo& memo) {
  const bool tensor = place.tensor && subject.operation != nullptr;  // threads only allocate and free, which is synchronous
  if (cell.writer != memo.writer) {
    const Verdict verdict = order(Access(cell.writer), true, subject, tensor, place.tensor);
    if (verdict != Verdict::Ordered) reportConflict(verdict, Access(cell.writer), true, subject, writes, place);
    memo.writer = cell.writer;
  }
  if (!writes) {
    if (cell.readers == subject.access.bits()) return;
    if (cell.readers != memo.readersBefore || memo.readersAfter == 0) {
      memo.readersBefore = cell.readers;
      memo.readersAfter = readerSets_.add(cell.readers, subject.access,
                                          [&](Access member) { return order(member, false, subject, tensor) == Verdict::Ordered; });
    }
    cell.readers = memo.readersAfter;
    return;
  }
  if (cell.readers != memo.readers) {
    readerSets_.forEach(cell.readers, [&](Access reader) {
      const Verdict verdict = order(reader, false, subject, tensor);
      if (verdict != Verdict::Ordered) reportConflict(verdict, reader, false, subject, true, place);
    });
    memo.readers = cell.readers;
  }
  cell.writer = subject.access.bits();
  cell.readers = 0;
}

bool HazardChecker::touchOrdered(ShadowCell* cells, uint32_t count, const View& view, Access access, bool writes) {
  const auto isBefore = [&](uint64_t bits) {
    if (bits == 0) return true;
    const Access earlier(bits);
    if (earlier.kind() != Access::Kind::Thread) return false;  // split granules and sets of readers, too
    const uint32_t thread = earlier.thread();
    return (thread == view.thread ? view.clock : entry(view.base->generic, thread)) >= earlier.clock();
  };
  for (uint32_t i = 0; i < count; ++i)
    if (!isBefore(cells[i].writer) || !isBefore(cells[i].readers)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (writes) cells[i].writer = access.bits();
    cells[i].readers = writes ? 0 : access.bits();
  }
  return true;
}

LaneMask HazardChecker::accessOrdered(const Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses, uint32_t bytes,
                                      uint32_t site, bool writes) {
  constexpr uint32_t kCell = SharedShadow::kCellBytes;
  const auto threads = threadsOf(warp);
  const Access ofLane0 = Access::byThread(threadIndex(warp.cta.rank, warp.index, 0), clocks_[warpIndex(warp)], site, false);
  LaneMask rest = 0;
  forEachLane(lanes, [&](unsigned lane) {
    const auto address = static_cast<uint32_t>(addresses[lane]);
    const uint32_t offset = address & machine::kSharedOffsetMask;
    const bool ordered =
        (offset | bytes) % kCell == 0 && touchOrdered(shared_[address >> machine::kSharedRankShift].cellsAt(offset), bytes / kCell,
                                                      threads[lane].view, ofLane0.ofLane(lane), writes);
    rest |= static_cast<LaneMask>(!ordered) << lane;
  });
  return rest;
}

void HazardChecker::sharedAccess(const Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses, uint32_t bytes,
                                 bool reads, bool writes) {
  if (readerSets_.isCrowded()) collectReaderSets();
  if (reads) noteUndefinedReads(warp, lanes, addresses, bytes);
  const Semantics& semantics = semanticsOf(warp);
  const uint32_t site = semantics.site;
  const uint32_t clock = clocks_[warpIndex(warp)];
  const auto rankOf = [](uint64_t address) { return static_cast<uint32_t>(address) >> machine::kSharedRankShift; };
  const auto placeOf = [&](uint64_t address) {
    Place place;
    place.rank = rankOf(address);
    place.first = static_cast<uint32_t>(address) & machine::kSharedOffsetMask;
    place.count = bytes;
    return place;
  };
  const uint64_t first = addresses[static_cast<unsigned>(std::countr_zero(lanes))];
  const bool broadcast = !writes && !semantics.strong && lanes == kAllLanes &&
                         std::all_of(addresses.begin(), addresses.end(), [&](uint64_t address) { return address == first; });
  if (broadcast) {
    // One entry for all lanes, after every lane was checked against the last write.
    const Place place = placeOf(first);
    SharedShadow& shadow = shared_[place.rank];
    const Access access = Access::byWarp(warpIndex(warp), clock, site, semantics.strong);
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const Subject subject{threadOf(warp, lane).view, nullptr, access};
      if (lane + 1 == kWarpLanes) {
        Memo memo;
        shadow.visit(place.first, bytes, false, [&](ShadowCell& cell) { touch(cell, subject, false, place, memo); });
        continue;
      }
      shadow.visit(place.first, bytes, false, [&](ShadowCell& cell) {
        const Verdict verdict = order(Access(cell.writer), true, subject, false);
        if (verdict != Verdict::Ordered) reportConflict(verdict, Access(cell.writer), true, subject, false, place);
      });
    }
    return;
  }
  if (!semantics.strong) lanes = accessOrdered(warp, lanes, addresses, bytes, site, writes);
  forEachLane(lanes, [&](unsigned lane) {
    const Thread& thread = threadOf(warp, lane);
    const Place place = placeOf(addresses[lane]);
    if (semantics.strong) synchronises(warp, lane, machine::kSharedWindow + addresses[lane], semantics, reads, writes);
    const Subject subject{thread.view, nullptr, Access::byThread(thread.view.thread, clock, site, semantics.strong)};
    Memo memo;
    shared_[place.rank].visit(place.first, bytes, writes, [&](ShadowCell& cell) { touch(cell, subject, writes, place, memo); });
  });
}

/// The pair's warps have met: either knows of the other's allocation, and of nothing else.
void HazardChecker::pairAllocated(const Warp& here, const Warp& there, uint32_t column, uint32_t columns) {
  auto both = LocalPointer<Clock>::make();
  for (const Warp* warp : {&here, &there}) {
    const View view = viewOf(*warp, 0);
    raise(both->setUp, view.thread, view.clock);
    claimColumns(warp->cta.rank, view, siteOf(here), column, columns);
  }
  const ClockPointer met = std::move(both);
  for (const Warp* warp : {&here, &there})
    forEachLane(warp->existing() & ~warp->exited(), [&](unsigned lane) { acquire(threadOf(*warp, lane), met); });
}

/// Both end whatever the columns were used for; they are synchronous, so ordinary ordering is enough.
void HazardChecker::columnsChangeHands(const Warp& warp, uint32_t column, uint32_t columns) {
  claimColumns(warp.cta.rank, viewOf(warp, 0), siteOf(warp), column, columns);
}

void HazardChecker::claimColumns(uint32_t rank, View view, uint32_t site, uint32_t column, uint32_t columns) {
  view.collective = true;
  const Subject subject{view, nullptr, Access::byThread(view.thread, view.clock, site, false)};
  Memo memo;
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
    const Place place{true, rank, lane, column, columns};
    tensor_[rank].visit(size_t{lane} * kTmemColumns + column, columns, true,
                        [&](ShadowCell& cell) { touch(cell, subject, true, place, memo); });
  }
}

void HazardChecker::genericOperand(const Warp& warp, unsigned lane, uint64_t address) {
  HazardAccess access = describeThread(warp, lane, fmt::format("address {:#x}, a generic one, for an operand in .shared", address));
  if (reporter_.seen(HazardKind::AddressSpace, HazardSeverity::Formal, 0, access.ptxLine)) return;
  report(HazardKind::AddressSpace, HazardSeverity::Formal, {}, std::move(access),
         "cvta.to.shared of the address (__cvta_generic_to_shared), or its low 32 bits: the address was taken for that of the "
         "window, which is all that the instruction can hold");
}

void HazardChecker::ruleBroken(const Warp& warp, unsigned lane, std::string what, std::string missing) {
  HazardAccess access = describeThread(warp, lane, std::move(what));
  if (reporter_.seen(HazardKind::BrokenRule, HazardSeverity::Race, 0, access.ptxLine)) return;
  report(HazardKind::BrokenRule, HazardSeverity::Race, {}, std::move(access), std::move(missing));
}

void HazardChecker::foreignWindow(const Warp& warp, uint32_t lane) {
  HazardAccess access = describeThread(warp, 0, fmt::format("use of Tensor Memory lane {}", lane));
  if (reporter_.seen(HazardKind::ReliesOn, HazardSeverity::Unproven, 0, access.ptxLine)) return;
  const uint32_t window = warp.index % (kTmemLanes / kWarpLanes) * kWarpLanes;
  report(
      HazardKind::ReliesOn, HazardSeverity::Unproven, {}, std::move(access),
      fmt::format("a lane of the warp's own, {}..{}, or one relative to them, 0..31: only as question U10 is answered by default "
                  "does another window mean the warp's own",
                  window, window + kWarpLanes - 1),
      "U10");
}

void HazardChecker::operationShared(uint32_t rank, uint32_t offset, uint32_t bytes, bool writes, Role role) {
  if (running_ == nullptr || bytes == 0) return;
  running_->ctas |= 1u << rank;
  const bool ofLane = runningLane_ < running_->laneViews.size();
  const Subject subject{ofLane ? running_->laneViews[runningLane_] : running_->view, running_,
                        Access::byOperation(running_->id, role, ofLane ? 1u << runningLane_ : kAllLanes), !running_->genericProxy};
  const Place place{false, rank, 0, offset, bytes};
  shared_[rank].visit(offset, bytes, writes, [&](ShadowCell& cell) {
    if (!touchAgain(cell, subject.access, writes, runningMemo_)) touch(cell, subject, writes, place, runningMemo_);
  });
}

void HazardChecker::operationTensor(uint32_t rank, uint32_t lane, uint32_t lanes, uint32_t column, uint32_t columns, bool writes,
                                    Role role) {
  if (running_ == nullptr) return;
  running_->ctas |= 1u << rank;
  const Subject subject{running_->view, running_, Access::byOperation(running_->id, role), true};
  Memo memo;
  for (uint32_t row = lane; row < lane + lanes; ++row) {
    const Place place{true, rank, row, column, columns};
    tensor_[rank].visit(size_t{row} * kTmemColumns + column, columns, writes, [&](ShadowCell& cell) {
      if (!touchAgain(cell, subject.access, writes, memo)) touch(cell, subject, writes, place, memo);
    });
  }
}

void HazardChecker::operationShift(uint32_t rank, uint32_t first, uint32_t lanes, uint32_t column, uint32_t columns) {
  operationTensor(rank, first, lanes, column, columns, true, Role::Shifted);
}

}  // namespace shiftconv::emulator::hazards
