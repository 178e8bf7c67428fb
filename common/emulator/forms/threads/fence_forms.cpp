// Fences and launch control (PTX ISA 9.0, 9.7.13.4, 9.7.13.13, 9.7.13.16, 9.7.19.5).
//
// Every access takes effect in the order in which the host executes it, so within a cluster all fences hold already.
// Between clusters, which may run on different host threads, fences become fences of the host.
#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/handler_parts.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/racing_copy.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

constexpr uint32_t kTensorMapBytes = 128;
constexpr unsigned kWarpsInWarpgroup = 4;

template <FenceKind kKind>
void hostFence(Execution& execution, const DecodedInstruction&) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if constexpr (kKind == FenceKind::Memory) execution.warp.cta.released(execution.warp);
  if (auto* observer = execution.warp.cta.cluster.observer.get()) observer->fence(execution.warp, execution.mask, kKind);
}
constexpr Handler kMemoryFence = hostFence<FenceKind::Memory>;
constexpr Handler kProxyFence = hostFence<FenceKind::AsyncProxy>;
constexpr Handler kMapRelease = hostFence<FenceKind::MapRelease>;
constexpr Handler kMbarrierFence = hostFence<FenceKind::MbarrierInit>;
/// Orders accesses through different virtual addresses of one place (PTX ISA 9.0, 9.7.13.4); threads are not synchronised and
/// nothing is published to another proxy.
void aliasFence(Execution&, const DecodedInstruction&) { std::atomic_thread_fence(std::memory_order_seq_cst); }

void awaitPrerequisites(Execution& execution, const DecodedInstruction&) {
  if (auto* observer = execution.warp.cta.cluster.observer.get()) observer->prerequisitesAwaited(execution.warp, execution.mask);
}

template <Handler kHandler>
void decodeFence(DecodeContext& context, const FormMatch&) {
  if (!context.instruction().operands.empty()) context.illegal("the instruction takes no operands");
  context.out().handler = kHandler;
}

void decodeMembarProxy(DecodeContext& context, const FormMatch& match) {
  match.has("alias") ? decodeFence<aliasFence>(context, match) : decodeFence<kProxyFence>(context, match);
}

void requireTensorMapSize(DecodeContext& context, const Operand& operand) {
  if (context.integer(operand) != kTensorMapBytes) context.illegal(fmt::format("the size operand must be {}", kTensorMapBytes));
}

struct MapDetail final : InstructionDetail {
  MemoryOperand map;
  MemoryOperand source;
};

/// The acquire side of a tensor map edited by ordinary stores: the address must hold 128 bytes. Null acquires nothing: CUTLASS's
/// grouped GEMM for sm_90 does that in the warps that do not store, on GPUs without a fault.
void acquireTensorMap(Execution& execution, const DecodedInstruction& instruction) {
  Cluster& cluster = execution.warp.cta.cluster;
  forEachLane(execution.mask, [&](unsigned lane) {
    const uint64_t address = instruction.as<MapDetail>().map.address.at(execution, lane);
    if (address == 0) return;
    cluster.global.access(address, kTensorMapBytes, kTensorMapBytes, false);
    if (cluster.observer) cluster.observer->mapAcquired(execution.warp, lane, address);
  });
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void decodeAcquireTensorMap(DecodeContext& context, const FormMatch&) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 2) context.illegal("an address and a size are expected");
  requireTensorMapSize(context, operands[1]);
  auto detail = std::make_shared<MapDetail>();
  detail->map = memoryOperand(context, operands[0], "");
  context.out().detail = std::move(detail);
  context.out().handler = acquireTensorMap;
}

/// tensormap.cp_fenceproxy: the whole warp copies one edited map and publishes it.
void copyTensorMap(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.requireAligned(execution.mask, "tensormap.cp_fenceproxy");
  const auto& detail = instruction.as<MapDetail>();
  const LaneMask one = execution.mask & -execution.mask;
  LanePointers from, to;
  // No document says which lane reads: stores by any of them must be ordered before all.
  resolve(execution, execution.mask, detail.source, kTensorMapBytes, AccessKind::Read, from);
  resolve(execution, one, detail.map, kTensorMapBytes, AccessKind::Write, to);
  const auto lane = static_cast<unsigned>(std::countr_zero(one));
  racingCopy(to[lane], from[lane], kTensorMapBytes);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (auto* observer = execution.warp.cta.cluster.observer.get()) {
    observer->fence(execution.warp, execution.mask, FenceKind::MapRelease);
    observer->warpSync(execution.warp, execution.mask);  // it is .sync, and the copy is by all of its lanes
  }
}

