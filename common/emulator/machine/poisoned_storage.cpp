#include "common/emulator/machine/poisoned_storage.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace shiftconv::emulator::machine {
namespace {

constexpr uint64_t kLargeBytes = uint64_t{1} << 28;
constexpr uint64_t kFileBytes = uint64_t{1} << 24;  // few enough mappings for what address spaces hold

/// Descriptor of a file in memory that holds kFileBytes of poison; negative where the host has none.
int poisonFile() {
  static const int file = [] {
    const int made = memfd_create("poison", MFD_CLOEXEC);
    if (made < 0) return made;
    void* const bytes = ftruncate(made, static_cast<off_t>(kFileBytes)) == 0
                            ? mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0)
                            : MAP_FAILED;
    if (bytes == MAP_FAILED) {
      close(made);
      return -1;
    }
    std::memset(bytes, kPoison, kFileBytes);
    munmap(bytes, kFileBytes);
    return made;
  }();
  return file;
}

/// nullptr where the host does not map files that often.
PoisonedStorage mapped(uint64_t bytes) {
  const int file = poisonFile();
  if (file < 0) return nullptr;
  const uint64_t whole = (bytes + kFileBytes - 1) / kFileBytes * kFileBytes;
  void* const begin = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  PoisonedStorage storage(static_cast<std::byte*>(begin), StorageRelease{whole});
  for (uint64_t at = 0; at < whole; at += kFileBytes)
    if (mmap(storage.get() + at, kFileBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0) ==
        MAP_FAILED)
      return nullptr;
  return storage;
}

}  // namespace

void StorageRelease::operator()(std::byte* storage) const {
  if (mappedBytes != 0)
    munmap(storage, mappedBytes);
  else
    delete[] storage;
}

PoisonedStorage makePoisonedStorage(uint64_t bytes) {
  if (bytes >= kLargeBytes)
    if (PoisonedStorage storage = mapped(bytes)) return storage;
  PoisonedStorage storage(new std::byte[bytes]);
  std::memset(storage.get(), kPoison, bytes);
  return storage;
}

}  // namespace shiftconv::emulator::machine
