// st.async and red.async on the shared memory of the cluster (PTX ISA 9.0, 9.7.9.12 and 9.7.13.8): a thread's store or
// reduction that happens later and then tells an mbarrier of the same CTA how many bytes it touched. The forms without a
// completion mechanism, on global memory, are not here.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/bulk/bulk_operands.hpp"
#include "common/emulator/forms/bulk/bulk_tensor_forms.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/tma/reduction.hpp"

namespace shiftconv::emulator::tma {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;
using machine::OperationKind;

constexpr uint32_t kMaximumBytes = 16;

struct RemoteStore : machine::InstructionDetail {
  machine::MemoryOperand destination, mbarrier;
  std::array<machine::Slot, 4> values{};
  uint32_t elements = 1;
  uint32_t elementBytes = 4;
  Reduction reduction = nullptr;  ///< red.async
};

void runRemoteStore(Execution& execution, const DecodedInstruction& instruction) {
  const auto& store = instruction.as<RemoteStore>();
  machine::Cluster& cluster = execution.warp.cta.cluster;
  forEachLane(execution, [&](unsigned lane) {
    const machine::SharedObject destination = machine::sharedObject(execution, store.destination, lane);
    const machine::SharedObject mbarrier = machine::sharedObject(execution, store.mbarrier, lane);
    if (mbarrier.cta != destination.cta)
      throw EmulatorError(
          ErrorKind::Synchronisation,
          fmt::format("the mbarrier lies in cluster CTA {} and the destination in CTA {} (lane {}): both must be the "
                      "same",
                      mbarrier.cta->rank, destination.cta->rank, lane));
    std::array<std::byte, kMaximumBytes> values{};
    for (uint32_t i = 0; i < store.elements; ++i)
      std::memcpy(&values[i * store.elementBytes], execution.frame + store.values[i] + lane * store.elementBytes,
                  store.elementBytes);
    const uint32_t bytes = store.elements * store.elementBytes;
    const Reduction reduction = store.reduction;
    cluster.queue.issue(
        {reduction ? OperationKind::RemoteReduce : OperationKind::RemoteStore, execution.warp.issuePoint(lane), {}, [=] {
           machine::SharedMemory& shared = destination.cta->shared;
           if (reduction) {
             shared.read(destination.offset, bytes, bytes);
             reduction(shared.write(destination.offset, bytes, bytes), values.data(), bytes, {.global = false});
           } else {
             std::memcpy(shared.write(destination.offset, bytes, bytes), values.data(), bytes);
           }
           signalTransactions(*destination.cta, mbarrier.offset, bytes);
         }});
  });
}

void decodeRemoteStore(DecodeContext& context, const FormMatch& match) {
  auto store = std::make_shared<RemoteStore>();
  const std::string_view space = match.has("shared::cluster") ? "shared::cluster" : "";
  const ptx::ScalarType type = match.type();
  store->elementBytes = static_cast<uint32_t>(ptx::sizeOf(type));
  store->elements = match.has("v4") ? 4 : match.has("v2") ? 2 : 1;
  if (store->elements * store->elementBytes > kMaximumBytes)
    context.illegal(fmt::format("a vector has at most {} bytes", kMaximumBytes));
  OperandCursor operands(context);
  store->destination = machine::memoryOperand(context, operands.next("destination"), space);
  const ptx::Operand& value = operands.next("value");
  const bool vector = value.kind == ptx::Operand::Kind::Vector;
  if ((vector ? value.elements.size() : 1) != store->elements || vector != (store->elements > 1))
    context.illegal(fmt::format("{} values are expected", store->elements));
  for (uint32_t i = 0; i < store->elements; ++i) store->values[i] = context.source(vector ? value.elements[i] : value, type);
  store->mbarrier = machine::memoryOperand(context, operands.next("mbarrier"), space);
  operands.finish();
  const std::string_view operation = reductionName(match);
  if (!operation.empty()) store->reduction = reductionFor(operation, type);
  context.out().handler = runRemoteStore;
  context.out().detail = std::move(store);
}

#define SHIFTCONV_RED_ASYNC "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes"

}  // namespace

isa::FormFamily remoteStoreForms() {
  return {
      {"st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.(v2|v4)}.(b32|b64|u32|u64|s32|s64|f32|f64)",
       decodeRemoteStore},
      {SHIFTCONV_RED_ASYNC ".add.(u32|s32|u64|s64)", decodeRemoteStore},
      {SHIFTCONV_RED_ASYNC ".(min|max).(u32|s32)", decodeRemoteStore},
      {SHIFTCONV_RED_ASYNC ".(inc|dec).u32", decodeRemoteStore},
      {SHIFTCONV_RED_ASYNC ".(and|or|xor).b32", decodeRemoteStore},
  };
}

}  // namespace shiftconv::emulator::tma
