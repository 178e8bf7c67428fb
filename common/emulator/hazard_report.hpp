// What the hazard checker tells its user.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shiftconv::emulator {

/// What is done with hazards; see hazards/checker.hpp for what counts as one.
enum class HazardMode : uint8_t {
  Off,    ///< not looked for
  Warn,   ///< collected in LaunchReport::hazards
  Error,  ///< the first one ends the launch with ErrorKind::Hazard
};

/// What a hazard can do.
enum class HazardSeverity : uint8_t {
  Race,      ///< a wrong result is possible
  Formal,    ///< the PTX ISA asks for what is missing; no known target needs it, and shipped programs do without
  Unproven,  ///< right as long as the answer to an open question is the default one (Hazard::question)
  Count,
};
inline constexpr std::array<HazardSeverity, 3> kHazardSeverities{HazardSeverity::Race, HazardSeverity::Formal,
                                                                 HazardSeverity::Unproven};
const char* toString(HazardSeverity severity);

/// All of them to begin with.
class SeveritySet {
 public:
  bool contains(HazardSeverity severity) const { return bits_ >> static_cast<unsigned>(severity) & 1; }
  /// "race,formal"; false, and nothing has changed, when the text names something else.
  bool parse(std::string_view text);

 private:
  uint8_t bits_ = 7;
};

enum class HazardKind : uint8_t {
  Race,             ///< two accesses, one a write, that nothing orders
  ProxyFence,       ///< ordered, but a write through the generic proxy was not published to the asynchronous proxy
  TensorFence,      ///< ordered, but without the tcgen05.fence or tcgen05.wait that makes it count for Tensor Memory
  PendingRegister,  ///< a register of a tcgen05.ld was used before tcgen05.wait::ld
  TensorWait,       ///< tcgen05.ld and .st of one warp are ordered by nothing but their issue
  ReliesOn,         ///< right only if an open question is answered as by default
  BarrierLifetime,  ///< an mbarrier was used without its initialisation being visible
  Lapped,           ///< the phase that a thread waits for had passed, and others after it, before it looked
  RegisterCount,    ///< warps of one warpgroup ask for different numbers of registers
  TensorMapFence,   ///< a tensor map was changed on the device and used without the fences of the tensormap proxy
  Outlives,         ///< an operation or a peer\'s access may come after the CTA whose memory it uses has exited
  WarpgroupFence,   ///< a register was touched and then used by wgmma.mma_async, or the other way round, without wgmma.fence
  AddressSpace,     ///< an operand of .shared holds a generic address
  BrokenRule,       ///< an instruction that the PTX ISA does not allow in the state that it meets
  UndefinedData,    ///< never-written bytes, or rows left stale by a shift, reach a result
  Count,
};

const char* toString(HazardKind kind);

/// One side of a hazard.
struct HazardAccess {
  std::string what;    ///< "write of shared memory bytes 0x400..0x403 of CTA rank 0"
  std::string kernel;  ///< entry name
  std::string thread;  ///< "CTA (0,0,0) rank 0, warp 2 (epilogue), lane 5", or the issuer of an asynchronous operation
  std::string where;   ///< "PTX line 120 (file.cu:45): st.shared.b32 [%r1], %r2;"
  uint32_t ptxLine = 0;
  uint32_t sourceLine = 0;  ///< 0: unknown
};

struct Hazard {
  HazardKind kind = HazardKind::Race;
  HazardSeverity severity = HazardSeverity::Race;
  HazardAccess first;      ///< the earlier access; empty `what` when there is only one
  HazardAccess second;     ///< the access at which the hazard was seen
  std::string missing;     ///< the ordering that is missing, in words
  uint64_t count = 1;      ///< how often it was seen between these two instructions
  std::string question{};  ///< "U6", when the order rests on the default answer to it
};

/// Everything about the hazard, on several lines.
std::string describe(const Hazard& hazard);

/// Hazards that have one cause: of one kind and severity, at one source line of a kernel, for want of the same order.
struct HazardGroup {
  Hazard hazard;     ///< the first of them; `count` of all
  size_t pairs = 1;  ///< of instructions
  std::string key;   ///< the same for the same cause, in other launches, too
};
/// The worst first: by severity, and otherwise in the order in which they were seen.
std::vector<HazardGroup> groupHazards(const std::vector<Hazard>& hazards);
std::string describe(const HazardGroup& group);
/// "2 different hazards (1 race, 1 formal)"; counts by severity.
std::string summariseHazards(const std::array<uint64_t, static_cast<size_t>(HazardSeverity::Count)>& counts);

}  // namespace shiftconv::emulator
