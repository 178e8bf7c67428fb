#include "common/emulator/hazards/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/emulator/hazards/global_checker.hpp"
#include "common/emulator/hazards/global_launch.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/report.hpp"
#include "common/emulator/tensor/tensor_memory.hpp"

namespace shiftconv::emulator::hazards {

HazardChecker::HazardChecker(machine::Cluster& cluster, Reporter& reporter, GlobalShadow& shadow, LaunchRecord& launch,
                             uint32_t index)
    : cluster_(cluster),
      global_(std::make_unique<GlobalChecker>(*this, shadow, launch, index)),
      reporter_(reporter),
      launch_(launch),
      warpsPerCta_(static_cast<uint32_t>((cluster.config.block.count() + machine::kWarpLanes - 1) / machine::kWarpLanes)) {
  const size_t ctas = cluster.ctas.size();
  const ClockPointer nothing = LocalPointer<Clock>::make();
  threads_.resize(ctas * warpsPerCta_ * machine::kWarpLanes);
  for (size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].view.base = threads_[i].view.tensor = nothing;
    threads_[i].view.thread = static_cast<uint32_t>(i);
    threads_[i].view.clock = 1;
  }
  clocks_.assign(ctas * warpsPerCta_, 1);
  fragments_.resize(ctas * warpsPerCta_);
  for (const auto& cta : cluster.ctas) {
    shared_.emplace_back(cta->shared.size());
    tensor_.emplace_back(size_t{tensor::kTmemLanes} * tensor::kTmemColumns);
    sharedOrigins_.emplace_back();
    tensorOrigins_.emplace_back(tensor::kTmemLanes);
  }
  operations_.completed = [this](OperationId id, const Completion& completion) { global_->operationCompleted(id, completion); };
}

HazardChecker::~HazardChecker() = default;

// --- reports --------------------------------------------------------------------------------------------------------------

namespace {

std::string warpName(const machine::Warp& warp, const std::vector<std::string>& roles) {
  std::string name = machine::describe(warp);
  if (warp.index < roles.size() && !roles[warp.index].empty()) name += fmt::format(" ({})", roles[warp.index]);
  return name;
}

const char* toString(Role role) {
  switch (role) {
    case Role::Source:
      return "source";
    case Role::Destination:
      return "destination";
    case Role::OperandA:
      return "operand A";
    case Role::OperandB:
      return "operand B";
    case Role::Accumulator:
      return "accumulator";
    case Role::ScaleA:
      return "scale factors of A";
    case Role::ScaleB:
      return "scale factors of B";
    case Role::Shifted:
      return "shifted rows";
  }
  return "operand";
}

}  // namespace

void HazardChecker::report(HazardKind kind, HazardSeverity severity, HazardAccess first, HazardAccess second, std::string missing,
                           std::string question) {
  reporter_.report({kind, severity, std::move(first), std::move(second), std::move(missing), 1, std::move(question)});
}

HazardAccess HazardChecker::describeIssuer(const machine::IssuePoint& issuer, std::string what) const {
  const machine::Warp& warp = *cluster_.ctas[issuer.ctaRank]->warps[issuer.warp];
  HazardAccess access;
  access.what = std::move(what);
  access.kernel = cluster_.kernel.source->name;
  access.thread = fmt::format("{}, lane {}", warpName(warp, cluster_.options.warpRoles), issuer.lane);
  access.where = machine::describe(cluster_.program.module, issuer.instruction);
  if (issuer.instruction != nullptr) {
    access.ptxLine = issuer.instruction->location.ptxLine;
    access.sourceLine = issuer.instruction->location.sourceLine;
  }
  return access;
}

HazardAccess HazardChecker::describePoint(const machine::Warp& warp, unsigned lane, const ptx::Instruction* instruction,
                                          std::string what) const {
  return describeIssuer({warp.cta.rank, warp.index, lane, instruction}, std::move(what));
}

HazardAccess HazardChecker::describeThread(const machine::Warp& warp, unsigned lane, std::string what) const {
  return describePoint(warp, lane, warp.currentInstruction(), std::move(what));
}

std::string HazardChecker::describe(const Place& place) {
  if (place.count == 0) return fmt::format("shared memory of CTA rank {}", place.rank);
  const uint32_t last = place.first + place.count - 1;
  return place.tensor
             ? fmt::format("Tensor Memory lane {}, columns {}..{}, of CTA rank {}", place.lane, place.first, last, place.rank)
             : fmt::format("shared memory bytes {:#x}..{:#x} of CTA rank {}", place.first, last, place.rank);
}

