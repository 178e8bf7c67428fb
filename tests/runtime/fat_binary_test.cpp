// The reader of fat binaries: compression and damage.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>

#include "common/emulator/cuda_runtime/core/failure.hpp"
#include "common/emulator/cuda_runtime/core/fat_binary.hpp"

namespace shiftconv::tests {
namespace {

using runtime::FatBinaryEntry;

constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000;
const std::string kPtx = ".version 9.0\n.target sm_100a\n.address_size 64\n";

template <class Value>
void put(std::string& bytes, Value value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Part {
  std::string payload;
  uint64_t plainBytes = 0, flags = 0;
  uint32_t architecture = 100;
  uint16_t kind = 1;
};

std::string container(const std::vector<Part>& parts) {
  std::string entries;
  for (const Part& part : parts) {
    put<uint16_t>(entries, part.kind);
    put<uint16_t>(entries, 0x101);
    put<uint32_t>(entries, 64);
    put<uint64_t>(entries, part.payload.size());
    put<uint32_t>(entries, static_cast<uint32_t>(part.payload.size()));
    put<uint32_t>(entries, 0);
    put<uint32_t>(entries, 9 << 16);
    put<uint32_t>(entries, part.architecture);
    put<uint64_t>(entries, 0);
    put<uint64_t>(entries, part.flags);
    put<uint64_t>(entries, 0);
    put<uint64_t>(entries, part.plainBytes);
    entries += part.payload;
  }
  std::string bytes;
  put<uint32_t>(bytes, 0xba55ed50);
  put<uint16_t>(bytes, 1);
  put<uint16_t>(bytes, 16);
  put<uint64_t>(bytes, entries.size());
  return bytes + entries;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

Part plain(std::string ptx, uint32_t architecture) { return {std::move(ptx), 0, 0, architecture}; }

TEST(FatBinary, PlainAndZstd) {
  for (const Part& part : {plain("\n\n" + kPtx, 100), Part{zstd(kPtx), kPtx.size(), kZstd}}) {
    const std::string bytes = container({part});
    const auto entries = runtime::readFatBinary(bytes.data(), bytes.size());
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_TRUE(entries[0].isPtx);
    EXPECT_NE(entries[0].text.find(kPtx), std::string::npos);
  }
}

// By hand, after the description of the block format: 4 literals, a copy of 6 from 4 back (overlapping itself), 5 literals.
TEST(FatBinary, Lz4) {
  const std::string block = std::string(
      "\x42"
      "abcd"
      "\x04\x00"
      "\x50"
      "vwxyz",
      13);
  const std::string bytes = container({{block, 15, kLz4}});
  EXPECT_EQ(runtime::readFatBinary(bytes.data(), bytes.size())[0].text, "abcdabcdabvwxyz");
  // 20 literals: the length goes on in a second byte.
  const std::string longer = std::string("\xf0\x05", 2) + "abcdefghijklmnopqrst";
  const std::string more = container({{longer, 20, kLz4}});
  EXPECT_EQ(runtime::readFatBinary(more.data(), more.size())[0].text, "abcdefghijklmnopqrst");
}

/// What is no container: PTX as a text, and an ELF file.
TEST(FatBinary, PtxAndMachineCodeByThemselves) {
  for (const auto& [target, architecture] : {std::pair{"sm_100a", 100u}, {"sm_90", 90u}, {"sm_103f, debug", 103u}}) {
    const std::string text = fmt::format(".version 9.0\n.target {}\n", target);
    const auto entries = runtime::readFatBinary(text.data(), text.size() + 1);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_TRUE(entries[0].isPtx);
    EXPECT_EQ(entries[0].text, text);
    EXPECT_EQ(entries[0].architecture, architecture);
    EXPECT_EQ(targetOf(entries[0]), std::string_view(target).substr(0, std::string_view(target).find(',')));
  }
  const std::string elf =
      "\x7f"
      "ELF and so on, longer than the header of a container";
  const auto entries = runtime::readFatBinary(elf.data(), elf.size());
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_FALSE(entries[0].isPtx);
  EXPECT_EQ(targetOf(entries[0]), "");
}

TEST(FatBinary, DamageIsRefused) {
  const auto expectRefused = [](const std::string& bytes) {
    EXPECT_THROW(runtime::readFatBinary(bytes.data(), bytes.size()), runtime::Failure);
  };
  const std::string whole = container({{zstd(kPtx), kPtx.size(), kZstd}});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) expectRefused(whole.substr(0, bytes));
  expectRefused(container({{"no zstd at all", 100, kZstd}}));
  expectRefused(container({{zstd(kPtx), kPtx.size() - 1, kZstd}}));
  expectRefused(container({{std::string("\x42"
                                        "abcd"
                                        "\x05\x00"
                                        "\x10"
                                        "z",
                                        9),
                            11, kLz4}}));  // 5 back, but 4 there
  expectRefused(container({{std::string("\x42"
                                        "abcd",
                                        5),
                            10, kLz4}}));  // 4 of 10
  expectRefused(container({{std::string("\xf0\xff", 2), 10, kLz4}}));
  expectRefused(std::string(64, 'x'));
  // A container whose header is shorter than one, or longer than all of it.
  for (const uint16_t headerBytes : {uint16_t{0}, uint16_t{15}, uint16_t{0xffff}}) {
    std::string odd = whole;
    std::memcpy(odd.data() + 6, &headerBytes, sizeof headerBytes);
    expectRefused(odd);
  }
  // An entry that says more than its container holds, in a container that is whole.
  std::string reaching = container({plain(kPtx, 100)});
  ++reaching[16 + 8];
  try {
    runtime::readFatBinary(reaching.data(), reaching.size());
    ADD_FAILURE();
  } catch (const runtime::Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("the entry at byte 0 runs past the "), std::string::npos) << failure.what();
  }
}

TEST(FatBinary, TheHighestArchitectureThatRunsHereIsChosen) {
  const auto ptxFor = [](const char* target) { return fmt::format(".version 9.0\n.target {}\n", target); };
  const auto chosenFor = [](const char* device, const std::vector<Part>& parts) {
    const std::string bytes = container(parts);
    return runtime::choosePtx(runtime::readFatBinary(bytes.data(), bytes.size()), device, "test");
  };
  const auto chosen = [&](const std::vector<Part>& parts) { return chosenFor("sm_100a", parts); };
  EXPECT_EQ(chosen({plain(ptxFor("sm_80"), 80), plain(ptxFor("sm_100a"), 100), plain(ptxFor("sm_120"), 120)}), ptxFor("sm_100a"));
  EXPECT_EQ(chosen({plain(ptxFor("sm_80"), 80), plain(ptxFor("sm_90a"), 90)}), ptxFor("sm_80"));
  EXPECT_THROW(chosen({plain(ptxFor("sm_90a"), 90)}), runtime::Failure);
  EXPECT_EQ(chosenFor("sm_90a", {plain(ptxFor("sm_90"), 90), plain(ptxFor("sm_100"), 100)}), ptxFor("sm_90"));
  // A family: later ones of it, but none of another.
  EXPECT_EQ(chosenFor("sm_103a", {plain(ptxFor("sm_100f"), 100), plain(ptxFor("sm_100a"), 100)}), ptxFor("sm_100f"));
  EXPECT_THROW(chosenFor("sm_110a", {plain(ptxFor("sm_100f"), 100)}), runtime::Failure);
  EXPECT_THROW(chosen({plain(ptxFor("sm_103f"), 103)}), runtime::Failure);
  EXPECT_EQ(chosenFor("sm_110a", {plain(ptxFor("sm_100"), 100), plain(ptxFor("sm_103"), 103)}), ptxFor("sm_103"));
  try {
    chosen({plain(ptxFor("sm_120a"), 120),
            {"\x7f"
             "ELF",
             0, 0, 100, 2}});
    ADD_FAILURE();
  } catch (const runtime::Failure& failure) {
    EXPECT_EQ(failure.code, cudaErrorNoKernelImageForDevice);
    EXPECT_NE(std::string(failure.what()).find("PTX of sm_120a, machine code of sm_100"), std::string::npos) << failure.what();
  }
}

}  // namespace
}  // namespace shiftconv::tests
