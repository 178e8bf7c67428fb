#include "common/emulator/program/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::program {
namespace {

constexpr uint32_t bits(std::initializer_list<Feature> features) {
  uint32_t all = 0;
  for (Feature feature : features) all |= static_cast<uint32_t>(feature);
  return all;
}

constexpr uint32_t kKib = 1024;
constexpr uint64_t kGib = uint64_t{1} << 30;

// Limits: CUDA C++ Programming Guide 13.0, tables of compute capabilities; counts and sizes of memories as the driver reports
// them for the named card (those of H200 observed there).
constexpr DeviceLimits kH200{"H200", 132, 228 * kKib, 227 * kKib, 2048, 32, 65536, 1024, 16, 62'914'560, 139 * kGib};
constexpr DeviceLimits kB200{"B200", 148, 228 * kKib, 227 * kKib, 2048, 32, 65536, 1024, 16, 132'644'864, 179 * kGib};
/// What a program for an older GPU gets of it: everything but clusters.
constexpr DeviceLimits kB200WithoutClusters{"B200", 148, 228 * kKib, 227 * kKib, 2048, 32, 65536, 1024, 1, 132'644'864, 179 * kGib};
constexpr DeviceLimits kB300{"B300", 148, 228 * kKib, 227 * kKib, 2048, 32, 65536, 1024, 16, 132'644'864, 268 * kGib};
constexpr DeviceLimits kThor{"Thor", 20, 228 * kKib, 227 * kKib, 1536, 24, 65536, 1024, 16, 33'554'432, 122 * kGib};

using F = Feature;
constexpr uint32_t kHopper = bits({F::Hopper});
constexpr uint32_t kBase = kHopper | bits({F::Blackwell});
constexpr uint32_t kFamily = kBase | bits({F::RegisterAllocation, F::BlackwellFamily, F::TensorMemory});
constexpr uint32_t kFamily100 = kFamily | bits({F::ScaledInput});

// PTX for an older GPU runs on newer ones, too. Which target has what: as ptxas of CUDA 13.0 takes it, and by the target notes of
// PTX ISA 9.0.
constexpr std::array<Target, 16> kTargets{{
    {"sm_75", 7, 5, 0, &kB200WithoutClusters},
    {"sm_80", 8, 0, 0, &kB200WithoutClusters},
    {"sm_86", 8, 6, 0, &kB200WithoutClusters},
    {"sm_87", 8, 7, 0, &kB200WithoutClusters},
    {"sm_89", 8, 9, 0, &kB200WithoutClusters},
    {"sm_90", 9, 0, kHopper, &kH200},
    {"sm_90a", 9, 0, kHopper | bits({F::RegisterAllocation, F::Wgmma}), &kH200},
    {"sm_100", 10, 0, kBase, &kB200},
    {"sm_100f", 10, 0, kFamily100 | bits({F::FloatReduction}), &kB200},
    {"sm_100a", 10, 0, kFamily100 | bits({F::TensorShift, F::IntegerTensor, F::FloatReduction, F::StochasticRounding}), &kB200},
    {"sm_103", 10, 3, kBase, &kB300},
    {"sm_103f", 10, 3, kFamily100 | bits({F::FloatReduction}), &kB300},
    {"sm_103a", 10, 3, kFamily100 | bits({F::TensorShift, F::FloatReduction, F::StochasticRounding}), &kB300},
    {"sm_110", 11, 0, kBase, &kThor},
    {"sm_110f", 11, 0, kFamily, &kThor},
    {"sm_110a", 11, 0, kFamily | bits({F::TensorShift, F::IntegerTensor}), &kThor},
}};

std::string knownNames() {
  std::string text;
  for (const Target& target : kTargets) text += fmt::format("{}{}", text.empty() ? "" : ", ", target.name);
  return text;
}

}  // namespace

