// An observer that lets everything pass: a base for those who look at a few things only.
#pragma once

#include "common/emulator/machine/observer.hpp"

namespace shiftconv::emulator::machine {

class QuietObserver : public Observer {
 public:
  void sharedAccess(const Warp&, LaneMask, const LaneAddresses&, uint32_t, bool, bool) override {}
  void globalAccess(const Warp&, LaneMask, const LaneAddresses&, uint32_t, bool, bool) override {}
  void globalValuesRead() override {}
  void genericOperand(const Warp&, unsigned, uint64_t) override {}
  void ruleBroken(const Warp&, unsigned, std::string, std::string) override {}
  void columnsChangeHands(const Warp&, uint32_t, uint32_t) override {}
  void pairAllocated(const Warp&, const Warp&, uint32_t, uint32_t) override {}
  void mapAcquired(const Warp&, unsigned, uint64_t) override {}
  void mapUsed(const Warp&, unsigned, uint64_t) override {}
  void issued(OperationId, const AsyncOperation&) override {}
  void begin(OperationId) override {}
  void end() override {}
  void operationShared(uint32_t, uint32_t, uint32_t, bool, OperandRole) override {}
  void actsFor(unsigned) override {}
  std::span<const ByteRange> operationGlobal(uint64_t, uint64_t, bool, unsigned) override { return {}; }
  void operationTensor(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, bool, OperandRole) override {}
  void operationShift(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t) override {}
  void waitedTogether(const Warp&, OperationKind) override {}
  void warpgroupWaited(const Warp&, const std::vector<OperationId>&) override {}
  void addToGroup(Group, const Warp&, unsigned, OperationId) override {}
  void commitGroup(Group, const Warp&, unsigned) override {}
  void waitedForGroups(Group, const Warp&, unsigned, uint64_t) override {}
  void waitedForAll(Group, const Warp&, unsigned) override {}
  void fence(const Warp&, LaneMask, FenceKind) override {}
  void warpSync(const Warp&, LaneMask) override {}
  void prerequisitesAwaited(const Warp&, LaneMask) override {}
  void barrierArrive(const Warp&, LaneMask, uint32_t, bool) override {}
  void barrierComplete(uint32_t, uint32_t, uint64_t) override {}
  void barrierLeave(const Warp&, LaneMask, uint32_t, uint64_t) override {}
  void mbarrierInit(const Warp&, unsigned, const Cta&, uint32_t) override {}
  void mbarrierInval(const Warp&, unsigned, const Cta&, uint32_t) override {}
  void mbarrierArrive(const Warp&, unsigned, const Cta&, uint32_t, bool) override {}
  void mbarrierWaited(const Warp&, unsigned, const Cta&, uint32_t, bool) override {}
  void mbarrierSignalled(uint32_t, uint32_t, uint64_t) override {}
  void mbarrierPhase(uint32_t, uint32_t, uint64_t) override {}
  void mbarrierLapped(const Warp&, unsigned, const Cta&, uint32_t, uint64_t, uint64_t) override {}
  void ctaExits(uint32_t) override {}
  void usedUnwaited(const Warp&, LaneMask, OperationId) override {}
  void warpgroupFenceMissing(const Warp&, const ptx::Instruction*) override {}
  void foreignWindow(const Warp&, uint32_t) override {}
  void unequalRegisterRequests(const Warp&, const Warp&, const ptx::Instruction*) override {}
  void executing(const Warp&, LaneMask, LaneMask, const std::byte*, const program::CompiledFunction&, uint32_t) override {}
  void executed(const Warp&, LaneMask, const std::byte*, const program::CompiledFunction&, uint32_t) override {}
  LaneMask undefinedLanes(const std::byte*) const override { return {}; }
  LaneMask storesUndefined(const Warp&, LaneMask, const LaneAddresses&, uint32_t) override { return {}; }
  void loadedUndefined(uint32_t, const std::byte*, LaneMask, uint32_t) override {}
  void undefinedInShared(uint32_t, uint32_t, uint32_t, uint64_t) override {}
  void undefinedInTensor(uint32_t, uint32_t, uint32_t) override {}
  void undefinedInGlobal(uint32_t, uint32_t, uint64_t, uint64_t) override {}
  void undefinedResult(uint32_t, uint32_t, const UndefinedOperand&) override {}
  void productResult(uint32_t, const std::byte*, LaneMask, bool, const UndefinedSource&) override {}
};

}  // namespace shiftconv::emulator::machine
