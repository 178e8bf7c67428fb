// What measurements chose, in a file that processes share.
//
// A text: a first line that says so, then a line for each choice, fields separated by tabs and the checksum of the rest in front. A
// line that is damaged is left out, with a note; a file that begins otherwise belongs to somebody else and is never written.
#pragma once

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

/// Every call opens the file anew, and may be made by several threads and processes at once.
class AutotuneCache {
 public:
  explicit AutotuneCache(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Nothing when the file has none, or there is no file. Appends a sentence to `notes` for whatever was ignored.
  std::optional<AutotuneEntry> find(const AutotuneKey& key, std::vector<std::string>& notes) const;
  /// Puts the entry in the place of one with the same key, and keeps all others. Writes a file beside and renames it, so that
  /// readers see the old file or the new one; writers wait for each other through `path`.lock.
  Status remember(const AutotuneKey& key, const AutotuneEntry& entry) const;

 private:
  std::string path_;
};

}  // namespace shiftconv::plan