const std::vector<FeatureRule>& featureRules() {
  constexpr std::string_view kSince90 = "from sm_90 on";
  constexpr std::string_view kOn90a = "on sm_90a only";
  constexpr std::string_view kSince100 = "from sm_100 on";
  constexpr std::string_view kFamilies = "on sm_100a, sm_103a, sm_110a and their family targets only";
  constexpr std::string_view kSpecific = "on sm_90a and on the a and f targets from sm_100 on only";
  constexpr std::string_view kShifting = "on sm_100a, sm_103a and sm_110a only";
  static const std::vector<FeatureRule> all = {
      {"wgmma", {}, F::Wgmma, kOn90a},
      {"tcgen05", {}, F::TensorMemory, kFamilies},
      {"tcgen05", {"shift"}, F::TensorShift, kShifting},
      {"tcgen05", {"scale_vec::1X"}, F::TensorShift, kShifting},
      {"tcgen05", {"scale_vec::2X"}, F::TensorShift, kShifting},
      {"tcgen05", {"scale_vec::4X"}, F::TensorShift, kShifting},
      {"tcgen05", {"kind::i8"}, F::IntegerTensor, "on sm_100a and sm_110a only"},
      {"cp", {"bulk"}, F::Hopper, kSince90},
      {"cp", {"async", "bulk", "tensor", "cta_group::1"}, F::BlackwellFamily, kFamilies},
      {"cp", {"async", "bulk", "tensor", "cta_group::2"}, F::BlackwellFamily, kFamilies},
      {"cp", {"tile::scatter4"}, F::BlackwellFamily, kFamilies},
      {"cp", {"tile::gather4"}, F::Blackwell, kSince100},
      {"cp", {"tile::gather4", "shared::cluster"}, F::BlackwellFamily, kFamilies},
      {"cp", {"cp_mask"}, F::Blackwell, kSince100},
      {"tensormap", {}, F::Hopper, kSince90},
      {"tensormap", {"replace"}, F::RegisterAllocation, kSpecific},
      {"tensormap", {"swizzle_atomicity"}, F::BlackwellFamily, kFamilies},
      {"setmaxnreg", {}, F::RegisterAllocation, kSpecific},
      {"clusterlaunchcontrol", {}, F::Blackwell, kSince100},
      {"clusterlaunchcontrol", {"multicast::cluster::all"}, F::BlackwellFamily, kFamilies},
      {"ldmatrix", {"b8"}, F::BlackwellFamily, kFamilies},
      {"ldmatrix", {"b8x16"}, F::BlackwellFamily, kFamilies},
      {"stmatrix", {}, F::Hopper, kSince90},
      {"stmatrix", {"b8"}, F::BlackwellFamily, kFamilies},
      {"redux", {"f32"}, F::FloatReduction, "on sm_100a, sm_103a and their family targets only"},
      {"cvt", {"rs"}, F::StochasticRounding, "on sm_100a and sm_103a only"},
      {"cvt", {"e2m1x2"}, F::BlackwellFamily, kFamilies},
      {"cvt", {"e2m3x2"}, F::BlackwellFamily, kFamilies},
      {"cvt", {"e3m2x2"}, F::BlackwellFamily, kFamilies},
      {"cvt", {"ue8m0x2"}, F::BlackwellFamily, kFamilies},
      {"add", {"f32x2"}, F::Blackwell, kSince100},
      {"sub", {"f32x2"}, F::Blackwell, kSince100},
      {"mul", {"f32x2"}, F::Blackwell, kSince100},
      {"fma", {"f32x2"}, F::Blackwell, kSince100},
      {"ld", {"v8"}, F::Blackwell, kSince100},
      {"st", {"v8"}, F::Blackwell, kSince100},
      {"mapa", {}, F::Hopper, kSince90},
      {"getctarank", {}, F::Hopper, kSince90},
      {"barrier", {"cluster"}, F::Hopper, kSince90},
      {"elect", {}, F::Hopper, kSince90},
      {"griddepcontrol", {}, F::Hopper, kSince90},
      {"st", {"async"}, F::Hopper, kSince90},
      {"red", {"async"}, F::Hopper, kSince90},
      {"mbarrier", {"try_wait"}, F::Hopper, kSince90},
      {"mbarrier", {"expect_tx"}, F::Hopper, kSince90},
      {"fence", {"proxy"}, F::Hopper, kSince90},
      {"fence", {"proxy", "async"}, F::Hopper, kSince90},
      {"fence", {"mbarrier_init"}, F::Hopper, kSince90},
  };
  return all;
}

std::string FeatureRule::form() const {
  std::string text(opcode);
  for (std::string_view modifier : modifiers)
    text += fmt::format("{}.{}", modifier == modifiers.front() ? " with " : " and ", modifier);
  return text;
}

std::span<const Target> targets() { return kTargets; }

std::span<const std::string_view> deviceNames() {
  static constexpr std::array<std::string_view, 4> kNames{"sm_100a", "sm_103a", "sm_110a", "sm_90a"};
  return kNames;
}

bool runsOn(const Target& target, const Target& device) {
  if (target.name == device.name) return true;
  if (target.name.ends_with('a')) return false;
  if (target.name.ends_with('f')) return target.computeMajor == device.computeMajor && target.computeMinor <= device.computeMinor;
  return std::tie(target.computeMajor, target.computeMinor) <= std::tie(device.computeMajor, device.computeMinor);
}

const Target* findTarget(std::string_view name) {
  const auto found = std::find_if(kTargets.begin(), kTargets.end(), [&](const Target& target) { return target.name == name; });
  return found == kTargets.end() ? nullptr : &*found;
}

const Target& targetOf(const ptx::Module& module) {
  const std::string_view line = module.target;
  const std::string_view name = line.substr(0, line.find_first_of(", \t"));
  if (const Target* target = findTarget(name)) return *target;
  throw EmulatorError(ErrorKind::Unsupported,
                      fmt::format("{}: the module is made for target '{}', which this machine is not; it can be {}", module.name,
                                  name, knownNames()));
}

std::string missingOn(const Target& target, const ptx::Instruction& instruction) {
  const auto present = [&](std::string_view modifier) {
    return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) != instruction.modifiers.end();
  };
  for (const FeatureRule& rule : featureRules())
    if (rule.opcode == instruction.opcode && !target.has(rule.feature) &&
        std::all_of(rule.modifiers.begin(), rule.modifiers.end(), present))
      return fmt::format("{} does not exist on {}: it exists {}.", rule.form(), target.name, rule.exists);
  return {};
}

}  // namespace shiftconv::emulator::program
