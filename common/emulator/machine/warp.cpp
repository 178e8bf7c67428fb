#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/barrier.hpp"
#include "common/emulator/machine/report.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

/// A ready group that has not run for so many warp instructions gets a turn of kFairTurn.
constexpr uint64_t kPatience = 20000;
constexpr uint64_t kFairTurn = 512;

LaneMask lanesOfWarp(const Warp& warp) {
  const uint64_t threads = warp.cta.cluster.config.block.count();
  const uint64_t first = uint64_t{warp.index} * kWarpLanes;
  const uint64_t here = std::min<uint64_t>(kWarpLanes, threads - first);
  return static_cast<LaneMask>((uint64_t{1} << here) - 1);
}

/// Bits of the mask, with the usual case first: the portable code for counting bits is slow.
inline uint32_t countLanes(LaneMask lanes) { return lanes == kAllLanes ? kWarpLanes : static_cast<uint32_t>(std::popcount(lanes)); }

}  // namespace

Warp::Warp(Cta& owner, uint32_t warpIndex) : cta(owner), index(warpIndex) {
  state = std::make_unique<State>(*this);
  Group start;
  start.activation = state->activations.make(cta.cluster.kernel, nullptr, state->existing);
  start.lanes = state->existing;
  state->groups.push_back(start);
}
Warp::~Warp() = default;

LaneMask Warp::existing() const { return state->existing; }
LaneMask Warp::exited() const { return state->exited; }
void Warp::block(WaitReason reason) { state->sleep(state->executing, std::move(reason)); }
void Warp::block(LaneMask lanes, WaitReason reason) { state->sleep(lanes, std::move(reason)); }
bool Warp::timedOut() const { return state->timedOut; }
bool Warp::converge(LaneMask executing, LaneMask members) { return state->converge(executing, members); }

void Warp::requireAligned(LaneMask executing, const char*) const {
  if (executing != state->alive()) throw AlignedWait();
}

IssuePoint Warp::issuePoint(unsigned lane) const { return {cta.rank, index, lane, currentInstruction()}; }

const ptx::Instruction* Warp::currentInstruction() const {
  const Group& group = state->current;
  if (group.activation == nullptr || group.pc >= group.activation->function->code.size()) return nullptr;
  return group.activation->function->code[group.pc].source;
}

Warp::State::State(Warp& owner) : warp(owner), existing(lanesOfWarp(owner)), activations(owner) {}

// --- requests ---------------------------------------------------------------------------------------------

void Warp::State::place(Group group) {
  group.lastRun = executed;
  groups.push_back(std::move(group));
}

void Warp::State::place(Activation* activation, uint32_t pc, LaneMask lanes) {
  Group group;
  group.activation = activation;
  group.pc = pc;
  group.lanes = lanes;
  place(std::move(group));
}

void Warp::State::jump(LaneMask lanes, uint32_t target) {
  place(current.activation, target, lanes);
  departed |= lanes;
}

void Warp::State::sleep(LaneMask lanes, WaitReason reason, uint64_t remembered) {
  Group group;
  group.activation = current.activation;
  group.pc = current.pc;
  group.lanes = lanes;
  group.status = Group::Status::Sleeping;
  group.token = remembered;
  group.sleepEpoch = warp.cta.cluster.wakeEpoch();
  group.reason = std::move(reason);
  place(std::move(group));
  departed |= lanes;
  waiting |= lanes;
}

void Warp::State::park(LaneMask lanes, Group::Status status) {
  Group group;
  group.activation = current.activation;
  group.pc = current.pc;
  group.lanes = lanes;
  group.status = status;
  place(std::move(group));
  departed |= lanes;
  waiting |= lanes;
}

void Warp::State::exit(LaneMask lanes) {
  departed |= lanes;
  exited |= lanes;
  for (Activation* activation = current.activation; activation != nullptr;) {
    Activation* caller = activation->caller;
    activations.remove(*activation, lanes);
    activation = caller;
  }
  wakeParked();
  lanesExited(warp, lanes);
}

