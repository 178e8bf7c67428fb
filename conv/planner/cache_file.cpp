#include "conv/planner/cache_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

namespace shiftconv::plan {
namespace {

constexpr int kMostLinks = 40;         // as the kernel follows
constexpr int kMostTemporaries = 100;  // names that a crashed process may have left
constexpr std::chrono::milliseconds kPause{5};
// Opening must not wait for the other end of a FIFO, and must not make a terminal ours.
constexpr int kCarefully = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

std::string systemError(int error) { return std::generic_category().message(error); }

Status failed(std::string_view what, const std::string& path, int error = errno) {
  return {StatusCode::InvalidArgument, fmt::format("cannot {} {}: {}", what, path, systemError(error))};
}

Status notRegular(const std::string& path, mode_t mode) {
  const char* kind = S_ISDIR(mode)                    ? "a directory"
                     : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                     : S_ISFIFO(mode)                 ? "a FIFO"
                     : S_ISSOCK(mode)                 ? "a socket"
                                                      : "something else";
  return {StatusCode::InvalidArgument, fmt::format("{} is {}, not a regular file", path, kind)};
}

class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void take(int number) { number_ = number; }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// Nothing is open when the file does not exist; `flags` may have it made.
Status openRegular(const std::string& path, int flags, Descriptor& file, struct stat& found) {
  // Opening alone can do something: rewind a tape, start a watchdog, wake a writer. What was opened counts, though.
  if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return notRegular(path, found.st_mode);
  file.take(open(path.c_str(), flags | kCarefully, 0666));
  if (file.get() < 0) return errno == ENOENT && (flags & O_CREAT) == 0 ? Status() : failed("open", path);
  if (fstat(file.get(), &found) != 0) return failed("look at", path);
  return S_ISREG(found.st_mode) ? Status() : notRegular(path, found.st_mode);
}

Status tooLarge(const std::string& path, size_t bytes) {
  return {StatusCode::InvalidArgument, fmt::format("{} has {} bytes; a cache has at most {}", path, bytes, CacheFile::kLargest)};
}

Status writeAll(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write", path);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(file) == 0 ? Status() : failed("write", path);
}

}  // namespace

Status CacheFile::resolve(const std::string& path, CacheFile& file) {
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::array<char, PATH_MAX> target;
    const ssize_t length = readlink(at.c_str(), target.data(), target.size());
    if (length < 0) {  // no link, or nothing there: opening it tells
      file.path_ = at;
      return {};
    }
    const std::filesystem::path next(std::string(target.data(), static_cast<size_t>(length)));
    at = (std::filesystem::path(at).parent_path() / next).string();  // an absolute one stands alone
  }
  return failed("follow the links of", path, ELOOP);
}

Status CacheFile::read(std::optional<std::string>& text) const {
  text.reset();
  Descriptor file;
  struct stat found = {};
  if (Status status = openRegular(path_, O_RDONLY, file, found); !status.ok() || file.get() < 0) return status;
  if (static_cast<uint64_t>(found.st_size) > kLargest) return tooLarge(path_, static_cast<size_t>(found.st_size));
  std::string all;
  std::array<char, 1 << 16> part;
  for (;;) {
    const ssize_t length = ::read(file.get(), part.data(), part.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return failed("read", path_);
    if (length == 0) break;
    all.append(part.data(), static_cast<size_t>(length));
    if (all.size() > kLargest) return tooLarge(path_, all.size());  // it grows, or its size was no promise, as in /proc
  }
  text = std::move(all);
  return {};
}

Status CacheFile::replace(std::string_view text) const {
  if (text.size() > kLargest) return tooLarge(path_, text.size());
  Descriptor temporary;
  std::string name;
  static std::atomic<unsigned> count = 0;
  for (int attempt = 0; temporary.get() < 0; ++attempt) {
    name = fmt::format("{}.{}.{}", path_, getpid(), ++count);
    temporary.take(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (temporary.get() < 0 && (errno != EEXIST || attempt == kMostTemporaries)) return failed("create", name);
  }
  Status status = writeAll(temporary.get(), text, name);
  // Last of all, what is about to go: a file that may be written, or nothing.
  Descriptor old;
  struct stat found = {};
  if (status.ok()) status = openRegular(path_, O_WRONLY, old, found);
  if (status.ok() && old.get() >= 0 && fchmod(temporary.get(), found.st_mode & 07777) != 0)
    status = failed("set permissions of", name);
  if (status.ok() && std::rename(name.c_str(), path_.c_str()) != 0) status = failed("replace", path_);
  if (!status.ok()) unlink(name.c_str());
  return status;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status FileLock::take(const std::string& path, std::chrono::milliseconds patience) {
  Descriptor file;
  struct stat found = {};
  if (Status status = openRegular(path, O_RDWR | O_CREAT, file, found); !status.ok()) return status;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failed("lock", path);
    if (std::chrono::steady_clock::now() >= end)
      return {StatusCode::DeviceError, fmt::format("another process has held {} for {} ms", path, patience.count())};
    std::this_thread::sleep_for(kPause);
  }
  descriptor_ = file.release();
  return {};
}

}  // namespace shiftconv::plan
