// The file of autotuned choices: what it holds, what of it is taken for damaged, and what it must never touch, wait for or replace.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "conv/planner/autotune_cache.hpp"
#include "conv/planner/cache_file.hpp"
#include "tests/temporary_folder.hpp"

namespace shiftconv::plan {
namespace {

using std::chrono::milliseconds;
using tests::fileContents;
using tests::TemporaryFolder;
using tests::writeFile;

const AutotuneKey kKey{"problem", "device", "driver", "version", "asked"};
const AutotuneEntry kEntry{"halo", "split=1", 12.5};
constexpr const char* kFirstLine = "ShiftConv autotune cache 1\n";

std::optional<AutotuneEntry> find(const AutotuneCache& cache, const AutotuneKey& key, std::vector<std::string>& notes) {
  std::optional<AutotuneEntry> entry;
  const Status status = cache.find(key, entry, notes);
  EXPECT_TRUE(status.ok()) << status.message();
  return entry;
}

/// A line as the file has it.
std::string line(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return fmt::format("{:016x}\t{}\n", hash, text);
}

TEST(AutotuneCache, AsksForEveryPartOfTheKey) {
  const TemporaryFolder folder;
  const AutotuneCache cache((folder / "cache"));
  std::vector<std::string> notes;
  EXPECT_FALSE(find(cache, kKey, notes)) << "there is no file";
  ASSERT_TRUE(cache.remember(kKey, kEntry).ok());
  const auto found = find(cache, kKey, notes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->algorithm, "halo");
  EXPECT_EQ(found->options, "split=1");
  EXPECT_EQ(found->microseconds, 12.5);
  for (std::string AutotuneKey::*part :
       {&AutotuneKey::problem, &AutotuneKey::device, &AutotuneKey::driver, &AutotuneKey::version, &AutotuneKey::asked}) {
    AutotuneKey other = kKey;
    other.*part += "!";
    EXPECT_FALSE(find(cache, other, notes)) << other.*part;
  }
  // Replaced, not added; whatever would break a line becomes blanks, in the question as well.
  ASSERT_TRUE(cache.remember(kKey, {"halo", "split=2", 11}).ok());
  EXPECT_EQ(find(cache, kKey, notes)->options, "split=2");
  const AutotuneKey odd{"a\tproblem", "a\ndevice", "", "", ""};
  ASSERT_TRUE(cache.remember(odd, {"direct", "", 3}).ok());
  EXPECT_EQ(find(cache, odd, notes)->algorithm, "direct");
  const std::string text = fileContents(folder / "cache");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_TRUE(notes.empty()) << notes[0];
}

TEST(AutotuneCache, LosesNothingToWritersAtTheSameTime) {
  const TemporaryFolder folder;
  const auto key = [](int writer, int number) { return AutotuneKey{std::to_string(writer), std::to_string(number), "", "", ""}; };
  constexpr int kWriters = 4, kEntries = 8;
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < kWriters; ++writer)
      writers.emplace_back([&, writer] {
        const AutotuneCache cache((folder / "cache"));
        for (int number = 0; number < kEntries; ++number)
          EXPECT_TRUE(cache.remember(key(writer, number), {"halo", std::to_string(100 * writer + number), 1}).ok());
      });
  }
  std::vector<std::string> notes;
  for (int writer = 0; writer < kWriters; ++writer)
    for (int number = 0; number < kEntries; ++number) {
      const auto found = find(AutotuneCache(folder / "cache"), key(writer, number), notes);
      ASSERT_TRUE(found) << writer << " " << number;
      EXPECT_EQ(found->options, std::to_string(100 * writer + number));
    }
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"cache", "cache.lock"}));
}

