#include "common/emulator/hazards/global_shadow.hpp"

namespace shiftconv::emulator::hazards {

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
    page->cells.visit(first - begin, end - first, true, [&](GlobalCell& cell) { cell = written; });
  });
  return *page;
}

void GlobalShadow::fill(uint64_t address, uint64_t bytes, const GlobalCell& value) {
  forEachPage(address, bytes, [&](GlobalPage& page, uint64_t first, uint64_t count) {
    const std::lock_guard lock(page.lock);
    page.cells.visit(first, count, true, [&](GlobalCell& cell) { cell = value; });
  });
}

void GlobalShadow::hostWrote(uint64_t address, uint64_t bytes) {
  fill(address, bytes, {.writer = GlobalAccess::byHost(GlobalAccess::kHost), .readers = {}});
}

void GlobalShadow::forget(uint64_t address, uint64_t bytes) {
  fill(address, bytes, {});
  if (launches_.anyRunning()) return;
  const uint64_t end = (address + bytes) / kGlobalPageBytes;
  for (uint64_t number = (address + kGlobalPageBytes - 1) / kGlobalPageBytes; number < end; ++number) {
    Shard& shard = shardOf(number);
    const std::unique_lock lock(shard.mutex);
    shard.pages.erase(number);
  }
}

}  // namespace shiftconv::emulator::hazards
