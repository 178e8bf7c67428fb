// The mbarrier object against the rules of PTX ISA 9.0, 9.7.13.15.1 to 9.7.13.15.7.
#include "common/emulator/machine/mbarrier.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/memory.hpp"

namespace shiftconv::emulator::machine {
namespace {

class Mbarrier : public ::testing::Test {
 protected:
  template <class Action>
  void expectError(ErrorKind kind, const std::string& part, Action&& action) {
    try {
      action();
      ADD_FAILURE() << "no error was raised; expected: " << part;
    } catch (const EmulatorError& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
  SharedMemory shared{4096};
  MbarrierTable table{shared};
};

TEST_F(Mbarrier, PhaseCompletesWithTheLastArrival) {
  table.initialise(8, 3);
  EXPECT_FALSE(table.testParity(8, 0));
  EXPECT_TRUE(table.testParity(8, 1)) << "the phase before the first one counts as complete";
  table.arrive(8, 1);
  const uint64_t before = table.arrive(8, 1);
  EXPECT_EQ(MbarrierTable::pendingCount(before), 2u);
  EXPECT_FALSE(table.testState(8, before));
  const uint64_t generation = table.generation();
  table.arrive(8, 1);
  EXPECT_NE(table.generation(), generation);
  EXPECT_TRUE(table.testParity(8, 0));
  EXPECT_TRUE(table.testState(8, before));
  EXPECT_EQ(table.find(8)->pending, 3u);
  EXPECT_EQ(table.find(8)->phase, 1u);
}

TEST_F(Mbarrier, TransactionsHoldThePhaseOpen) {
  table.initialise(8, 1);
  table.expectTransactions(8, 4096);
  table.arrive(8, 1);
  EXPECT_FALSE(table.testParity(8, 0));
  table.completeTransactions(8, 4000);
  EXPECT_FALSE(table.testParity(8, 0));
  table.completeTransactions(8, 96);
  EXPECT_TRUE(table.testParity(8, 0));
}

TEST_F(Mbarrier, TransactionsMayCompleteBeforeTheyAreExpected) {
  table.initialise(8, 1);
  table.completeTransactions(8, 64);
  EXPECT_EQ(table.find(8)->transactions, -64);
  table.expectTransactions(8, 64);
  EXPECT_FALSE(table.testParity(8, 0)) << "a zero count with arrivals pending completes nothing";
  table.arrive(8, 1);
  EXPECT_TRUE(table.testParity(8, 0));
}

// An H200 does this; the PTX ISA does not say that expect-tx may complete a phase.
TEST_F(Mbarrier, ExpectCompletesAPhaseThatOnlyLackedTheExpectation) {
  table.initialise(8, 1);
  table.completeTransactions(8, 64);
  table.arrive(8, 1);
  EXPECT_FALSE(table.testParity(8, 0));
  table.expectTransactions(8, 64);
  EXPECT_TRUE(table.testParity(8, 0));
  EXPECT_EQ(table.find(8)->pending, 1u);
  EXPECT_EQ(table.find(8)->transactions, 0);
}

TEST_F(Mbarrier, DropLowersLaterPhases) {
  table.initialise(8, 2);
  table.arrive(8, 1, true);
  EXPECT_FALSE(table.testParity(8, 0));
  table.arrive(8, 1);
  EXPECT_TRUE(table.testParity(8, 0));
  EXPECT_EQ(table.find(8)->pending, 1u);
  table.arrive(8, 1);
  EXPECT_TRUE(table.testParity(8, 1));
}

TEST_F(Mbarrier, PendingCanBeAdded) {
  table.initialise(8, 1);
  table.addPending(8, 1);
  table.arrive(8, 1);
  EXPECT_FALSE(table.testParity(8, 0));
  table.arrive(8, 1);
  EXPECT_TRUE(table.testParity(8, 0));
}

TEST_F(Mbarrier, BrokenProtocolsAreReported) {
  expectError(ErrorKind::Synchronisation, "no mbarrier was initialised", [&] { table.arrive(8, 1); });
  expectError(ErrorKind::Misaligned, "multiple of 8", [&] { table.initialise(12, 1); });
  expectError(ErrorKind::OutOfBounds, "0x1000", [&] { table.initialise(4096, 1); });
  expectError(ErrorKind::Synchronisation, "count 0 is outside", [&] { table.initialise(8, 0); });
  expectError(ErrorKind::Synchronisation, "count 1048576 is outside", [&] { table.initialise(8, 1 << 20); });
  table.initialise(8, 2);
  expectError(ErrorKind::Synchronisation, "live mbarrier at shared offset 0x8", [&] { table.initialise(8, 2); });
  expectError(ErrorKind::Synchronisation, "3 arrivals", [&] { table.arrive(8, 3); });
  expectError(ErrorKind::Synchronisation, "would complete the phase", [&] { table.arrive(8, 2, false, true); });
  expectError(ErrorKind::Synchronisation, "parity 2", [&] { table.testParity(8, 2); });
  table.expectTransactions(8, (1 << 20) - 1);
  expectError(ErrorKind::Synchronisation, "would exceed 1048575", [&] { table.expectTransactions(8, 1); });
  table.invalidate(8);
  expectError(ErrorKind::Synchronisation, "invalidated", [&] { table.testParity(8, 0); });
  table.initialise(8, 1);
  expectError(ErrorKind::Synchronisation, "fall below -1048575", [&] {
    table.completeTransactions(8, (1 << 20) - 1);
    table.completeTransactions(8, 1);
  });
}

TEST_F(Mbarrier, StatesOfOldPhasesAreRefused) {
  table.initialise(8, 1);
  const uint64_t first = table.arrive(8, 1);
  EXPECT_TRUE(table.testState(8, first));
  table.arrive(8, 1);
  expectError(ErrorKind::Synchronisation, "neither the current nor the one before", [&] { table.testState(8, first); });
}

TEST_F(Mbarrier, OverwrittenBytesAreNoticed) {
  table.initialise(8, 2);
  std::memset(shared.write(12, 4, 4), 0xff, 4);
  expectError(ErrorKind::Synchronisation, "overwritten", [&] { table.arrive(8, 1); });
  table.initialise(8, 1);  // the object was destroyed, so this is a new one
  table.arrive(8, 1);
  EXPECT_TRUE(table.testParity(8, 0));
}

}  // namespace
}  // namespace shiftconv::emulator::machine
