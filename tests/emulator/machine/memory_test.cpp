#include "common/emulator/machine/memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/racing_copy.hpp"

namespace shiftconv::emulator::machine {
namespace {

template <class Action>
EmulatorError errorOf(Action&& action) {
  try {
    action();
  } catch (const EmulatorError& error) {
    return error;
  }
  ADD_FAILURE() << "no error was raised";
  return EmulatorError(ErrorKind::Limit, "");
}

TEST(GlobalMemory, AllocationsArePoisonedAndAligned) {
  GlobalMemory memory;
  const uint64_t address = memory.allocate(1000);
  EXPECT_EQ(address % 256, 0u);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(*reinterpret_cast<uint8_t*>(address + i), 0xCB);
  EXPECT_EQ(memory.allocatedBytes(), 1000u);
  memory.release(address);
  EXPECT_EQ(memory.allocatedBytes(), 0u);
}

uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What nobody writes of a large allocation takes no memory of the host, and holds poison all the same.
TEST(GlobalMemory, LargeAllocationsTakeWhatIsWritten) {
  constexpr uint64_t kBytes = (uint64_t{3} << 30) + 12345;
  GlobalMemory memory;
  const uint64_t before = residentBytes();
  const uint64_t address = memory.allocate(kBytes), other = memory.allocate(kBytes);
  for (uint64_t at = 0; at < kBytes; at += 100'000'007) {
    auto* const byte = reinterpret_cast<uint8_t*>(address + at);
    ASSERT_EQ(*byte, 0xCB) << at;
    *byte = 7;
    ASSERT_EQ(*reinterpret_cast<uint8_t*>(other + at), 0xCB) << at;
    ASSERT_EQ(*reinterpret_cast<uint8_t*>(address + at + (at + 1 < kBytes ? 1 : 0)), 0xCB) << at;
  }
  EXPECT_EQ(memory.access(address + kBytes - 1, 1, 1, true), reinterpret_cast<std::byte*>(address + kBytes - 1));
  EXPECT_EQ(*reinterpret_cast<uint8_t*>(address + kBytes - 1), 0xCB);
  EXPECT_LT(residentBytes(), before + (uint64_t{64} << 20));
  EXPECT_FALSE(memory.contains(address + kBytes, 1));
  memory.release(address);
  memory.release(other);
}

TEST(GlobalMemory, AccessesMustStayInsideOneAllocation) {
  GlobalMemory memory;
  const uint64_t a = memory.allocate(100);
  EXPECT_EQ(memory.access(a + 96, 4, 4, true), reinterpret_cast<std::byte*>(a + 96));
  const EmulatorError past = errorOf([&] { memory.access(a + 96, 8, 8, true); });
  EXPECT_EQ(past.kind(), ErrorKind::OutOfBounds);
  EXPECT_NE(std::string(past.what()).find("byte 96 of the 100-byte allocation"), std::string::npos) << past.what();
  const EmulatorError behind = errorOf([&] { memory.access(a + 104, 4, 4, false); });
  EXPECT_NE(std::string(behind.what()).find("4 bytes past the end of the 100-byte allocation"), std::string::npos) << behind.what();
  const EmulatorError before = errorOf([&] { memory.access(a - 8, 4, 4, false); });
  EXPECT_NE(std::string(before.what()).find("8 bytes before the 100-byte allocation"), std::string::npos) << before.what();
  EXPECT_EQ(errorOf([&] { memory.access(a + 2, 4, 4, false); }).kind(), ErrorKind::Misaligned);
  EXPECT_EQ(errorOf([&] { memory.access(~uint64_t{0} - 1, 8, 1, false); }).kind(), ErrorKind::OutOfBounds);
}

TEST(GlobalMemory, ReleasedMemoryIsGoneForEveryThreadThatHadUsedIt) {
  GlobalMemory memory;
  const uint64_t a = memory.allocate(64);
  memory.access(a, 4, 4, true);  // this thread's cache knows it now
  std::thread([&] { memory.release(a); }).join();
  EXPECT_EQ(errorOf([&] { memory.access(a, 4, 4, true); }).kind(), ErrorKind::OutOfBounds);
  EXPECT_EQ(errorOf([&] { memory.release(a); }).kind(), ErrorKind::OutOfBounds);
}

TEST(GlobalMemory, BehindALiveRangeAReleasedAllocationIsNotBlamed) {
  GlobalMemory memory;
  const uint64_t a = memory.allocate(4096);
  memory.release(a);
  memory.registerRange(reinterpret_cast<const void*>(a), 256, true);  // as if the host had got the memory again
  const EmulatorError behind = errorOf([&] { memory.access(a + 256, 4, 4, false); });
  EXPECT_NE(std::string(behind.what()).find("0 bytes past the end of the 256-byte registered range"), std::string::npos)
      << behind.what();
  const EmulatorError far = errorOf([&] { memory.access(a + 1024, 4, 4, false); });
  EXPECT_NE(std::string(far.what()).find("byte 1024 of the 4096-byte allocation"), std::string::npos) << far.what();
  EXPECT_NE(std::string(far.what()).find("has been released"), std::string::npos) << far.what();
}

TEST(GlobalMemory, TwoMemoriesDoNotShareAllocations) {
  GlobalMemory first, second;
  const uint64_t a = first.allocate(64);
  first.access(a, 4, 4, true);
  EXPECT_EQ(errorOf([&] { second.access(a, 4, 4, true); }).kind(), ErrorKind::OutOfBounds);
}

TEST(GlobalMemory, RegisteredRangesMayBeReadOnly) {
  GlobalMemory memory;
  alignas(16) uint32_t host[4] = {1, 2, 3, 4};
  memory.registerRange(host, sizeof host, false);
  const auto address = reinterpret_cast<uint64_t>(host);
  EXPECT_TRUE(memory.contains(address, 16));
  EXPECT_FALSE(memory.contains(address, 17));
  memory.access(address, 16, 16, false);
  const EmulatorError error = errorOf([&] { memory.access(address, 4, 4, true); });
  EXPECT_NE(std::string(error.what()).find("read-only"), std::string::npos) << error.what();
  EXPECT_EQ(errorOf([&] { memory.registerRange(&host[1], 4, true); }).kind(), ErrorKind::Launch);
  memory.registerRange(host, sizeof host, false);
  memory.unregisterRange(host);
  memory.access(address, 16, 16, false);  // still registered once
  memory.unregisterRange(host);
  EXPECT_EQ(errorOf([&] { memory.access(address, 4, 4, false); }).kind(), ErrorKind::OutOfBounds);
}

TEST(RacingCopy, CopiesTheBytesAskedForWhereverTheyBegin) {
  std::vector<std::byte> from(64);
  for (size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i + 1);
  for (size_t source : {0, 3, 8})
    for (size_t target : {0, 5, 16})
      for (size_t bytes : {0, 1, 7, 8, 16, 29}) {
        std::vector<std::byte> expected(64, std::byte{0xCD}), to = expected;
        std::memcpy(expected.data() + target, from.data() + source, bytes);
        racingCopy(to.data() + target, from.data() + source, bytes);
        EXPECT_EQ(to, expected) << bytes << " bytes from " << source << " to " << target;
      }
}

TEST(SharedMemory, KnowsWhichBytesAreUndefined) {
  SharedMemory shared(256);
  EXPECT_FALSE(shared.isWritten(16, 4));
  EXPECT_EQ(std::to_integer<int>(*shared.read(16, 4, 4)), 0xCB) << "poison";
  std::memset(shared.write(16, 4, 4), 7, 4);
  EXPECT_EQ(std::to_integer<int>(*shared.read(16, 4, 4)), 7);
  EXPECT_EQ(std::to_integer<int>(*shared.readFixed<4>(16)), 7);
  EXPECT_FALSE(shared.isWritten(16, 8));
  EXPECT_EQ(std::to_integer<int>(shared.readFixed<8>(16)[4]), 0xCB);
  std::vector<std::pair<uint32_t, uint32_t>> holes;
  std::memset(shared.write(22, 1, 1), 7, 1);
  shared.forEachUndefined(14, 12, [&](uint32_t offset, uint32_t bytes) { holes.emplace_back(offset, bytes); });
  EXPECT_EQ(holes, (std::vector<std::pair<uint32_t, uint32_t>>{{14, 2}, {20, 2}, {23, 3}}));
  shared.undefine(18, 1);
  EXPECT_FALSE(shared.isWritten(18, 1));
  EXPECT_EQ(std::to_integer<int>(shared.data()[18]), 7) << "made of undefined data, but there";
  shared.write(18, 1, 1);
  shared.poison(17, 1);
  EXPECT_FALSE(shared.isWritten(16, 4));
  EXPECT_TRUE(shared.isWritten(18, 2));
  EXPECT_NE(std::to_integer<int>(shared.data()[17]), 7);
}

TEST(SharedMemory, BoundsAndAlignment) {
  SharedMemory shared(256);
  EXPECT_EQ(errorOf([&] { shared.write(254, 4, 2); }).kind(), ErrorKind::OutOfBounds);
  EXPECT_EQ(errorOf([&] { shared.write(0xfffffffe, 4, 2); }).kind(), ErrorKind::OutOfBounds);
  EXPECT_EQ(errorOf([&] { shared.write(6, 4, 4); }).kind(), ErrorKind::Misaligned);
  EXPECT_EQ(errorOf([&] { shared.writeFixed<8>(244); }).kind(), ErrorKind::Misaligned);
  EXPECT_EQ(errorOf([&] { shared.writeFixed<8>(256); }).kind(), ErrorKind::OutOfBounds);
}

}  // namespace
}  // namespace shiftconv::emulator::machine
