#include "common/emulator/hazards/host_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/machine/memory.hpp"

namespace shiftconv::emulator::hazards {
namespace {

/// Ends the work in the table of launches, however it ends.
class Running {
 public:
  Running(LaunchTable& table, LaunchFacts facts) : table_(table), record_(table.begin(std::move(facts))) {}
  ~Running() { table_.end(*record_); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  const LaunchRecord& record() const { return *record_; }

 private:
  LaunchTable& table_;
  std::shared_ptr<LaunchRecord> record_;
};

}  // namespace

void checkHostWork(GlobalShadow& shadow, Reporter& reporter, std::string name, const StreamPlace& place, uint64_t address,
                   uint64_t bytes, bool writes) {
  LaunchTable& launches = shadow.launches();
  LaunchFacts facts;
  facts.name = std::move(name);
  facts.place = place;
  const Running running(launches, std::move(facts));
  const LaunchRecord& mine = running.record();
  const GlobalAccess access = GlobalAccess::byHost(mine.number);
  uint32_t lastBefore = GlobalAccess::kNobody;
  const auto check = [&](const GlobalAccess& earlier, bool earlierWrites) {
    if (!earlier.isLaunch() || earlier.launch == mine.number || earlier.launch == lastBefore) return;
    if (launches.isBefore(earlier.launch, mine)) {
      lastBefore = earlier.launch;
      return;
    }
    const auto first = launches.at(earlier.launch);
    if (reporter.seen(HazardKind::Race, HazardSeverity::Race, first->lineOf(earlier), 0)) return;
    const auto words = [&](bool write) {
      return fmt::format("{} of {}", write ? "write" : "read", shadow.memory().describe(address, bytes));
    };
    reporter.report({HazardKind::Race, HazardSeverity::Race, first->describe(earlier, words(earlierWrites)),
                     mine.describe(access, words(writes)), missingLaunchOrder(*first, mine), 1});
  };
  if (writes)
    for (uint64_t page = address; page < address + bytes; page = (page / kGlobalPageBytes + 1) * kGlobalPageBytes)
      shadow.page(page);
  shadow.forEachPage(address, bytes, [&](GlobalPage& page, uint64_t first, uint64_t count) {
    page.cells.visit(first, count, writes, [&](GlobalCell& cell, uint64_t, uint64_t) {
      check(cell.writer, true);
      if (!writes) return;
      for (const GlobalAccess& reader : cell.readers) check(reader, false);
      cell = {.writer = access, .readers = {}};
    });
  });
}

}  // namespace shiftconv::emulator::hazards
