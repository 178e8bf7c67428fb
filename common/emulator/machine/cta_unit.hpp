// What the engines behind a CTA keep for it. The machine makes room for them and knows nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace shiftconv::emulator::machine {

class Warp;

class CtaUnit {
 public:
  virtual ~CtaUnit() = default;
  /// Threads of a warp of the CTA release what they did: at a barrier or mbarrier, by a fence, or by an access with .release.
  virtual void released(const Warp&) {}
  /// The last thread of the CTA has exited. Throws EmulatorError when something is left that must not be.
  virtual void checkExit() const {}
};

/// Where a CTA keeps the unit of each engine.
enum class UnitPlace : uint8_t { BulkGroups, TensorMemory, Warpgroups, Count };
inline constexpr size_t kUnitPlaces = static_cast<size_t>(UnitPlace::Count);

/// The CTA's own Unit, made from the CTA when it is first asked for. `Unit::kPlace` is its place.
template <class Unit, class Cta>
Unit& unitOf(Cta& cta) {
  std::unique_ptr<CtaUnit>& unit = cta.units[static_cast<size_t>(Unit::kPlace)];
  if (unit == nullptr) unit = std::make_unique<Unit>(cta);
  return static_cast<Unit&>(*unit);
}

}  // namespace shiftconv::emulator::machine
