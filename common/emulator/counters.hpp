// What one launch did, in numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/emulator/options.hpp"

namespace shiftconv::emulator {

/// Who moves bytes.
enum class Engine : uint8_t { Threads, BulkCopy, TensorCore, TensorCopy, TensorLoadStore, Count };
/// Between what.
enum class Traffic : uint8_t { GlobalRead, GlobalWrite, SharedRead, SharedWrite, TmemRead, TmemWrite, Count };

const char* toString(Engine engine);
const char* toString(Traffic traffic);

/// Plain sums, so that per-cluster counters can be added up.
struct Counters {
  std::map<std::string, uint64_t> mma;         ///< "kind::f16 m128n64k16 a:tmem ashift" -> count
  std::map<std::string, uint64_t> operations;  ///< asynchronous operations by instruction name -> count
  std::array<std::array<uint64_t, static_cast<size_t>(Traffic::Count)>, static_cast<size_t>(Engine::Count)> bytes{};
  std::map<uint64_t, uint64_t> tensorReads;  ///< bytes that loads through tensor maps read, by the tensor's address
  std::vector<uint64_t> warpInstructions;    ///< by warp index in the CTA
  std::vector<uint64_t> threadInstructions;  ///< by warp index in the CTA: warp instructions times active lanes
  std::array<uint64_t, static_cast<size_t>(Unproven::Count)> unprovenUses{};
  /// Hazards that were reported, by severity; each pair of instructions once in a launch.
  std::array<uint64_t, static_cast<size_t>(HazardSeverity::Count)> hazards{};
  uint64_t ctas = 0;

  void addBytes(Engine engine, Traffic traffic, uint64_t count) {
    bytes[static_cast<size_t>(engine)][static_cast<size_t>(traffic)] += count;
  }
  void use(Unproven id) { ++unprovenUses[static_cast<size_t>(id)]; }
  Counters& operator+=(const Counters& other);
};

/// A printable table. `warpRoles[i]` names warp i of a CTA; missing names print as "warp i".
std::string formatCounters(const Counters& counters, const std::vector<std::string>& warpRoles = {});

}  // namespace shiftconv::emulator