Activation& Warp::State::call(LaneMask lanes, const program::CompiledFunction& function) {
  Activation* activation = activations.make(function, current.activation, lanes);
  activation->returnPc = current.pc + 1;
  place(activation, 0, lanes);
  departed |= lanes;
  return *activation;
}

void Warp::State::leave(LaneMask lanes) {
  Activation* activation = current.activation;
  place(activation->caller, activation->returnPc, lanes);
  departed |= lanes;
  activations.remove(*activation, lanes);
}

bool Warp::State::converge(LaneMask lanes, LaneMask members) {
  if ((lanes & ~members) != 0)
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("lanes {} execute the instruction with the member mask {}, which does not contain them",
                                    describeLanes(lanes & ~members), describeLanes(members)));
  const LaneMask required = members & alive();
  if (lanes == required) return true;
  LaneMask arrived = lanes;
  for (const Group& group : groups)
    if (group.status == Group::Status::Converging && group.activation == current.activation && group.pc == current.pc &&
        (group.lanes & ~members) == 0)
      arrived |= group.lanes;
  park(lanes, Group::Status::Converging);
  if ((arrived & required) != required) return false;
  for (Group& group : groups)
    if (group.status == Group::Status::Converging && group.activation == current.activation && group.pc == current.pc &&
        (group.lanes & ~members) == 0)
      group.status = Group::Status::Ready;
  return false;
}

void Warp::State::warpBarrier(LaneMask lanes, LaneMask members) {
  if ((lanes & ~members) != 0)
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("lanes {} execute bar.warp.sync with the member mask {}, which does not contain them",
                                    describeLanes(lanes & ~members), describeLanes(members)));
  const LaneMask required = members & alive();
  LaneMask arrived = lanes;
  for (const Group& group : groups)
    if (group.status == Group::Status::WarpBarrier && group.members == members) arrived |= group.lanes;
  if ((arrived & required) != required) {
    park(lanes, Group::Status::WarpBarrier);
    groups.back().members = members;
    return;
  }
  if (auto* observer = warp.cta.cluster.observer.get()) observer->warpSync(warp, arrived);
  if (arrived == lanes) return;
  for (Group& group : groups)
    if (group.status == Group::Status::WarpBarrier && group.members == members) {
      group.status = Group::Status::Ready;
      ++group.pc;
    }
  // Chosen anew together with the released ones, so that all meet again as soon as they can.
  place(current.activation, current.pc + 1, lanes);
  departed |= lanes;
}

void Warp::State::wakeParked() {
  // Whoever waits for the lanes that are gone looks again.
  for (Group& group : groups)
    if (group.status != Group::Status::Sleeping) group.status = Group::Status::Ready;
}

bool Warp::State::timeOutWaits() {
  bool any = false;
  for (Group& group : groups)
    if (group.status == Group::Status::Sleeping && group.reason.mayTimeOut) {
      group.status = Group::Status::Ready;
      group.timeOut = true;
      any = true;
    }
  return any;
}

// --- choosing what runs -------------------------------------------------------------------------------------

bool Warp::State::select() {
  const uint64_t epoch = warp.cta.cluster.wakeEpoch();
  Group* best = nullptr;
  Group* oldest = nullptr;
  for (Group& group : groups) {
    if (group.status == Group::Status::Sleeping && group.sleepEpoch != epoch) group.status = Group::Status::Ready;
    if (group.status != Group::Status::Ready) continue;
    const auto rank = [](const Group& g) {
      return std::tuple(-static_cast<int64_t>(g.activation->depth), g.pc, std::countr_zero(g.lanes));
    };
    if (best == nullptr || rank(group) < rank(*best)) best = &group;
    if (oldest == nullptr || group.lastRun < oldest->lastRun) oldest = &group;
  }
  if (best == nullptr) {
    if (!groups.empty()) checkStuck();
    return false;
  }
  if (executed - oldest->lastRun > kPatience) best = oldest;

  current = std::move(*best);
  if (best != &groups.back()) *best = std::move(groups.back());
  groups.pop_back();
  if (current.token != 0 || current.timeOut) return true;
  for (size_t i = 0; i < groups.size();) {
    Group& other = groups[i];
    if (other.status != Group::Status::Ready || other.activation != current.activation || other.pc != current.pc ||
        other.token != 0 || other.timeOut) {
      ++i;
      continue;
    }
    current.lanes |= other.lanes;
    if (&other != &groups.back()) other = std::move(groups.back());
    groups.pop_back();
  }
  return true;
}

