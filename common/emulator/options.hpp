// What a user of the emulator can choose.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/hazard_report.hpp"
#include "common/emulator/stream_order.hpp"

namespace shiftconv::emulator {

/// When asynchronous operations complete. Every policy only produces orders that the PTX ISA allows.
enum class SchedulePolicy : uint8_t {
  Earliest,  ///< at issue
  Latest,    ///< only when every warp waits; the youngest eligible operation first
  Random,    ///< seeded: any eligible operation at any instruction boundary
  Fair,      ///< at issue, and warps take turns instruction by instruction, so that none runs ahead of what waits for it
};

enum class Numerics : uint8_t {
  Hardware,  ///< bit-level model of the tensor core (aligned truncated sum, 25 fraction bits)
  Fast,      ///< f32 FMA chains, vectorised
};

/// Identifiers of tcgen05 behaviours that no public document or observation settles completely.
/// The numbers are this project's own (docs/verification/unproven-behaviour.md). For each, alternative 0 is the default.
enum class Unproven : uint8_t {
  U1,
  U2,
  U3,
  U4,
  U5,
  U6,
  U7,
  U8,
  U9,
  U10,
  U11,
  U12,
  U13,
  U14,
  U15,
  U16,
  U17,
  U18,
  U19,
  U20,
  U21,
  U22,
  U23,
  U24,
  U25,
  U26,
  U27,
  U28,
  U29,
  U30,
  U31,
  U32,
  U33,
  U34,
  U35,
  U36,
  Count,
};

struct UnprovenQuestion {
  Unproven id;
  std::string_view name;  ///< "U3"
  std::string_view question;
  std::vector<std::string_view> alternatives;  ///< [0] is the default
  std::string_view settledBy{};  ///< public evidence for the default; the alternatives remain as switches. Empty: still open

  /// The alternative with this number or text; nothing: there is none.
  std::optional<uint8_t> find(std::string_view alternative) const;
};
/// Every question, in order of id.
const std::vector<UnprovenQuestion>& unprovenQuestions();

/// The chosen alternative of every question.
class Semantics {
 public:
  uint8_t operator[](Unproven id) const { return choice_[static_cast<size_t>(id)]; }
  void choose(Unproven id, uint8_t alternative) { choice_[static_cast<size_t>(id)] = alternative; }

 private:
  std::array<uint8_t, static_cast<size_t>(Unproven::Count)> choice_{};
};

struct Options {
  SchedulePolicy policy = SchedulePolicy::Earliest;
  uint64_t seed = 1;
  Numerics numerics = Numerics::Hardware;
  Semantics semantics;
  HazardMode hazards = HazardMode::Off;
  SeveritySet severities;              ///< of the hazards that are reported
  std::vector<std::string> warpRoles;  ///< `warpRoles[i]` names warp i of a CTA in hazard reports; may be short or empty
  unsigned hostThreads = 0;            ///< 0: one per host core
  uint64_t instructionLimit = 0;       ///< warp instructions per launch; 0: none
  uint32_t multiprocessors = 0;        ///< of the device; 0: as many as the program's target has
  /// Run only these clusters of the grid, by their index, x fastest; empty: all. For kernels whose clusters do not wait for others.
  std::vector<uint64_t> clusters;
  std::function<void(std::string_view)>
      print;  ///< takes what kernels print, from any host thread, whole lines or not; empty: stdout
  /// The place of the launch among the work of all streams, for the hazard checker; nothing: after all that has finished.
  std::optional<hazards::StreamPlace> place;
};

}  // namespace shiftconv::emulator