HazardAccess HazardChecker::describe(Access access, const Place& place, bool writes) {
  const std::string bytes = describe(place);
  const char* verb = writes ? "write" : "read";
  if (access.kind() == Access::Kind::Operation) {
    const Operation* operation = operations_.find(access.operation());
    machine::IssuePoint issuer = operation->issuer;
    if (access.lanes() != machine::kAllLanes) issuer.lane = static_cast<uint32_t>(std::countr_zero(access.lanes()));
    return describeIssuer(issuer,
                          fmt::format("{} of {} as {} of {}", verb, bytes, toString(access.role()), nameOf(operation->kind)));
  }
  const bool whole = access.kind() == Access::Kind::Warp;
  const uint32_t warp = whole ? access.warp() : access.thread() / machine::kWarpLanes;
  const machine::IssuePoint point{warp / warpsPerCta_, warp % warpsPerCta_, whole ? 0 : access.thread() % machine::kWarpLanes,
                                  launch_.sites.at(access.site())};
  const bool allocation = place.tensor;
  return describeIssuer(point, allocation ? fmt::format("allocation or deallocation of {}", bytes)
                                          : fmt::format("{} of {}{}", verb, bytes, whole ? " by all lanes" : ""));
}

std::string proofOfCompletion(machine::OperationKind kind, bool tensor) {
  using machine::CompletionProof;
  const std::string_view name = nameOf(kind);
  switch (machine::traitsOf(kind).proof) {
    case CompletionProof::TensorWait:
      return fmt::format("tcgen05.wait::{} by the warp that issued it, and then a synchronisation with tcgen05 fences around it",
                         kind == machine::OperationKind::TensorLoad ? "ld" : "st");
    case CompletionProof::TensorCommit:
      return fmt::format("a tcgen05.commit behind the {} and a wait for its mbarrier{}", name,
                         tensor ? ", followed by tcgen05.fence::after_thread_sync" : "");
    case CompletionProof::BulkGroupRead:
      return "cp.async.bulk.wait_group.read by the thread that issued the store";
    case CompletionProof::BulkGroupWrite:
      return "cp.async.bulk.wait_group by the thread that issued the store";
    case CompletionProof::CopyGroup:
      return "cp.async.wait_group by the threads that issued the copy, or an mbarrier that cp.async.mbarrier.arrive arrives on";
    case CompletionProof::WarpgroupWait:
      return "wgmma.commit_group behind it and wgmma.wait_group, by a warp of the warpgroup that issued it";
    case CompletionProof::Mbarrier:
      break;
  }
  return fmt::format("a wait for the mbarrier that the {} signals", name);
}

std::string HazardChecker::missingOrder(Verdict verdict, Access earlier, const Subject& later, const Place& place) {
  if (verdict == Verdict::ProxyFence)
    return "fence.proxy.async behind the write, before the threads synchronise: the later access goes through the asynchronous "
           "proxy";
  if (verdict == Verdict::TensorFence)
    return "tcgen05.fence::before_thread_sync in the first thread and tcgen05.fence::after_thread_sync in the second one, around "
           "their synchronisation";
  if (verdict == Verdict::WarpOrder)
    return fmt::format("tcgen05.wait::{} behind the first one: the PTX ISA orders the ld and st of a warp by nothing else",
                       operations_.find(earlier.operation())->kind == machine::OperationKind::TensorLoad ? "ld" : "st");
  if (verdict == Verdict::Release)
    return "tcgen05.wait::st behind the store, before its threads release it: by the PTX ISA nothing else completes it";
  if (verdict == Verdict::CopyOrder || verdict == Verdict::MmaOrder) {
    const machine::OperationKind first = operations_.find(earlier.operation())->kind;
    return fmt::format("{}: {} and {} are not an ordered pair here, and follow each other because one thread issued both",
                       proofOfCompletion(first, place.tensor), nameOf(first), nameOf(later.operation->kind));
  }
  if (verdict == Verdict::Collective)
    return "bar.warp.sync, or a barrier, between the two: by the PTX ISA one lane's read is ordered behind what the instruction "
           "wrote "
           "for the whole warp by nothing else";
  if (verdict == Verdict::Exit)
    return "an arrival of the first thread at the barrier, in place of its exit: a barrier does not wait for threads that have "
           "exited, "
           "and by the PTX ISA it orders nothing behind what they did";
  if (verdict == Verdict::EqualWrites)
    return "nothing orders the two writes; both store the same value, so that their order does not show";
  if (earlier.kind() != Access::Kind::Operation) {
    std::string text =
        "nothing orders the two: a barrier, or an mbarrier on which the first thread arrives and for which the second one waits" +
        relaxedArriveOf(earlier.kind() == Access::Kind::Warp ? earlier.warp() * machine::kWarpLanes : earlier.thread());
    if (later.operation != nullptr)
      text += fmt::format("; or, if the {} was meant to come first, {}", nameOf(later.operation->kind),
                          proofOfCompletion(later.operation->kind, place.tensor));
    return text;
  }
  const Operation& operation = *operations_.find(earlier.operation());
  const machine::OperationKind kind = operation.kind;
  if (isFragment(operation) && std::any_of(operation.completions.begin(), operation.completions.end(),
                                           [](const Completion& completion) { return completion.rules == Rules::Isa; }))
    return fmt::format(
        "a synchronisation, with tcgen05 fences around it, between the tcgen05.wait::{} of the warp that issued the "
        "first one, which is there, and the second one{}",
        kind == machine::OperationKind::TensorLoad ? "ld" : "st", relaxedArriveOf(operation.view.thread));
  std::string text = proofOfCompletion(kind, place.tensor);
  if (later.operation != nullptr && later.operation->pairs.kind != 0 && isTensorOperation(kind))
    text += fmt::format(": {} and {} are not an ordered pair here", nameOf(kind), nameOf(later.operation->kind));
  return text;
}

