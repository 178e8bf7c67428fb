// Allocation rules and access checks of Tensor Memory (PTX ISA 9.7.16.1, 9.7.16.7.1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/tensor_memory.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;
using namespace emulator::tensor;
using testing::HasSubstr;

template <class Action>
std::string errorOf(ErrorKind kind, Action&& action) {
  try {
    action();
  } catch (const EmulatorError& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(TensorMemory, AllocatesTheLowestAlignedRun) {
  TensorMemory memory(false);
  EXPECT_EQ(memory.allocate(256), 0u);
  EXPECT_EQ(memory.allocate(64), 256u);
  EXPECT_EQ(memory.allocate(32), 320u);
  memory.deallocate(256, 64);
  EXPECT_EQ(memory.allocate(32), 256u);
  EXPECT_EQ(memory.allocatedColumns(), "0..255, 256..287, 320..351");
}

TEST(TensorMemory, AlignsRunsToTheirSize) {
  TensorMemory memory(false);
  EXPECT_EQ(memory.allocate(128), 0u);
  EXPECT_EQ(memory.allocate(128), 128u);
  EXPECT_EQ(memory.allocate(32), 256u);
  memory.deallocate(0, 128);
  memory.deallocate(128, 128);
  EXPECT_EQ(memory.allocate(32), 0u);
  EXPECT_TRUE(memory.anythingAllocated());
}

TEST(TensorMemory, HasNoSpaceUntilSomethingIsFreed) {
  TensorMemory memory(false);
  EXPECT_EQ(memory.allocate(512), 0u);
  EXPECT_EQ(memory.allocate(32), std::nullopt);
  memory.deallocate(0, 512);
  EXPECT_EQ(memory.allocate(32), 0u);
}

TEST(TensorMemory, RefusesBrokenProtocols) {
  TensorMemory memory(false);
  for (const uint32_t columns : {0u, 16u, 48u, 1024u}) {
    EXPECT_THAT(errorOf(ErrorKind::IllegalInstruction, [&] { memory.allocate(columns); }),
                HasSubstr("power of two from 32 to 512"));
  }
  EXPECT_EQ(memory.allocate(64), 0u);
  EXPECT_THAT(errorOf(ErrorKind::Synchronisation, [&] { memory.allocate(128); }), HasSubstr("128 columns after one of 64"));
  EXPECT_THAT(errorOf(ErrorKind::Synchronisation, [&] { memory.deallocate(32, 32); }), HasSubstr("allocated columns: 0..63"));
  EXPECT_THAT(errorOf(ErrorKind::Synchronisation, [&] { memory.deallocate(0, 32); }), HasSubstr("that allocation has 64"));
  EXPECT_THAT(errorOf(ErrorKind::Synchronisation, [&] { memory.deallocate(0x10000, 64); }), HasSubstr("0x10000"));
  memory.relinquish();
  EXPECT_THAT(errorOf(ErrorKind::Synchronisation, [&] { memory.allocate(32); }), HasSubstr("relinquish_alloc_permit"));
  memory.deallocate(0, 64);
  EXPECT_FALSE(memory.anythingAllocated());
}

TEST(TensorMemory, ChecksAccesses) {
  TensorMemory memory(false);
  memory.allocate(64);
  memory.requireCells(0, 128, 0, 64, "x");
  EXPECT_THAT(errorOf(ErrorKind::OutOfBounds, [&] { memory.requireCells(0, 128, 60, 8, "operand A"); }),
              testing::AllOf(HasSubstr("operand A reaches columns 60..67"), HasSubstr("64..67 are not allocated")));
  EXPECT_THAT(errorOf(ErrorKind::OutOfBounds, [&] { memory.requireCells(0, 128, 510, 4, "x"); }), HasSubstr("columns 0..511"));
  EXPECT_THAT(errorOf(ErrorKind::OutOfBounds, [&] { memory.requireCells(112, 32, 0, 4, "x"); }), HasSubstr("lanes 112..143"));
}

TEST(TensorMemory, CellsAreUndefinedUntilWrittenAndAfterEveryAllocation) {
  TensorMemory memory(false);
  memory.allocate(32);
  memory.store(5, 7, 42);
  EXPECT_TRUE(memory.isDefined(5, 7, 1, kWholeCell));
  EXPECT_FALSE(memory.isDefined(5, 6, 2, kWholeCell));
  memory.written(5)[7] = kLowHalf;
  EXPECT_TRUE(memory.isDefined(5, 7, 1, kLowHalf));
  EXPECT_FALSE(memory.isDefined(5, 7, 1, kWholeCell));
  memory.deallocate(0, 32);
  memory.allocate(32);
  EXPECT_FALSE(memory.isDefined(5, 7, 1, kLowHalf));

  TensorMemory zeroed(true);
  zeroed.allocate(32);
  EXPECT_TRUE(zeroed.isDefined(127, 31, 1, kWholeCell));
  EXPECT_EQ(zeroed.cells(127)[31], 0u);
}

}  // namespace
}  // namespace shiftconv::tests