void decodeCopyTensorMap(DecodeContext& context, const FormMatch&) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 3) context.illegal("a destination, a source and a size are expected");
  requireTensorMapSize(context, operands[2]);
  auto detail = std::make_shared<MapDetail>();
  detail->map = memoryOperand(context, operands[0], "global");
  detail->source = memoryOperand(context, operands[1], "shared::cta");
  context.out().detail = std::move(detail);
  context.out().handler = copyTensorMap;
  context.out().endsGroup = true;
}

/// setmaxnreg: waits for registers that other warps of the CTA have to give back first. By the PTX ISA all warps of a warpgroup
/// execute the same one; shipped kernels do not, so that it is a remark of the hazard checker only.
void setMaximumRegisters(Execution& execution, const DecodedInstruction& instruction) {
  Warp& warp = execution.warp;
  warp.requireAligned(execution.mask, "setmaxnreg");
  Cta& cta = warp.cta;
  const size_t first = warp.index / kWarpsInWarpgroup * kWarpsInWarpgroup;
  if (first + kWarpsInWarpgroup > cta.warps.size())
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("setmaxnreg needs a whole warpgroup of {} warps; the CTA has {} warps from warp {} on",
                                    kWarpsInWarpgroup, cta.warps.size() - first, first));
  const auto count = static_cast<uint32_t>(instruction.immediate >> 1);
  if (!cta.registers.hold(warp.index, count)) {
    WaitReason reason;
    reason.describe = [&cta, count] { return cta.registers.describe(count); };
    return warp.block(std::move(reason));
  }
  ++cta.cluster.wakeups;  // whoever waits for some may find them now
  // The n-th setmaxnreg of a warp must equal the n-th of every warp of its warpgroup that got so far.
  std::vector<const DecodedInstruction*>& history = warp.state->registerRequests;
  history.push_back(&instruction);
  for (size_t i = first; i < first + kWarpsInWarpgroup; ++i) {
    const auto& other = cta.warps[i]->state->registerRequests;
    if (cta.cluster.observer && other.size() >= history.size() && other[history.size() - 1]->immediate != instruction.immediate)
      return cta.cluster.observer->unequalRegisterRequests(warp, *cta.warps[i], other[history.size() - 1]->source);
  }
}

void decodeSetMaximumRegisters(DecodeContext& context, const FormMatch& match) {
  constexpr uint64_t kLeast = 24, kMost = 256, kStep = 8;
  const auto& operands = context.instruction().operands;
  if (operands.size() != 1) context.illegal("one immediate register count is expected");
  const uint64_t count = context.integer(operands[0]);
  if (count < kLeast || count > kMost || count % kStep != 0)
    context.illegal(fmt::format("register count {} is not a multiple of {} between {} and {}", count, kStep, kLeast, kMost));
  context.out().immediate = count << 1 | static_cast<uint64_t>(match.has("inc"));
  context.out().handler = setMaximumRegisters;
  context.out().endsGroup = true;
}

}  // namespace
}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::isa {

FormFamily fenceForms() {
  using namespace machine;
  return {
      {"membar.(cta|gl|sys)", decodeFence<kMemoryFence>},
      {"membar.proxy.(alias|async)", decodeMembarProxy},
      {"fence{.(sc|acq_rel|acquire|release)}.(cta|cluster|gpu|sys)", decodeFence<kMemoryFence>},
      {"fence.acquire.sync_restrict::shared::cluster.cluster", decodeFence<kMemoryFence>},
      {"fence.release.sync_restrict::shared::cta.cluster", decodeFence<kMemoryFence>},
      {"fence.proxy.alias", decodeFence<aliasFence>},
      {"fence.proxy.async{.(global|shared::cta|shared::cluster)}", decodeFence<kProxyFence>},
      {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", decodeFence<kProxyFence>},
      {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", decodeFence<kProxyFence>},
      {"fence.mbarrier_init.release.cluster", decodeFence<kMbarrierFence>},
      {"fence.proxy.tensormap::generic.release.(cta|cluster|gpu|sys)", decodeFence<kMapRelease>},
      {"fence.proxy.tensormap::generic.acquire.(cta|cluster|gpu|sys)", decodeAcquireTensorMap},
      {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.(cta|cluster|gpu|sys).sync.aligned",
       decodeCopyTensorMap},
      // Launches of one stream complete before the next one starts, so there is never a prerequisite grid to wait for. The hazard
      // checker takes them for overlapping all the same.
      {"griddepcontrol.launch_dependents", decodeFence<nothing>},
      {"griddepcontrol.wait", decodeFence<awaitPrerequisites>},
      {"setmaxnreg.(inc|dec).sync.aligned.u32", decodeSetMaximumRegisters},
  };
}

}  // namespace shiftconv::emulator::isa
