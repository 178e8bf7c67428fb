// Undefined data on its way: from bytes that nothing has written and rows that a shift left stale, through registers and memories,
// to where it matters. Reading and discarding it is harmless, and published kernels do; it is reported when it reaches global
// memory, a predicate, an address, or an operand of an instruction that changes anything but registers.
//
// Followed are registers as wholes, lane by lane (selp takes what it selects, shfl what it fetches; other exchanges between lanes
// make the results of all lanes undefined), bytes of shared memory, and cells of Tensor Memory. Not followed: local memory and
// the carry flag.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/emulator/hazards/checker.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/shuffle.hpp"
#include "common/emulator/program/program.hpp"
#include "common/emulator/wgmma/warpgroup_unit.hpp"

namespace shiftconv::emulator::hazards {

using machine::forEachLane;
using machine::kAllLanes;
using machine::kWarpLanes;
using machine::Warp;
using program::RegisterRole;

namespace {

bool hasModifier(const ptx::Instruction& instruction, std::string_view name) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), name) != instruction.modifiers.end();
}

/// Its data go to shared memory, Tensor Memory or local memory, where they stay undefined; a store to global memory is noticed
/// when it happens.
bool keepsData(const ptx::Instruction& instruction) {
  if (instruction.opcode == "st") return !hasModifier(instruction, "async");
  if (instruction.opcode == "wmma") return hasModifier(instruction, "store");
  return instruction.opcode == "stmatrix" || (instruction.opcode == "tcgen05" && hasModifier(instruction, "st"));
}

/// Every lane's result depends on all lanes.
bool mixesLanes(const ptx::Instruction& instruction) {
  if (instruction.opcode == "wmma") return hasModifier(instruction, "mma");
  static constexpr std::string_view kMixing[] = {"vote", "match", "redux", "mma", "movmatrix", "stmatrix", "ldmatrix"};
  return std::find(std::begin(kMixing), std::end(kMixing), instruction.opcode) != std::end(kMixing);
}

const char* nameOf(Role role) {
  switch (role) {
    case Role::OperandA:
      return "operand A";
    case Role::OperandB:
      return "operand B";
    case Role::ScaleA:
      return "the scale factors of A";
    case Role::ScaleB:
      return "the scale factors of B";
    default:
      return "an operand";
  }
}

constexpr const char* kNeverWritten = "nothing has written these bytes";

}  // namespace

// --- where it comes from ----------------------------------------------------------------------------------------------

/// One for each instruction and kind of cause: the first one is described.
template <class Describe>
uint32_t HazardChecker::originOf(const ptx::Instruction* instruction, uint32_t cause, Describe&& describe) {
  const auto [entry, isNew] = originNumbers_.try_emplace({instruction, cause}, static_cast<uint32_t>(origins_.size()));
  if (isNew) origins_.push_back(describe());
  return entry->second;
}

uint32_t HazardChecker::originOfShared(uint32_t rank, uint32_t offset) const {
  const auto& known = sharedOrigins_[rank];
  auto next = known.upper_bound(offset);
  if (next == known.begin()) return 0;
  const auto& [end, origin] = std::prev(next)->second;
  return offset < end ? origin : 0;
}

void HazardChecker::noteUndefinedReads(const Warp& warp, LaneMask lanes, const machine::LaneAddresses& addresses, uint32_t bytes) {
  LaneMask undefined = 0;
  forEachLane(lanes, [&](unsigned lane) {
    const auto window = static_cast<uint32_t>(addresses[lane]);
    const machine::SharedMemory& memory = cluster_.ctas[window >> machine::kSharedRankShift]->shared;
    undefined |= static_cast<LaneMask>(!memory.isWritten(window & machine::kSharedOffsetMask, bytes)) << lane;
  });
  if (undefined == 0) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(undefined));
  const auto window = static_cast<uint32_t>(addresses[lane]);
  const uint32_t rank = window >> machine::kSharedRankShift, offset = window & machine::kSharedOffsetMask;
  uint32_t origin = originOfShared(rank, offset);
  if (origin == 0)
    origin = originOf(warp.currentInstruction(), 0, [&] {
      Place place;
      place.rank = rank;
      place.first = offset;
      place.count = bytes;
      return Origin{describeThread(warp, lane, fmt::format("read of {}", describe(place))), kNeverWritten};
    });
  readUndefined(undefined, origin);
}

