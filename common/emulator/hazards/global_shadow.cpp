#include "common/emulator/hazards/global_shadow.hpp"

namespace shiftconv::emulator::hazards {

namespace {

bool isBlank(const GlobalPage& page) {
  bool blank = true;
  page.cells.forEach([&](const GlobalCell& cell) {
    blank &= cell.writer.launch == GlobalAccess::kNobody && cell.readers[0].launch == GlobalAccess::kNobody &&
             cell.readers[1].launch == GlobalAccess::kNobody;
  });
  return blank;
}

}  // namespace

GlobalPage* GlobalShadow::find(uint64_t number) {
  Shard& shard = shardOf(number);
  const std::shared_lock lock(shard.mutex);
  const auto found = shard.pages.find(number);
  return found == shard.pages.end() ? nullptr : found->second.get();
}

GlobalPage& GlobalShadow::page(uint64_t address) {
  const uint64_t number = address / kGlobalPageBytes;
  if (GlobalPage* found = find(number)) return *found;
  Shard& shard = shardOf(number);
  const std::unique_lock lock(shard.mutex);
  std::unique_ptr<GlobalPage>& page = shard.pages[number];
  if (page) return *page;
  page = std::make_unique<GlobalPage>();
  const uint64_t begin = number * kGlobalPageBytes;
  const GlobalCell written{.writer = GlobalAccess::byHost(GlobalAccess::kHost), .readers = {}};
  memory_.forEachHostWritten(begin, begin + kGlobalPageBytes, [&](uint64_t first, uint64_t end) {
    page->cells.visit(first - begin, end - first, true, [&](GlobalCell& cell, uint64_t, uint64_t) { cell = written; });
  });
  return *page;
}

void GlobalShadow::fill(uint64_t address, uint64_t bytes, const GlobalCell& value) {
  forEachPage(address, bytes, [&](GlobalPage& page, uint64_t first, uint64_t count) {
    page.cells.visit(first, count, true, [&](GlobalCell& cell, uint64_t, uint64_t) { cell = value; });
  });
}

void GlobalShadow::hostWrote(uint64_t address, uint64_t bytes) {
  fill(address, bytes, {.writer = GlobalAccess::byHost(GlobalAccess::kHost), .readers = {}});
}

void GlobalShadow::forget(uint64_t address, uint64_t bytes) {
  fill(address, bytes, {});
  if (bytes == 0 || launches_.anyRunning()) return;
  // Pages of which nothing is known any more go; the ends of the range may share theirs with other allocations.
  for (uint64_t number = address / kGlobalPageBytes; number <= (address + bytes - 1) / kGlobalPageBytes; ++number) {
    Shard& shard = shardOf(number);
    const std::unique_lock lock(shard.mutex);
    const auto found = shard.pages.find(number);
    if (found == shard.pages.end()) continue;
    const bool covered = number * kGlobalPageBytes >= address && (number + 1) * kGlobalPageBytes <= address + bytes;
    if (covered || isBlank(*found->second)) shard.pages.erase(found);
  }
}

size_t GlobalShadow::pages() const {
  size_t count = 0;
  for (const Shard& shard : shards_) {
    const std::shared_lock lock(shard.mutex);
    count += shard.pages.size();
  }
  return count;
}

}  // namespace shiftconv::emulator::hazards