/// What to say when the thread has arrived at a barrier, but released nothing.
std::string HazardChecker::relaxedArriveOf(uint32_t thread) const {
  const auto& made = threads_.at(thread).made;
  if (!made || made->relaxedArrive == nullptr) return "";
  return fmt::format("; the relaxed arrival at PTX line {} releases nothing: .release in its place does",
                     made->relaxedArrive->location.ptxLine);
}

HazardChecker::Finding HazardChecker::findingOf(Verdict verdict) const {
  const auto byDefault = [&](Unproven id) { return cluster_.options.semantics[id] == 0; };
  switch (verdict) {
    case Verdict::ProxyFence:
      return {HazardKind::ProxyFence};
    case Verdict::TensorFence:
      return {HazardKind::TensorFence, byDefault(Unproven::U32) ? HazardSeverity::Formal : HazardSeverity::Race};
    case Verdict::Collective:
    case Verdict::Exit:
    case Verdict::EqualWrites:
      return {HazardKind::Race, HazardSeverity::Formal};
    case Verdict::WarpOrder:
      if (byDefault(Unproven::U30)) return {HazardKind::TensorWait, HazardSeverity::Formal};
      break;
    case Verdict::Release:
      if (byDefault(Unproven::U35)) return {HazardKind::TensorWait, HazardSeverity::Formal};
      break;
    case Verdict::CopyOrder:
      if (byDefault(Unproven::U6)) return {HazardKind::ReliesOn, HazardSeverity::Unproven, "U6"};
      break;
    case Verdict::MmaOrder:
      if (byDefault(Unproven::U31)) return {HazardKind::ReliesOn, HazardSeverity::Unproven, "U31"};
      break;
    default:
      break;
  }
  return {};
}

void HazardChecker::reportConflict(Verdict verdict, Access earlier, bool earlierWrites, const Subject& later, bool laterWrites,
                                   const Place& place) {
  if (verdict == Verdict::Race && earlierWrites && laterWrites && !place.tensor && later.operation == nullptr &&
      storesTheSame(earlier, later.access, cluster_.ctas[place.rank]->shared.data() + place.first, place.count))
    verdict = Verdict::EqualWrites;
  if (verdict == Verdict::Race) verdict = excuseOf(earlier, later.view);
  const Finding finding = findingOf(verdict);
  if (verdict == Verdict::TensorFence) cluster_.counters.use(Unproven::U32);
  if (!reporter_.wants(finding.severity)) return;
  const auto lineOfAccess = [&](Access access) {
    if (access.kind() != Access::Kind::Operation) return launch_.sites.lineOf(access.site());
    const ptx::Instruction* instruction = operations_.find(access.operation())->issuer.instruction;
    return instruction == nullptr ? 0 : instruction->location.ptxLine;
  };
  if (reporter_.seen(finding.kind, finding.severity, lineOfAccess(earlier), lineOfAccess(later.access))) return;
  report(finding.kind, finding.severity, describe(earlier, place, earlierWrites), describe(later.access, place, laterWrites),
         missingOrder(verdict, earlier, later, place), std::string(finding.question));
}

}  // namespace shiftconv::emulator::hazards