/// Nothing is ready. When nothing sleeps either, lanes of this warp wait for each other for ever.
void Warp::State::checkStuck() const {
  bool aligned = false;
  for (const Group& group : groups) {
    if (group.status == Group::Status::Sleeping) return;
    aligned |= group.status == Group::Status::Aligned;
  }
  std::string text =
      fmt::format("the lanes of {} wait for each other at instructions that need them together", machine::describe(warp));
  for (const Group& group : groups) text += "\n  " + describe(group);
  throw EmulatorError(aligned ? ErrorKind::IllegalInstruction : ErrorKind::Deadlock, text);
}

/// Where the running group meets another one, or the end of the function.
uint32_t Warp::State::stopPc() const {
  uint32_t stop = static_cast<uint32_t>(current.activation->function->code.size());
  for (const Group& group : groups)
    if (group.status == Group::Status::Ready && group.activation == current.activation && group.pc > current.pc)
      stop = std::min(stop, group.pc);
  return stop;
}

// --- running ------------------------------------------------------------------------------------------------

uint64_t Warp::State::run(uint64_t quantum) {
  const uint64_t start = executed;
  try {
    while (executed - start < quantum && select()) {
      const uint64_t left = quantum - (executed - start);
      const bool alone = groups.empty();
      try {
        execute(alone ? left : std::min(left, kFairTurn));
      } catch (const AlignedWait&) {
        parkAligned();
      }
    }
  } catch (const EmulatorError& error) {
    throw EmulatorError(error.kind(), error.what() + (current.lanes != 0 ? errorContext(warp, executing) : std::string()));
  }
  return executed - start;
}

void Warp::State::execute(uint64_t quantum) {
  AsyncQueue& queue = warp.cta.cluster.queue;
  Observer* const observer = warp.cta.cluster.observer.get();
  Activation& activation = *current.activation;
  const std::vector<DecodedInstruction>& code = activation.function->code;
  Execution execution{warp, current.lanes, activation.registers};
  const LaneMask lanes = current.lanes;
  const uint32_t lanesCount = countLanes(lanes);
  const uint32_t stop = stopPc();
  uint64_t last = executed + quantum;
  timedOut = std::exchange(current.timeOut, false);
  token = std::exchange(current.token, 0);
  bool resumed = timedOut || token != 0;
  taken = departed = 0;
  uint32_t pc = current.pc;

  for (; pc < stop && executed != last;) {
    const DecodedInstruction& instruction = code[pc];
    ++executed;
    LaneMask mask = lanes;
    if (instruction.guard != kNoSlot) {
      const LaneMask guard = execution.predicate(instruction.guard);
      mask &= instruction.guardNegated ? ~guard : guard;
      if (observer != nullptr && observer->following) [[unlikely]] {
        current.pc = pc;
        observer->executing(warp, lanes, mask, execution.frame, *activation.function, pc);
      }
      if (mask == 0) {
        ++pc;
        continue;
      }
      threadExecuted += countLanes(mask);
    } else {
      threadExecuted += lanesCount;
      if (observer != nullptr && observer->following) [[unlikely]] {
        current.pc = pc;
        observer->executing(warp, lanes, mask, execution.frame, *activation.function, pc);
      }
    }
    current.pc = pc;
    execution.mask = executing = mask;
    if (!warp.busyRegisters.empty() && !instruction.ordersRegisters) [[unlikely]]
      awaitRegisters(mask, execution.frame, *activation.function, pc);
    if (warp.registerWatch != nullptr) [[unlikely]]
      warp.registerWatch->touched(execution.frame, *activation.function, pc);
    instruction.handler(execution, instruction);
    if (observer != nullptr && observer->following && (taken | departed) == 0) [[unlikely]]
      observer->executed(warp, mask, execution.frame, *activation.function, pc);
    if (resumed) {
      resumed = timedOut = false;
      token = 0;
      if (!groups.empty()) last = executed;  // others may have woken up at this place, too
    }
    if ((taken | departed) == 0) {
      ++pc;
    } else if (taken == lanes) {
      pc = takenTarget;
      taken = 0;
    } else {
      commit();
      return;
    }
    queue.tick();
  }

  if (pc >= code.size()) {  // running off the end is a return
    current.pc = pc;
    executing = lanes;
    returnFromFunction(warp, lanes);
    current = Group{};
    return;
  }
  current.pc = pc;
  place(std::move(current));
  current = Group{};
}

