// A file that caches something and that anybody may have named: regular files are read and replaced, and nothing else is touched.
//
// Whatever a path leads to is opened without blocking and judged by its descriptor, so that a device node, a FIFO, a socket or a
// directory is refused and not waited for. Symbolic links are followed, also to files that do not exist yet: the link stays.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/device/status.hpp"

namespace shiftconv::plan {

class CacheFile {
 public:
  /// Larger files are neither read nor written. A choice takes about 300 bytes, so this holds some 50,000 of them.
  static constexpr size_t kLargest = size_t{16} << 20;

  /// Follows the links; fails when they go round in a circle.
  static Status resolve(const std::string& path, CacheFile& file);

  /// Where the links lead.
  const std::string& path() const { return path_; }
  /// Nothing when there is no file.
  Status read(std::optional<std::string>& text) const;
  /// Writes a file beside and renames it, so that readers see the old text or the new one. Keeps the permissions of a file that was
  /// there, and leaves nothing behind when it fails.
  Status replace(std::string_view text) const;

 private:
  std::string path_;
};

/// An exclusive lock of all processes, held on a file that stays. Released by the destructor.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Makes the file when it does not exist. Fails when somebody else holds the lock for longer than `patience`.
  Status take(const std::string& path, std::chrono::milliseconds patience);

 private:
  int descriptor_ = -1;
};

}  // namespace shiftconv::plan
