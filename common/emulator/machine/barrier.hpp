// Barriers between threads: the sixteen named ones of a CTA (PTX ISA 9.0, 9.7.13.1) and the one of a cluster
// (9.7.13.3). Exited threads are not waited for where an instruction waits for "all" threads.
#pragma once

#include <cstdint>
#include <optional>

#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {

/// The lanes arrive at barrier `id` of their CTA; `threads` is the count operand, 0 when there is none. `trueLanes`
/// are the lanes that bring a true predicate to a reduction. Returns the round to wait for: it is complete when the
/// barrier's generation is larger.
uint64_t arriveAtBarrier(Warp& warp, LaneMask lanes, uint32_t id, uint32_t threads, std::optional<LaneMask> trueLanes = {});
bool barrierRoundDone(const Cta& cta, uint32_t id, uint64_t round);
NamedBarrier::Result barrierResult(const Cta& cta, uint32_t id, uint64_t round);

/// `release`: what the lanes did before is published to those that wait.
void arriveAtClusterBarrier(Warp& warp, LaneMask lanes, bool release);
/// True, and the lanes' arrival is used up, when the round they arrived in is complete.
bool waitAtClusterBarrier(Warp& warp, LaneMask lanes);

/// Bookkeeping after lanes have exited; ends the CTA with its last thread.
void lanesExited(Warp& warp, LaneMask lanes);

}  // namespace shiftconv::emulator::machine
