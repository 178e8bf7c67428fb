#include "common/emulator/tensor/tensor_unit.hpp"

#include <fmt/format.h>

#include <utility>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/tensor_state.hpp"

namespace shiftconv::emulator::tensor {

TensorUnit::TensorUnit(machine::Cta& cta) : state(std::make_unique<State>(cta, cta.cluster.options.semantics[Unproven::U16] == 1)) {
  state->memory.watch(cta.cluster.observer.get(), cta.rank);
}

TensorUnit::~TensorUnit() = default;

void TensorUnit::released(const machine::Warp& warp) {
  const auto found = state->fragments.find(warp.index);
  if (found == state->fragments.end()) return;
  machine::Cluster& cluster = state->cta.cluster;
  bool any = false;
  for (State::Fragment& store : found->second) {
    if (!store.writes || std::exchange(store.released, true)) continue;
    any = true;
    if (cluster.options.semantics[Unproven::U35] == 0) cluster.queue.force(store.id);
  }
  if (any) cluster.counters.use(Unproven::U35);
}

void TensorUnit::checkExit() const {
  if (!state->memory.anythingAllocated()) return;
  throw EmulatorError(
      ErrorKind::Synchronisation,
      fmt::format("CTA {} of the cluster exits with Tensor Memory columns {} still allocated: every tcgen05.alloc needs "
                  "its tcgen05.dealloc.",
                  state->cta.rank, state->memory.allocatedColumns()));
}

std::vector<machine::Cta*> participants(machine::Cta& cta, uint32_t ctaGroup) {
  uint32_t& used = stateOf(cta).ctaGroup;
  if (used != 0 && used != ctaGroup) {
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("This instruction says cta_group::{}, but the CTA has used cta_group::{} before: all tcgen05 "
                                    "instructions of a kernel must agree (PTX ISA 9.7.16.5).",
                                    ctaGroup, used));
  }
  used = ctaGroup;
  if (ctaGroup == 1) return {&cta};
  auto& ctas = cta.cluster.ctas;
  const uint32_t even = cta.rank & ~1u;
  if (even + 1 >= ctas.size()) {
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("cta_group::2 in CTA {} of a cluster of {}: its pair would be CTAs {} and {}.", cta.rank,
                                    ctas.size(), even, even + 1));
  }
  return {ctas[even].get(), ctas[even + 1].get()};
}

Ordering& orderingOf(machine::Cta& cta) { return stateOf(*cta.cluster.ctas[cta.rank & ~1u]).ordering; }

}  // namespace shiftconv::emulator::tensor
