// The GPUs that a module can be made for: what each of them has, and how much of it. One row per `.target`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::program {

/// Groups of instructions that some targets have and others lack.
enum class Feature : uint32_t {
  Hopper = 1u << 0,               ///< what came with sm_90: clusters, bulk copies, mbarrier transactions
  RegisterAllocation = 1u << 1,   ///< setmaxnreg, tensormap.replace
  Wgmma = 1u << 2,                ///< wgmma
  Blackwell = 1u << 3,            ///< what came with sm_100 for all of its targets
  BlackwellFamily = 1u << 4,      ///< what the architecture- and family-specific ones add: pair signals, scatter, 8-bit matrices
  TensorMemory = 1u << 5,         ///< tcgen05
  TensorShift = 1u << 6,          ///< tcgen05.shift, and scale_vec:: spellings
  IntegerTensor = 1u << 7,        ///< kind::i8 of tcgen05.mma
  ScaledInput = 1u << 8,          ///< scale-input-d of tcgen05.mma
  FloatReduction = 1u << 9,       ///< redux.sync of f32
  StochasticRounding = 1u << 10,  ///< cvt.rs
};

/// Limits of the device that a target stands for.
struct DeviceLimits {
  std::string_view name;                      ///< "B200"
  uint32_t multiprocessors = 0;               ///< %nsmid
  uint32_t sharedBytesPerMultiprocessor = 0;  ///< what is reserved for each CTA included
  uint32_t sharedBytesPerCta = 0;             ///< static and dynamic
  uint32_t threadsPerMultiprocessor = 0;
  uint32_t ctasPerMultiprocessor = 0;
  uint32_t registersPerMultiprocessor = 0;
  uint32_t threadsPerCta = 0;
  uint32_t ctasPerCluster = 0;  ///< not portable; 8 everywhere
  uint64_t l2Bytes = 0;
  uint64_t globalBytes = 0;
};

struct Target {
  std::string_view name;  ///< "sm_100a"
  uint32_t computeMajor = 0, computeMinor = 0;
  uint32_t features = 0;  ///< of Feature
  const DeviceLimits* device = nullptr;

  bool has(Feature feature) const { return (features & static_cast<uint32_t>(feature)) != 0; }
};

std::span<const Target> targets();
/// Names of the targets that a whole device can be, the usual one first: the architecture-specific ones, which have everything.
std::span<const std::string_view> deviceNames();
/// Whether PTX for `target` runs on the device: on later ones, too; with features of a family (suffix f) on later ones of the
/// family, with features of one architecture (suffix a) on that one only (PTX ISA 9.0, 11.1.2).
bool runsOn(const Target& target, const Target& device);
/// nullptr when there is none of that name.
const Target* findTarget(std::string_view name);
/// The row of a module's `.target` line, whose first item is the name. Throws EmulatorError Unsupported, naming what is known.
const Target& targetOf(const ptx::Module& module);

/// An instruction with all of these modifiers needs the feature.
struct FeatureRule {
  std::string_view opcode;
  std::vector<std::string_view> modifiers;
  Feature feature;
  std::string_view exists;  ///< where: completes "exists ..."

  /// "tcgen05 with .shift"
  std::string form() const;
};
const std::vector<FeatureRule>& featureRules();

/// Empty, or a sentence that says why the target lacks the instruction.
std::string missingOn(const Target& target, const ptx::Instruction& instruction);

}  // namespace shiftconv::emulator::program
