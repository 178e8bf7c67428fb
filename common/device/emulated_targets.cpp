#include "common/device/emulated_targets.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace shiftconv::device {
namespace {

constexpr uint32_t kMultiprocessors = 16;
constexpr uint32_t kSharedBytes = 227 * 1024;  // opt-in maximum of both (CUDA C++ Programming Guide, table of compute capabilities)

constexpr std::array<std::string_view, 2> kTargets{"sm_100a", "sm_90a"};
struct Model {
  int computeMajor, computeMinor;
  uint64_t l2Bytes;  // as the driver reports it for B200 and H200
};
constexpr std::array<Model, kTargets.size()> kModels{{{10, 0, 132'644'864}, {9, 0, 62'914'560}}};

}  // namespace

std::span<const std::string_view> emulatedTargets() { return kTargets; }

Properties emulatedProperties(std::string_view target) {
  const auto place = std::find(kTargets.begin(), kTargets.end(), target);
  const Model& model = kModels.at(static_cast<size_t>(std::distance(kTargets.begin(), place)));
  const uint64_t hostBytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return {Kind::Emulated,     fmt::format("emulated {}", target),
          model.computeMajor, model.computeMinor,
          kMultiprocessors,   kSharedBytes,
          model.l2Bytes,      hostBytes};
}

}  // namespace shiftconv::device
