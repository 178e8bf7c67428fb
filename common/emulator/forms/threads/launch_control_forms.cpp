// clusterlaunchcontrol.*: a running cluster takes over the work of one that has not started (PTX ISA 9.0, 9.7.13.17).
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

/// What try_cancel writes; opaque to programs. The tags tell a response from memory that holds none yet.
struct Response {
  static constexpr uint32_t kCanceled = 0x5ca9ce1d;
  static constexpr uint32_t kFailed = 0x5ca9fa11;
  uint32_t x = 0, y = 0, z = 0, tag = kFailed;
};
constexpr uint32_t kResponseBytes = 16;
static_assert(sizeof(Response) == kResponseBytes);

struct RequestDetail final : InstructionDetail {
  MemoryOperand response, barrier;
  bool multicast = false;
};

SharedObject ownObject(const Execution& execution, const MemoryOperand& operand, unsigned lane, const char* what) {
  const SharedObject object = sharedObject(execution, operand, lane);
  if (object.cta != &execution.warp.cta)
    throw EmulatorError(
        ErrorKind::IllegalInstruction,
        fmt::format("lane {}: the {} of clusterlaunchcontrol.try_cancel is in the executing CTA, not in CTA rank {}", lane, what,
                    object.cta->rank));
  return object;
}

void respond(Cluster& cluster, const SharedObject& response, const SharedObject& barrier, bool multicast) {
  Response text;
  if (const std::optional<Dim3> first = cluster.cancelUnstarted()) text = {first->x, first->y, first->z, Response::kCanceled};
  for (const auto& cta : cluster.ctas) {
    if (!multicast && cta.get() != response.cta) continue;
    std::memcpy(cta->shared.write(response.offset, kResponseBytes, kResponseBytes), &text, kResponseBytes);
    cluster.counters.addBytes(Engine::BulkCopy, Traffic::SharedWrite, kResponseBytes);
    cta->mbarriers.completeTransactions(barrier.offset, kResponseBytes);
  }
}

void tryCancel(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<RequestDetail>();
  Warp& warp = execution.warp;
  Cluster& cluster = warp.cta.cluster;
  forEachLane(execution.mask, [&](unsigned lane) {
    if (warp.cta.sawFailedCancel)
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          fmt::format("lane {}: a clusterlaunchcontrol.try_cancel after this CTA has seen an earlier one fail is "
                                      "undefined",
                                      lane));
    const SharedObject response = ownObject(execution, detail.response, lane, "response");
    const SharedObject barrier = ownObject(execution, detail.barrier, lane, "mbarrier");
    if (response.offset % kResponseBytes != 0)
      throw EmulatorError(ErrorKind::Misaligned,
                          fmt::format("lane {}: the response at shared offset 0x{:x} is not aligned to {} bytes", lane,
                                      response.offset, kResponseBytes));
    cluster.queue.issue(
        {OperationKind::CancelLaunch, warp.issuePoint(lane), {}, [&cluster, response, barrier, multicast = detail.multicast] {
           respond(cluster, response, barrier, multicast);
         }});
  });
}

void decodeTryCancel(DecodeContext& context, const FormMatch& match) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 2) context.illegal("the addresses of the response and of an mbarrier are expected");
  auto detail = std::make_shared<RequestDetail>();
  const std::string_view space = match.has("shared::cta") ? "shared::cta" : "";
  detail->response = memoryOperand(context, operands[0], space);
  detail->barrier = memoryOperand(context, operands[1], space);
  detail->multicast = match.has("multicast::cluster::all");
  context.out().detail = std::move(detail);
  context.out().handler = tryCancel;
}

Response responseOf(const Execution& execution, const DecodedInstruction& instruction, unsigned lane) {
  const Response response = execution.lanes<Response>(instruction.operand[0])[lane];
  if (response.tag != Response::kCanceled && response.tag != Response::kFailed)
    throw EmulatorError(ErrorKind::Uninitialised,
                        fmt::format("lane {}: the operand of clusterlaunchcontrol.query_cancel holds no response of "
                                    "clusterlaunchcontrol.try_cancel; was it read before its mbarrier completed?",
                                    lane));
  return response;
}

// Operands of the queries: 0 handle, 1 predicate; the detail has the registers of the CTA id.

void isCanceled(Execution& execution, const DecodedInstruction& instruction) {
  LaneMask& predicate = execution.predicate(instruction.operand[1]);
  forEachLane(execution.mask, [&](unsigned lane) {
    const bool canceled = responseOf(execution, instruction, lane).tag == Response::kCanceled;
    predicate = (predicate & ~(LaneMask{1} << lane)) | static_cast<LaneMask>(canceled) << lane;
    if (!canceled) execution.warp.cta.sawFailedCancel = true;
  });
}

void decodeIsCanceled(DecodeContext& context, const FormMatch&) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 2) context.illegal("a predicate and a response are expected");
  context.out().operand[0] = context.source(operands[1], ScalarType::B128);
  context.out().operand[1] = context.predicateDestination(operands[0]);
  context.out().handler = isCanceled;
}

struct FirstCtaDetail final : InstructionDetail {
  std::array<Slot, 3> registers{kNoSlot, kNoSlot, kNoSlot};  ///< x, y, z
};

void firstCta(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<FirstCtaDetail>();
  forEachLane(execution.mask, [&](unsigned lane) {
    const Response response = responseOf(execution, instruction, lane);
    if (response.tag != Response::kCanceled)
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          fmt::format("lane {}: the CTA id of a request that failed is undefined; query is_canceled first", lane));
    const std::array<uint32_t, 3> id{response.x, response.y, response.z};
    for (size_t i = 0; i < id.size(); ++i)
      if (detail.registers[i] != kNoSlot) execution.lanes<uint32_t>(detail.registers[i])[lane] = id[i];
  });
}

void decodeFirstCta(DecodeContext& context, const FormMatch& match) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 2) context.illegal("a destination and a response are expected");
  auto detail = std::make_shared<FirstCtaDetail>();
  if (match.has("v4")) {
    // The fourth element is unspecified: its register keeps what it had.
    if (operands[0].kind != Operand::Kind::Vector || operands[0].elements.size() != 4)
      context.illegal("a vector of four registers is expected");
    for (size_t i = 0; i < operands[0].elements.size(); ++i) {
      const Slot slot = context.destination(operands[0].elements[i], ScalarType::B32);
      if (i < detail->registers.size()) detail->registers[i] = slot;
    }
  } else {
    const size_t dimension = match.has("get_first_ctaid::x") ? 0 : match.has("get_first_ctaid::y") ? 1 : 2;
    detail->registers[dimension] = context.destination(operands[0], ScalarType::B32);
  }
  context.out().operand[0] = context.source(operands[1], ScalarType::B128);
  context.out().detail = std::move(detail);
  context.out().handler = firstCta;
}

}  // namespace
}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::isa {

FormFamily launchControlForms() {
  using namespace machine;
  return {
      {"clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128",
       decodeTryCancel},
      {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", decodeIsCanceled},
      {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", decodeFirstCta},
      {"clusterlaunchcontrol.query_cancel.(get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z).b32.b128", decodeFirstCta},
  };
}

}  // namespace shiftconv::emulator::isa