TEST(AutotuneCache, TakesOnlyWholeLines) {
  const TemporaryFolder folder;
  const AutotuneCache cache((folder / "cache"));
  // An entry whose checksum begins with a zero, so that it can lose a digit and keep its value.
  std::string good;
  AutotuneKey key = kKey;
  for (int i = 0; good.empty() || good[0] != '0'; ++i) {
    key.problem = std::to_string(i);
    good = line(key.problem + "\tdevice\tdriver\tversion\tasked\thalo\tsplit=1\t12.5");
  }
  const auto lookUp = [&](const std::string& text, std::vector<std::string>& notes) {
    writeFile(folder / "cache", kFirstLine + text);
    return find(cache, key, notes);
  };
  std::vector<std::string> notes;
  EXPECT_TRUE(lookUp(good, notes));
  EXPECT_TRUE(lookUp(good.substr(0, good.size() - 1), notes)) << "the last line end may be missing";
  EXPECT_TRUE(notes.empty()) << notes[0];

  const std::string checksum = good.substr(0, 16), rest = good.substr(16);
  const std::string start = key.problem + "\tdevice\tdriver\tversion\tasked\thalo\tsplit=1";
  for (const auto& [text, reason] : {std::pair<std::string, const char*>{checksum.substr(1) + rest, "begins with no checksum"},
                                     {checksum.substr(1) + "g" + rest, "begins with no checksum"},
                                     {"0" + checksum + rest, "begins with no checksum"},
                                     {"no checksum here" + rest, "begins with no checksum"},
                                     {"\n", "begins with no checksum"},
                                     {"1" + checksum.substr(1) + rest, "checksum is wrong"},
                                     {line(start), "has not 8 fields"},
                                     {line(start + "\t12.5\t"), "has not 8 fields"},
                                     {line(start + "\t12.5s"), "\"12.5s\" is no time"},
                                     {line(start + "\tsoon"), "\"soon\" is no time"},
                                     {line(start + "\tinf"), "\"inf\" is no time"},
                                     {line(start + "\tnan"), "\"nan\" is no time"},
                                     {line(start + "\t1e999"), "\"1e999\" is no time"},
                                     {line(start + "\t0"), "\"0\" is no time"},
                                     {line(start + "\t-1"), "\"-1\" is no time"}}) {
    notes.clear();
    EXPECT_FALSE(lookUp(text, notes)) << text;
    ASSERT_EQ(notes.size(), 1u) << text;
    EXPECT_EQ(notes[0].rfind("line 2 of " + (folder / "cache") + " is ignored: ", 0), 0u) << notes[0];
    EXPECT_NE(notes[0].find(reason), std::string::npos) << notes[0];
  }

  notes.clear();
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "nonsense\n";
  EXPECT_TRUE(lookUp(many + good, notes));
  ASSERT_EQ(notes.size(), 5u);
  EXPECT_EQ(notes[4], "996 more lines of " + (folder / "cache") + " are ignored");
}

/// What is there afterwards: kind, inode, device number, bytes.
std::string stateOf(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return "nothing";
  return fmt::format("mode {:o} inode {} rdev {} bytes {}", found.st_mode, found.st_ino, found.st_rdev, found.st_size);
}

/// Both calls fail at once with the words, and leave everything as it was.
void expectNoCache(const TemporaryFolder& folder, const std::string& words, const std::string& file = "cache") {
  const std::string path = (folder / file);
  const std::string before = stateOf(path);
  const auto filesBefore = folder.files();
  const auto start = std::chrono::steady_clock::now();
  const AutotuneCache cache(path, milliseconds(100));
  std::optional<AutotuneEntry> entry;
  std::vector<std::string> notes;
  const Status found = cache.find(kKey, entry, notes);
  EXPECT_FALSE(found.ok());
  EXPECT_NE(found.message().find(words), std::string::npos) << found.message();
  EXPECT_FALSE(entry);
  const Status remembered = cache.remember(kKey, kEntry);
  EXPECT_FALSE(remembered.ok());
  EXPECT_NE(remembered.message().find(words), std::string::npos) << remembered.message();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << "waits for something";
  EXPECT_EQ(stateOf(path), before);
  auto files = folder.files();
  std::erase_if(files, [](const std::string& name) { return name.ends_with(".lock"); });
  auto expected = filesBefore;
  std::erase_if(expected, [](const std::string& name) { return name.ends_with(".lock"); });
  EXPECT_EQ(files, expected);
}

/// A character device that does what /dev/null or /dev/zero does.
bool makeDevice(const std::string& path, unsigned minorNumber) {
  return mknod(path.c_str(), S_IFCHR | 0666, makedev(1, minorNumber)) == 0;
}
constexpr unsigned kNull = 3, kZero = 5;

TEST(AutotuneCacheFile, LeavesDevicesAlone) {
  const TemporaryFolder folder;
  for (const unsigned device : {kNull, kZero}) {
    const std::string name = "device" + std::to_string(device);
    if (!makeDevice((folder / name), device)) GTEST_SKIP() << "only root makes device nodes";
    expectNoCache(folder, (folder / name) + " is a device, not a regular file", name);
    std::filesystem::create_symlink(name, (folder / (name + ".link")));
    expectNoCache(folder, (folder / name) + " is a device, not a regular file", name + ".link");
  }
}

TEST(AutotuneCacheFile, LeavesFifosSocketsAndFoldersAlone) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0666), 0);
  expectNoCache(folder, "is a FIFO, not a regular file", "fifo");

  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT((folder / "socket").size(), sizeof(address.sun_path));
  std::strcpy(address.sun_path, (folder / "socket").c_str());
  const int socketDescriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socketDescriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  expectNoCache(folder, "is a socket, not a regular file", "socket");
  close(socketDescriptor);

  std::filesystem::create_directory((folder / "folder"));
  expectNoCache(folder, "is a directory, not a regular file", "folder");
}