void HazardChecker::readUndefined(LaneMask lanes, uint32_t origin) {
  current_.memory |= lanes;
  if (current_.origin == 0) current_.origin = origin;
  following = true;
}

void HazardChecker::undefinedInShared(uint32_t rank, uint32_t offset, uint32_t bytes, uint64_t globalAddress) {
  uint32_t origin = current_.origin;
  if (running_ != nullptr)
    origin = originOf(running_->issuer.instruction, 2, [&] {
      const std::string source =
          globalAddress == 0 ? "undefined shared memory" : cluster_.global.memory().describe(globalAddress, 1);
      return Origin{
          describeIssuer(running_->issuer, fmt::format("copy of {} and what follows", source)),
          globalAddress == 0 ? kNeverWritten : kNeverWritten + std::string(" of global memory since they were allocated")};
    });
  sharedOrigins_[rank].insert_or_assign(offset, std::pair{offset + bytes, origin});
}

void HazardChecker::undefinedInTensor(uint32_t rank, uint32_t lane, uint32_t sharedOffset) {
  if (running_ == nullptr) return;
  uint32_t origin = originOfShared(rank, sharedOffset);
  if (origin == 0)
    origin = originOf(running_->issuer.instruction, 3, [&] {
      Place place;
      place.rank = rank;
      place.first = sharedOffset;
      place.count = 1;
      return Origin{describeIssuer(running_->issuer, fmt::format("copy of {}", describe(place))), kNeverWritten};
    });
  tensorOrigins_[rank][lane] = origin;
}

/// Of kinds that can disable a lane, a stale row in an enabled one is worth a remark even if nobody reads the result.
void HazardChecker::undefinedResult(uint32_t rank, uint32_t lane, const UndefinedOperand& operand) {
  if (running_ == nullptr) return;
  const uint32_t cause = 16 + 2 * static_cast<uint32_t>(operand.role) + static_cast<uint32_t>(operand.stale);
  const std::string missing =
      operand.stale ? "the row was left as it was by a shift of the rows above it: disable its lane in this mma, refill the row "
                      "(tcgen05.cp.4x256b) after the shift, or do not use what the lane accumulates"
                    : fmt::format("{} holds data that nothing has written", nameOf(operand.role));
  const uint32_t origin = originOf(running_->issuer.instruction, cause, [&] {
    return Origin{describeIssuer(running_->issuer, fmt::format("product with {} {} for lane {} of the accumulator (CTA rank {})",
                                                               operand.stale ? "a stale row of" : "undefined data of",
                                                               nameOf(operand.role), lane, rank)),
                  missing};
  });
  tensorOrigins_[rank][lane] = origin;
  if (!operand.stale || !operand.maskable || !reporter_.wants(HazardSeverity::Formal)) return;
  const HazardAccess user = describeIssuer(
      running_->issuer, fmt::format("use of row {} of operand A (Tensor Memory of CTA rank {}) in an enabled lane", lane, rank));
  if (!reporter_.seen(HazardKind::UndefinedData, HazardSeverity::Formal, 0, user.ptxLine))
    report(HazardKind::UndefinedData, HazardSeverity::Formal, {}, user, missing);
}

void HazardChecker::loadedUndefined(uint32_t rank, const std::byte* reg, LaneMask lanes, uint32_t tensorLane) {
  uint32_t origin = tensorOrigins_[rank][tensorLane];
  if (origin == 0 && running_ != nullptr)
    origin = originOf(running_->issuer.instruction, 4, [&] {
      return Origin{describeIssuer(running_->issuer, fmt::format("load of Tensor Memory lane {} of CTA rank {}", tensorLane, rank)),
                    "nothing has written these cells"};
    });
  undefinedRegisters_[reg] = {lanes, origin};
  following = true;
}