void Warp::State::awaitRegisters(LaneMask lanes, const std::byte* frame, const program::CompiledFunction& function, uint32_t pc) {
  Cluster& cluster = warp.cta.cluster;
  const uint32_t first = pc == 0 ? 0 : function.registerUseEnd[pc - 1];
  for (uint32_t i = first; i < function.registerUseEnd[pc]; ++i) {
    const auto found = warp.busyRegisters.find(frame + function.registerUses[i]);
    if (found == warp.busyRegisters.end()) continue;
    if (found->second.readable && function.registerRoles[i] != program::RegisterRole::Destination) continue;
    const BusyRegister busy = found->second;
    cluster.counters.use(busy.question);
    if (cluster.options.semantics[busy.question] == 0) cluster.queue.force(busy.operation);
    if (cluster.observer) cluster.observer->usedUnwaited(warp, lanes, busy.operation);
    std::erase_if(warp.busyRegisters, [=](const auto& entry) { return entry.second.operation == busy.operation; });
  }
}

/// Splits the running group according to the requests of the instruction at current.pc.
void Warp::State::commit() {
  if (waiting != 0) {
    threadRepeated += countLanes(waiting);
    if (waiting == executing) ++repeated;
    waiting = 0;
  }
  const LaneMask rest = current.lanes & ~(taken | departed);
  if (taken != 0) place(current.activation, takenTarget, taken);
  if (rest != 0) place(current.activation, current.pc + 1, rest);
  current = Group{};
}

/// The running group has met an .aligned instruction without all of its warp-mates.
void Warp::State::parkAligned() {
  const Activation* const activation = current.activation;
  const uint32_t pc = current.pc;
  taken = departed = 0;
  park(executing, Group::Status::Aligned);
  commit();
  LaneMask together = 0;
  for (const Group& group : groups)
    if (group.status == Group::Status::Aligned && group.activation == activation && group.pc == pc) together |= group.lanes;
  if (together == alive())
    for (Group& group : groups) group.status = Group::Status::Ready;
}

std::string Warp::State::describe(const Group& group) const {
  const auto& code = group.activation->function->code;
  const ptx::Instruction* instruction = group.pc < code.size() ? code[group.pc].source : nullptr;
  std::string what;
  switch (group.status) {
    case Group::Status::Ready:
      what = "can run";
      break;
    case Group::Status::Sleeping:
      what = "wait for " + (group.reason.describe ? group.reason.describe() : group.reason.text);
      break;
    case Group::Status::Converging:
      what = "wait for the other lanes of their member mask";
      break;
    case Group::Status::Aligned:
      what = "wait for all other lanes of the warp (.aligned)";
      break;
    case Group::Status::WarpBarrier:
      what = "wait at a warp barrier of lanes " + describeLanes(group.members);
      break;
  }
  return fmt::format("lanes {} {}\n    at {}", describeLanes(group.lanes), what,
                     machine::describe(warp.cta.cluster.program.module, instruction));
}

}  // namespace shiftconv::emulator::machine