TEST(AutotuneCacheFile, WritesThroughLinksAndKeepsThem) {
  const TemporaryFolder folder;
  std::filesystem::create_directory((folder / "inner"));
  // Two links, a relative one in another folder and an absolute one, to a file that does not exist yet.
  std::filesystem::create_symlink("inner/second", (folder / "first"));
  std::filesystem::create_symlink((folder / "inner/target"), (folder / "inner/second"));
  const std::string first = stateOf((folder / "first")), second = stateOf((folder / "inner/second"));
  const AutotuneCache cache((folder / "first"));
  std::vector<std::string> notes;
  EXPECT_FALSE(find(cache, kKey, notes));
  ASSERT_TRUE(cache.remember(kKey, kEntry).ok());
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status((folder / "inner/target"))));
  EXPECT_TRUE(find(AutotuneCache(folder / "inner/target"), kKey, notes));
  // Replaced as a whole, with the permissions that it had.
  ASSERT_EQ(chmod((folder / "inner/target").c_str(), 0640), 0);
  const std::string before = stateOf((folder / "inner/target"));
  AutotuneKey other = kKey;
  other.problem = "another";
  ASSERT_TRUE(cache.remember(other, kEntry).ok());
  EXPECT_NE(stateOf((folder / "inner/target")), before);
  EXPECT_EQ(std::filesystem::status((folder / "inner/target")).permissions(), std::filesystem::perms(0640));
  EXPECT_TRUE(find(cache, kKey, notes));
  EXPECT_TRUE(find(cache, other, notes));
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(stateOf((folder / "first")), first);
  EXPECT_EQ(stateOf((folder / "inner/second")), second);
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"first", "inner"}));

  std::filesystem::create_symlink("round", (folder / "and_round"));
  std::filesystem::create_symlink("and_round", (folder / "round"));
  expectNoCache(folder, "cannot follow the links of " + (folder / "round"), "round");
  // As many links as the kernel follows, and one more.
  writeFile(folder / "0", kFirstLine);
  for (int i = 1; i <= 41; ++i) std::filesystem::create_symlink(std::to_string(i - 1), folder / std::to_string(i));
  EXPECT_FALSE(find(AutotuneCache(folder / "40"), kKey, notes));
  EXPECT_TRUE(notes.empty());
  expectNoCache(folder, "cannot follow the links of " + (folder / "41"), "41");
  std::filesystem::create_symlink("no/such/folder/cache", (folder / "lost"));
  EXPECT_FALSE(find(AutotuneCache(folder / "lost"), kKey, notes));
  EXPECT_NE(AutotuneCache(folder / "lost").remember(kKey, kEntry).message().find("cannot open"), std::string::npos);
}

TEST(AutotuneCacheFile, ReadsAndWritesNoMoreThanItsLimit) {
  const TemporaryFolder folder;
  writeFile(folder / "cache", kFirstLine);
  ASSERT_EQ(truncate((folder / "cache").c_str(), static_cast<off_t>(CacheFile::kLargest)), 0);
  CacheFile file;
  ASSERT_TRUE(CacheFile::resolve((folder / "cache"), file).ok());
  std::optional<std::string> text;
  ASSERT_TRUE(file.read(text).ok());
  EXPECT_EQ(text->size(), CacheFile::kLargest);
  ASSERT_TRUE(file.replace(*text).ok());
  EXPECT_FALSE(file.replace(*text + "x").ok());
  EXPECT_EQ(std::filesystem::file_size((folder / "cache")), CacheFile::kLargest);

  ASSERT_EQ(truncate((folder / "cache").c_str(), static_cast<off_t>(CacheFile::kLargest) + 1), 0);
  expectNoCache(folder, fmt::format("has {} bytes; a cache has at most {}", CacheFile::kLargest + 1, CacheFile::kLargest));
  ASSERT_EQ(truncate((folder / "cache").c_str(), off_t{1} << 40), 0);  // as good as endless
  expectNoCache(folder, fmt::format("has {} bytes; a cache has at most {}", off_t{1} << 40, CacheFile::kLargest));
}