void HazardChecker::productResult(uint32_t rank, const std::byte* reg, LaneMask undefined, bool accumulates,
                                  const UndefinedSource& source) {
  const auto found = undefinedRegisters_.find(reg);
  if (undefined == 0) {
    if (found != undefinedRegisters_.end() && !accumulates) undefinedRegisters_.erase(found);
    return;
  }
  uint32_t origin = 0;
  if (source.reg != nullptr) {
    const auto made = undefinedRegisters_.find(source.reg);
    if (made != undefinedRegisters_.end()) origin = made->second.origin;
  } else {
    origin = originOfShared(rank, source.sharedOffset);
    if (origin == 0 && running_ != nullptr)
      origin = originOf(running_->issuer.instruction, 5, [&] {
        Place place;
        place.rank = rank;
        place.first = source.sharedOffset;
        place.count = 1;
        return Origin{describeIssuer(running_->issuer, fmt::format("product with {}", describe(place))), kNeverWritten};
      });
  }
  UndefinedRegister& result = undefinedRegisters_[reg];
  result = {accumulates ? result.lanes | undefined : undefined, origin};
  following = true;
}

// --- through registers ------------------------------------------------------------------------------------------------

LaneMask HazardChecker::undefinedLanes(const std::byte* reg) const {
  const auto found = undefinedRegisters_.find(reg);
  return found == undefinedRegisters_.end() ? 0 : found->second.lanes;
}

LaneMask HazardChecker::storesUndefined(const Warp&, LaneMask lanes, const machine::LaneAddresses&, uint32_t) {
  return current_.sources & lanes;
}

void HazardChecker::executing(const Warp& warp, LaneMask group, LaneMask mask, const std::byte* frame,
                              const program::CompiledFunction& function, uint32_t pc) {
  current_ = {};
  const uint32_t first = pc == 0 ? 0 : function.registerUseEnd[pc - 1], end = function.registerUseEnd[pc];
  const ptx::Instruction& instruction = *function.code[pc].source;
  if (function.code[pc].ordersRegisters) return reportUndefinedChoices(warp, frame, function.code[pc]);
  LaneMask guard = 0, address = 0;
  bool hasDestination = false;
  for (uint32_t i = first; i < end; ++i) {
    const RegisterRole role = function.registerRoles[i];
    hasDestination |= role == RegisterRole::Destination;
    if (role == RegisterRole::Destination) continue;
    const auto found = undefinedRegisters_.find(frame + function.registerUses[i]);
    if (found == undefinedRegisters_.end()) continue;
    (role == RegisterRole::Guard ? guard : role == RegisterRole::Address ? address : current_.sources) |= found->second.lanes;
    if (current_.origin == 0) current_.origin = found->second.origin;
  }
  guard &= group;
  address &= mask;
  if (instruction.opcode == "selp") current_.sources = selected(frame, function.code[pc]);
  if (instruction.opcode == "shfl") current_.sources = shuffled(frame, function.code[pc]);
  current_.sources &= mask;
  if (current_.sources != 0 && mixesLanes(instruction)) current_.sources = kAllLanes;
  if (address != 0) reportUndefined(warp, address, "the address is undefined");
  if (guard != 0 && !hasDestination) reportUndefined(warp, guard, "the predicate is undefined");
  const bool stores = instruction.opcode == "atom" || !hasDestination;
  if (current_.sources != 0 && stores && !keepsData(instruction))
    reportUndefined(warp, current_.sources, "an operand is undefined");
  if (guard == 0 && !(instruction.opcode == "tcgen05" && hasModifier(instruction, "ld"))) return;
  // Lanes that may or may not have been written; and a load into registers defines them when it completes.
  current_.guard = guard;
  for (uint32_t i = first; i < end; ++i)
    if (function.registerRoles[i] == RegisterRole::Destination) setUndefined(frame + function.registerUses[i], mask | guard, guard);
}

void HazardChecker::executed(const Warp&, LaneMask mask, const std::byte* frame, const program::CompiledFunction& function,
                             uint32_t pc) {
  const uint32_t first = pc == 0 ? 0 : function.registerUseEnd[pc - 1], end = function.registerUseEnd[pc];
  const ptx::Instruction& instruction = *function.code[pc].source;
  LaneMask undefined = current_.sources | current_.memory | current_.guard;
  if (current_.memory != 0 && mixesLanes(instruction)) undefined = kAllLanes;
  if (!function.code[pc].ordersRegisters && !(instruction.opcode == "tcgen05" && hasModifier(instruction, "ld")))
    for (uint32_t i = first; i < end; ++i)
      if (function.registerRoles[i] == RegisterRole::Destination) setUndefined(frame + function.registerUses[i], mask, undefined);
  current_ = {};
  following = !undefinedRegisters_.empty();
}

