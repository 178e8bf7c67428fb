#include "common/emulator/cuda_runtime/core/fat_binary.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "common/emulator/cuda_runtime/core/failure.hpp"
#include "common/emulator/cuda_runtime/machine_binding.hpp"

namespace shiftconv::runtime {
namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr uint64_t kLargest = uint64_t{1} << 32;  ///< of one entry, as a guard against nonsense

struct ContainerHeader {
  uint32_t magic;
  uint16_t version, headerBytes;
  uint64_t bytes;  ///< behind the header
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bytes;  ///< of the payload, padding included
  uint32_t compressedBytes;
  uint32_t optionsOffset;
  uint16_t minor, major;  ///< of the PTX ISA, or of the machine code
  uint32_t architecture;
  uint32_t nameOffset, nameBytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t decompressedBytes;
};
static_assert(sizeof(EntryHeader) == 64);

constexpr uint16_t kKindPtx = 1;
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;

[[noreturn]] void refuse(const std::string& why) {
  throw Failure(cudaErrorInvalidKernelImage, "the device code of the program cannot be read: " + why);
}

std::string inflateZstd(std::string_view packed, uint64_t bytes) {
  std::string text(bytes, '\0');
  const size_t written = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  if (ZSTD_isError(written) != 0) refuse(fmt::format("zstd says {}", ZSTD_getErrorName(written)));
  if (written != bytes) refuse(fmt::format("an entry has {} bytes instead of {}", written, bytes));
  return text;
}

/// A block of LZ4: sequences of literals and of copies from what is already there (lz4_Block_format.md).
class Lz4Reader {
 public:
  Lz4Reader(std::string_view packed, uint64_t bytes) : packed_(packed) { text_.reserve(bytes); }

  std::string read(uint64_t bytes) {
    while (at_ < packed_.size()) {
      const auto token = next();
      const uint64_t literals = length(token >> 4);
      if (literals > packed_.size() - at_ || text_.size() + literals > bytes) refuse("an LZ4 literal runs past its end");
      text_.append(packed_, at_, literals);
      at_ += literals;
      if (at_ == packed_.size()) break;  // the last sequence has no copy
      const uint64_t low = next();  // a statement of its own: operands of | are read in any order
      const uint64_t distance = low | uint64_t{next()} << 8;
      const uint64_t count = length(token & 15) + 4;
      if (distance == 0 || distance > text_.size() || text_.size() + count > bytes) refuse("an LZ4 copy reaches outside the text");
      for (uint64_t i = 0; i < count; ++i) text_ += text_[text_.size() - distance];  // may overlap itself
    }
    if (text_.size() != bytes) refuse(fmt::format("an entry has {} bytes instead of {}", text_.size(), bytes));
    return std::move(text_);
  }

 private:
  uint8_t next() {
    if (at_ == packed_.size()) refuse("an LZ4 block is cut off");
    return static_cast<uint8_t>(packed_[at_++]);
  }
  uint64_t length(unsigned nibble) {
    uint64_t total = nibble;
    if (nibble != 15) return total;
    for (uint8_t more = 255; more == 255;) total += more = next();
    return total;
  }
  std::string_view packed_;
  size_t at_ = 0;
  std::string text_;
};

/// "sm_90a" of ".target sm_90a, debug".
std::string_view targetOfText(std::string_view ptx) {
  constexpr std::string_view kDirective = ".target ";
  const size_t at = ptx.find(kDirective);
  if (at == std::string_view::npos) return {};
  ptx.remove_prefix(at + kDirective.size());
  return ptx.substr(0, ptx.find_first_of(", \t\r\n"));
}

/// 100 of "sm_100a"; 0 when there is no number.
uint32_t architectureOf(std::string_view target) {
  uint32_t number = 0;
  if (target.starts_with("sm_")) std::from_chars(target.data() + 3, target.data() + target.size(), number);
  return number;
}

FatBinaryEntry readEntry(const EntryHeader& header, std::string_view payload) {
  FatBinaryEntry entry;
  entry.isPtx = header.kind == kKindPtx;
  entry.architecture = header.architecture;
  if (!entry.isPtx) return entry;
  const bool packed = (header.flags & (kFlagLz4 | kFlagZstd)) != 0;
  if (packed && (header.compressedBytes > payload.size() || header.decompressedBytes > kLargest))
    refuse(fmt::format("an entry of {} bytes claims {} compressed and {} plain bytes", payload.size(), header.compressedBytes,
                       header.decompressedBytes));
  if (packed) payload = payload.substr(0, header.compressedBytes);
  if ((header.flags & kFlagZstd) != 0)
    entry.text = inflateZstd(payload, header.decompressedBytes);
  else if ((header.flags & kFlagLz4) != 0)
    entry.text = Lz4Reader(payload, header.decompressedBytes).read(header.decompressedBytes);
  else
    entry.text = payload;
  // The text is padded, in front with line feeds and behind with zeros.
  entry.text.resize(std::strlen(entry.text.c_str()));
  return entry;
}

}  // namespace

