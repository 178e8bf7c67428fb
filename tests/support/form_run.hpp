// Modules and bodies of one warp, run on an emulator of their own, for tests of single instruction forms.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/emulator/emulator.hpp"

namespace shiftconv::tests {

using Lanes = std::array<uint64_t, 32>;

/// What a case works with. Every module it loads is searched for the form under test.
class FormRun {
 public:
  explicit FormRun(std::string_view form);
  ~FormRun();

  /// Runs `body` in one warp of 32 threads. Registers %a %b %c (.b64, from the arguments) and %d (.b64, returned)
  /// are declared, as are %a32.. %c32 (their low halves, .b32) and %d32 (.b32, zero-extended into the result when
  /// the body assigns it: end the body with "mov.b64 %d, {%d32, 0};" yourself). Declare more in the body.
  Lanes lanes(std::string_view body, const Lanes& a, const Lanes& b = {}, const Lanes& c = {});

  /// Runs a whole module (".version 9.0 / .target sm_100a / .address_size 64" is prepended when missing).
  emulator::LaunchReport module(std::string_view ptx, std::string_view kernel, const emulator::machine::LaunchConfig& config,
                                std::span<const void* const> arguments, const emulator::Options& options = {});
  /// A module that the case runs by other means.
  void see(std::string_view ptx);
  emulator::Emulator& emulator();
  /// Message of the EmulatorError that `action` must throw; fails the test when it does not throw.
  std::string error(const std::function<void()>& action);
  /// Deterministic random bits, seeded by the form's name (the seed is printed on failure).
  uint64_t random();
  Lanes randomLanes();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace shiftconv::tests
