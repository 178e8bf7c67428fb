// Everything tcgen05 keeps per CTA.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/tensor/collector.hpp"
#include "common/emulator/tensor/mma.hpp"
#include "common/emulator/tensor/ordering.hpp"
#include "common/emulator/tensor/tensor_memory.hpp"
#include "common/emulator/tensor/tensor_unit.hpp"

namespace shiftconv::emulator::tensor {

struct TensorUnit::State {
  State(machine::Cta& owner, bool zeroed) : cta(owner), memory(zeroed) {}

  machine::Cta& cta;
  TensorMemory memory;
  Ordering ordering;         ///< used in the even CTA of a pair, for both
  CollectorState collector;  ///< of the even CTA of a pair, for both
  CollectorBuffers collectors;
  /// By warp: the tcgen05.ld and .st that it has not waited for, in the order of issue.
  struct Fragment {
    machine::OperationId id = 0;
    bool writes = false;
    bool released = false;               ///< threads of the warp have released something since
    std::array<ColumnRange, 2> columns;  ///< in the window of the warp
  };
  std::unordered_map<uint32_t, std::vector<Fragment>> fragments;
  /// tcgen05.alloc.cta_group::2 of warps of this CTA, until they have happened in both CTAs and the warp knows.
  struct PairRequest {
    uint32_t warp = 0;
    uint32_t columns = 0;
    std::optional<uint32_t> granted;  ///< first column
  };
  std::vector<PairRequest> pairRequests;
  uint32_t ctaGroup = 0;  ///< the cta_group of the first tcgen05 instruction; 0: none yet
};

inline TensorUnit::State& stateOf(machine::Cta& cta) { return *machine::unitOf<TensorUnit>(cta).state; }

/// The CTAs that an instruction with this cta_group works on: the CTA itself, or the even and the odd CTA of its pair (PTX
/// ISA 9.7.16.5). Throws EmulatorError when the pair is incomplete, or when the kernel has used the other cta_group before.
std::vector<machine::Cta*> participants(machine::Cta& cta, uint32_t ctaGroup);

/// The ordering state that governs a CTA.
Ordering& orderingOf(machine::Cta& cta);

/// Number of a thread, unique in the cluster.
inline uint32_t clusterThread(const machine::Warp& warp, unsigned lane) {
  constexpr uint32_t kThreadsPerCta = 1024;
  return warp.cta.rank * kThreadsPerCta + warp.thread(lane);
}

}  // namespace shiftconv::emulator::tensor
