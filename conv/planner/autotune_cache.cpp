#include "conv/planner/autotune_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace shiftconv::plan {
namespace {

constexpr std::string_view kFirstLine = "ShiftConv autotune cache 1";
constexpr size_t kFields = 8;  // behind the checksum: five of the key, three of the entry

std::string systemError() { return std::generic_category().message(errno); }

/// FNV-1a: notices damage, not malice.
uint64_t checksum(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

std::string oneField(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

AutotuneKey cleaned(const AutotuneKey& key) {
  return {oneField(key.problem), oneField(key.device), oneField(key.driver), oneField(key.version), oneField(key.asked)};
}

struct Line {
  AutotuneKey key;
  AutotuneEntry entry;
};

std::string write(const Line& line) {
  const std::string text =
      fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", line.key.problem, line.key.device, line.key.driver, line.key.version,
                  line.key.asked, oneField(line.entry.algorithm), oneField(line.entry.options), line.entry.microseconds);
  return fmt::format("{:016x}\t{}\n", checksum(text), text);
}

/// Why the line is not one of ours, or nothing.
std::string read(std::string_view text, Line& line) {
  const size_t end = text.find('\t');
  uint64_t expected = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + std::min(end, text.size()), expected, 16);
  if (end != 16 || error != std::errc() || stop != text.data() + end) return "it begins with no checksum";
  const std::string_view rest = text.substr(end + 1);
  if (checksum(rest) != expected) return "its checksum is wrong";
  std::array<std::string, kFields> fields;
  size_t at = 0;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t tab = rest.find('\t', at);
    if ((tab == std::string_view::npos) != (i + 1 == kFields)) return fmt::format("it has not {} fields", kFields);
    fields[i] = rest.substr(at, tab - at);
    at = tab + 1;
  }
  const std::string& time = fields[7];
  double& microseconds = line.entry.microseconds;
  const auto number = std::from_chars(time.data(), time.data() + time.size(), microseconds);
  if (number.ec != std::errc() || number.ptr != time.data() + time.size() || !std::isfinite(microseconds) || microseconds <= 0)
    return fmt::format("\"{}\" is no time", time);
  line.key = {fields[0], fields[1], fields[2], fields[3], fields[4]};
  line.entry.algorithm = fields[5], line.entry.options = fields[6];
  return {};
}

struct Contents {
  bool foreign = false;
  std::vector<Line> lines;
};

/// An absent file is an empty one.
Contents readFile(const std::string& path, std::vector<std::string>& notes) {
  Contents found;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (!std::getline(file, text)) return found;
  if (text != kFirstLine) {
    found.foreign = true;
    notes.push_back(fmt::format("{} is ignored, and will not be written: its first line is not \"{}\"", path, kFirstLine));
    return found;
  }
  for (size_t number = 2; std::getline(file, text); ++number) {
    Line line;
    const std::string reason = read(text, line);
    if (reason.empty())
      found.lines.push_back(std::move(line));
    else
      notes.push_back(fmt::format("line {} of {} is ignored: {}", number, path, reason));
  }
  return found;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

Status failed(std::string_view what, const std::string& path) {
  return {StatusCode::InvalidArgument, fmt::format("cannot {} {}: {}", what, path, systemError())};
}

Status writeAll(const std::string& path, std::string_view text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) return failed("create", path);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write", path);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(file.get()) == 0 ? Status() : failed("write", path);
}

}  // namespace

std::optional<AutotuneEntry> AutotuneCache::find(const AutotuneKey& key, std::vector<std::string>& notes) const {
  const AutotuneKey wanted = cleaned(key);
  for (const Line& line : readFile(path_, notes).lines)
    if (line.key == wanted) return line.entry;
  return {};
}

Status AutotuneCache::remember(const AutotuneKey& key, const AutotuneEntry& entry) const {
  const std::string lockPath = path_ + ".lock";
  const Descriptor lock(open(lockPath.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.get() < 0) return failed("create", lockPath);
  while (flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) return failed("lock", lockPath);

  std::vector<std::string> ignored;  // damaged lines go with the rewriting; whoever looked something up has been told
  const Contents contents = readFile(path_, ignored);
  if (contents.foreign) return {StatusCode::InvalidArgument, ignored.front()};
  const AutotuneKey wanted = cleaned(key);
  std::string text = std::string(kFirstLine) + "\n";
  for (const Line& line : contents.lines)
    if (!(line.key == wanted)) text += write(line);
  text += write({wanted, entry});

  static std::atomic<unsigned> count = 0;
  const std::string temporary = fmt::format("{}.{}.{}", path_, getpid(), ++count);
  Status status = writeAll(temporary, text);
  if (status.ok() && std::rename(temporary.c_str(), path_.c_str()) != 0) status = failed("replace", path_);
  if (!status.ok()) std::remove(temporary.c_str());
  return status;
}

}  // namespace shiftconv::plan
