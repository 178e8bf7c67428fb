// What measurements chose, in a file that processes share.
//
// A text: a first line that says so, then a line for each choice, fields separated by tabs and the checksum of the rest in front. A
// line that is damaged is left out, with a note; a file that begins otherwise belongs to somebody else and is never written.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/device/status.hpp"

namespace shiftconv::plan {

/// What a choice is good for. Tabs and line ends in these texts count as blanks.
struct AutotuneKey {
  std::string problem;  ///< describe()
  std::string device;   ///< name, compute capability, multiprocessors
  std::string driver;   ///< Device::driverVersion
  std::string version;  ///< of ShiftConv
  std::string asked;    ///< algorithm and options that the caller set
  bool operator==(const AutotuneKey&) const = default;
};

struct AutotuneEntry {
  std::string algorithm, options;
  double microseconds = 0;
};

/// Every call opens the file anew, and may be made by several threads and processes at once. The path must lead to a regular file
/// as cache_file.hpp has it, or to none in a folder that exists; with anything else every call fails, and touches nothing.
class AutotuneCache {
 public:
  /// How long remember() waits for other writers: far longer than they need, unless one of them is stuck.
  static constexpr std::chrono::milliseconds kPatience{10'000};

  explicit AutotuneCache(std::string path, std::chrono::milliseconds patience = kPatience)
      : path_(std::move(path)), patience_(patience) {}

  const std::string& path() const { return path_; }
  /// No entry when the file has none, or there is no file. Appends sentences to `notes` about lines that it ignored.
  Status find(const AutotuneKey& key, std::optional<AutotuneEntry>& entry, std::vector<std::string>& notes) const;
  /// Puts the entry in the place of one with the same key, and keeps all others. Readers see the old file or the new one; writers
  /// wait for each other through a file beside it, whose name ends in ".lock".
  Status remember(const AutotuneKey& key, const AutotuneEntry& entry) const;

 private:
  std::string path_;
  std::chrono::milliseconds patience_;
};

}  // namespace shiftconv::plan