std::vector<FatBinaryEntry> readFatBinary(const void* data, uint64_t limit) {
  const auto* bytes = static_cast<const char*>(data);
  if (limit < sizeof(ContainerHeader)) refuse(fmt::format("it has {} bytes", limit));
  if (std::memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return {FatBinaryEntry{}};
  ContainerHeader header;
  std::memcpy(&header, bytes, sizeof header.magic);
  if (header.magic != kMagic) {
    FatBinaryEntry entry;
    entry.text = bytes;
    entry.isPtx = entry.text.find(".version") != std::string::npos;
    if (!entry.isPtx) refuse("it is neither PTX, nor a fat binary, nor machine code");
    entry.architecture = architectureOf(targetOfText(entry.text));
    return {std::move(entry)};
  }
  std::memcpy(&header, bytes, sizeof header);
  if (header.headerBytes < sizeof header || header.headerBytes > limit || header.bytes > limit - header.headerBytes)
    refuse(fmt::format("the container says {} bytes, but there are {}", header.bytes, limit));
  std::vector<FatBinaryEntry> entries;
  for (uint64_t at = 0; at + sizeof(EntryHeader) <= header.bytes;) {
    EntryHeader entry;
    const char* const begin = bytes + header.headerBytes + at;
    std::memcpy(&entry, begin, sizeof entry);
    if (entry.headerBytes < sizeof entry || entry.headerBytes > header.bytes - at ||
        entry.bytes > header.bytes - at - entry.headerBytes)
      refuse(fmt::format("the entry at byte {} runs past the {} bytes of its container", at, header.bytes));
    entries.push_back(readEntry(entry, {begin + entry.headerBytes, entry.bytes}));
    at += entry.headerBytes + entry.bytes;
  }
  return entries;
}

std::string_view targetOf(const FatBinaryEntry& entry) { return entry.isPtx ? targetOfText(entry.text) : std::string_view(); }

namespace {

std::string nameOf(const FatBinaryEntry& entry) {
  if (!entry.isPtx) return entry.architecture == 0 ? "machine code" : fmt::format("machine code of sm_{}", entry.architecture);
  return fmt::format("PTX of {}", targetOf(entry));
}

/// What the user can do about code that the device cannot run.
std::string remedy(const std::vector<FatBinaryEntry>& entries, std::string_view device) {
  for (const std::string_view other : deviceTargets())
    for (const FatBinaryEntry& entry : entries)
      if (runsOn(targetOf(entry), other)) return fmt::format("it runs on another device: emurun --device {}", other);
  const std::string_view number = device.substr(device.find('_') + 1);
  return fmt::format("compile it with -gencode arch=compute_{0},code=compute_{0}", number);
}

}  // namespace

std::string choosePtx(const std::vector<FatBinaryEntry>& entries, std::string_view device, const std::string& origin) {
  const FatBinaryEntry* best = nullptr;
  for (const FatBinaryEntry& entry : entries)
    if (runsOn(targetOf(entry), device) && (best == nullptr || entry.architecture > best->architecture)) best = &entry;
  if (best != nullptr) return best->text;
  std::string held;
  for (const FatBinaryEntry& entry : entries) held += (held.empty() ? "" : ", ") + nameOf(entry);
  throw Failure(cudaErrorNoKernelImageForDevice,
                fmt::format("{} holds no PTX that an {} device can run (it has {}); {}", origin, device,
                            held.empty() ? "no device code" : held, remedy(entries, device)));
}

}  // namespace shiftconv::runtime
