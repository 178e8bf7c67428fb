// A file of observations. Appended to case by case, so that an interrupted run can be resumed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/hardware_recordings/case.hpp"

namespace shiftconv::recordings {

using ContentHash = std::array<uint64_t, 2>;
ContentHash contentHash(const std::vector<std::byte>& bytes);

/// What is kept of one observation. Full recordings hold every byte; compact ones hold a prefix, a 128-bit hash of
/// everything, and a 16-bit hash of each block, which tells where a difference lies.
struct Record {
  std::string name;
  uint64_t caseHash = 0;  ///< of the module and its inputs: an observation of another case is worth nothing
  Outcome outcome = Outcome::Ok;
  std::string text;
  uint64_t totalBytes = 0;
  ContentHash hash{};
  std::vector<std::byte> prefix;
  std::vector<uint16_t> blocks;
};

inline constexpr size_t kBlockBytes = 256;

uint64_t hashOf(const Case& made);
Record fullRecord(const std::string& name, const Case& made, const Observation& seen);
/// Keeps `prefixBytes` of the bytes.
Record compacted(const Record& full, size_t prefixBytes);

struct Recording {
  std::string header;  ///< JSON: date, device, driver, seed
  std::vector<Record> records;
  std::map<std::string, size_t> index;
};

/// Nothing when the file does not exist; throws std::runtime_error when it is no recording. A truncated last record
/// (of an interrupted run) is dropped.
std::optional<Recording> readRecording(const std::string& path);
/// Starts a file with this header.
void startRecording(const std::string& path, const std::string& header);
void appendRecord(const std::string& path, const Record& record);

}  // namespace shiftconv::recordings