TEST(AutotuneCacheFile, WaitsForAStuckWriterNoLongerThanItSays) {
  const TemporaryFolder folder;
  ASSERT_TRUE(AutotuneCache(folder / "cache").remember(kKey, kEntry).ok());
  const std::string text = fileContents(folder / "cache");
  const int holder = open((folder / "cache.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  const auto start = std::chrono::steady_clock::now();
  const Status status = AutotuneCache(folder / "cache", milliseconds(60)).remember(kKey, {"direct", "", 1});
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(60));
  EXPECT_NE(status.message().find("another process has held " + (folder / "cache.lock") + " for 60 ms"), std::string::npos)
      << status.message();
  EXPECT_EQ(fileContents(folder / "cache"), text);
  // Released in time, it goes on.
  std::jthread releases([&] {
    std::this_thread::sleep_for(milliseconds(20));
    close(holder);
  });
  EXPECT_TRUE(AutotuneCache(folder / "cache").remember(kKey, {"direct", "", 1}).ok());
  EXPECT_NE(fileContents(folder / "cache"), text);
}

TEST(AutotuneCacheFile, HoldsItsLockFileToTheSameRules) {
  const TemporaryFolder folder;
  const auto remember = [&](const std::string& file) {
    const Status status = AutotuneCache(folder / file, milliseconds(60)).remember(kKey, kEntry);
    EXPECT_EQ(std::filesystem::exists((folder / file)), status.ok()) << file;
    return status.message();
  };
  ASSERT_EQ(mkfifo((folder / "a.lock").c_str(), 0666), 0);
  EXPECT_NE(remember("a").find("a.lock is a FIFO, not a regular file"), std::string::npos);
  std::filesystem::create_directory((folder / "b.lock"));
  EXPECT_NE(remember("b").find("b.lock is a directory, not a regular file"), std::string::npos);
  std::filesystem::create_symlink("elsewhere", (folder / "c.lock"));
  EXPECT_EQ(remember("c"), "");
  EXPECT_TRUE(std::filesystem::is_symlink((folder / "c.lock")));
  EXPECT_TRUE(std::filesystem::is_regular_file((folder / "elsewhere")));
  std::filesystem::create_symlink("a.lock", (folder / "d.lock"));
  EXPECT_NE(remember("d").find("d.lock is a FIFO, not a regular file"), std::string::npos);
  if (!makeDevice((folder / "e.lock"), kNull)) GTEST_SKIP() << "only root makes device nodes";
  const std::string before = stateOf((folder / "e.lock"));
  EXPECT_NE(remember("e").find("e.lock is a device, not a regular file"), std::string::npos);
  EXPECT_EQ(stateOf((folder / "e.lock")), before);
}

/// Names that a crashed process of the same number may have left are passed over, up to a limit.
TEST(AutotuneCacheFile, PassesOverNamesThatAreTaken) {
  const TemporaryFolder folder;
  CacheFile file;
  ASSERT_TRUE(CacheFile::resolve(folder / "absent/cache", file).ok());
  const std::string nowhere = file.replace("text").message();
  const std::string start = "absent/cache." + std::to_string(getpid()) + ".";
  ASSERT_NE(nowhere.find(start), std::string::npos) << nowhere;
  const int last = std::stoi(nowhere.substr(nowhere.find(start) + start.size()));
  const auto occupied = [&](int number) { return "cache." + std::to_string(getpid()) + "." + std::to_string(number); };
  std::vector<std::string> expected{"cache"};
  for (int number = last + 1; number <= last + 100; ++number) {
    writeFile(folder / occupied(number), "old");
    expected.push_back(occupied(number));
  }
  std::sort(expected.begin(), expected.end());
  ASSERT_TRUE(CacheFile::resolve(folder / "cache", file).ok());
  const Status replaced = file.replace("text");
  EXPECT_TRUE(replaced.ok()) << replaced.message();
  EXPECT_EQ(fileContents(folder / "cache"), "text");
  EXPECT_EQ(folder.files(), expected);
  for (int number = last + 102; number <= last + 202; ++number) writeFile(folder / occupied(number), "old");
  const Status failed = file.replace("other");
  EXPECT_NE(failed.message().find("File exists"), std::string::npos) << failed.message();
  EXPECT_EQ(fileContents(folder / "cache"), "text");
  EXPECT_EQ(fileContents(folder / occupied(last + 102)), "old");
  EXPECT_TRUE(file.replace("other").ok()) << "the next names are free";
  EXPECT_EQ(fileContents(folder / "cache"), "other");
}

TEST(AutotuneCacheFile, LeavesNothingBehindWhenWritingFails) {
  const TemporaryFolder folder;
  ASSERT_TRUE(AutotuneCache(folder / "cache").remember(kKey, kEntry).ok());
  const std::string text = fileContents(folder / "cache");
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  rlimit small = usual;
  small.rlim_cur = 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = AutotuneCache(folder / "cache").remember(kKey, {"direct", "", 1});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, previous);
  EXPECT_NE(status.message().find("cannot write"), std::string::npos) << status.message();
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"cache", "cache.lock"}));
  EXPECT_EQ(fileContents(folder / "cache"), text);
}

}  // namespace
}  // namespace shiftconv::plan