/// A wgmma.mma_async fills its registers when it completes; what chooses its operands and accumulators counts at once.
void HazardChecker::reportUndefinedChoices(const Warp& warp, const std::byte* frame,
                                           const program::DecodedInstruction& instruction) {
  const auto& product = instruction.as<wgmma::Product>();
  LaneMask undefined = 0;
  for (const program::Slot slot : {product.descriptorA, product.descriptorB, product.accumulate})
    if (slot != program::kNoSlot) undefined |= undefinedLanes(frame + slot);
  if (undefined != 0) reportUndefined(warp, undefined, "a descriptor or scale-d is undefined");
}

/// Of `lanes`, those in `undefined` become undefined and the others defined.
void HazardChecker::setUndefined(const std::byte* reg, LaneMask lanes, LaneMask undefined) {
  undefined &= lanes;
  const auto found = undefinedRegisters_.find(reg);
  if (found == undefinedRegisters_.end()) {
    if (undefined != 0) undefinedRegisters_[reg] = {undefined, current_.origin};
    return;
  }
  found->second.lanes = (found->second.lanes & ~lanes) | undefined;
  if (undefined != 0) found->second.origin = current_.origin;
  if (found->second.lanes == 0) undefinedRegisters_.erase(found);
}

/// selp: operands 1 and 2 by predicate 3.
LaneMask HazardChecker::selected(const std::byte* frame, const machine::DecodedInstruction& instruction) const {
  LaneMask predicate;
  std::memcpy(&predicate, frame + instruction.operand[3], sizeof predicate);
  if (instruction.source->operands[3].negated) predicate = ~predicate;
  return undefinedLanes(frame + instruction.operand[3]) | (predicate & undefinedLanes(frame + instruction.operand[1])) |
         (~predicate & undefinedLanes(frame + instruction.operand[2]));
}

/// shfl: operand 2 of the lanes that 3 and 4 name.
LaneMask HazardChecker::shuffled(const std::byte* frame, const machine::DecodedInstruction& instruction) const {
  using machine::ShuffleMode;
  const ptx::Instruction& source = *instruction.source;
  const ShuffleMode mode = hasModifier(source, "up")     ? ShuffleMode::Up
                           : hasModifier(source, "down") ? ShuffleMode::Down
                           : hasModifier(source, "bfly") ? ShuffleMode::Bfly
                                                         : ShuffleMode::Idx;
  const LaneMask values = undefinedLanes(frame + instruction.operand[2]);
  LaneMask result = undefinedLanes(frame + instruction.operand[3]) | undefinedLanes(frame + instruction.operand[4]);
  const auto* b = reinterpret_cast<const uint32_t*>(frame + instruction.operand[3]);
  const auto* c = reinterpret_cast<const uint32_t*>(frame + instruction.operand[4]);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    result |= (values >> machine::shuffleSource(mode, lane, b[lane], c[lane]).lane & 1) << lane;
  return result;
}

// --- where it matters -------------------------------------------------------------------------------------------------

void HazardChecker::reportUndefined(const Warp& warp, LaneMask lanes, const char* what) {
  reportUndefined(current_.origin, describeThread(warp, static_cast<unsigned>(std::countr_zero(lanes)), what));
}

void HazardChecker::reportUndefined(uint32_t origin, HazardAccess user) {
  static const Origin kUnknown{{}, kNeverWritten};
  const Origin& from = origin == 0 ? kUnknown : origins_[origin];
  if (!reporter_.seen(HazardKind::UndefinedData, HazardSeverity::Race, from.access.ptxLine, user.ptxLine))
    report(HazardKind::UndefinedData, HazardSeverity::Race, from.access, std::move(user), from.missing);
}

void HazardChecker::undefinedInGlobal(uint32_t rank, uint32_t sharedOffset, uint64_t address, uint64_t bytes) {
  if (running_ == nullptr) return;
  Place place;
  place.rank = rank;
  place.first = sharedOffset;
  place.count = static_cast<uint32_t>(bytes);
  reportUndefined(originOfShared(rank, sharedOffset),
                  describeIssuer(running_->issuer, fmt::format("store of undefined {} to {}", describe(place),
                                                               cluster_.global.memory().describe(address, bytes))));
}

}  // namespace shiftconv::emulator::hazards
