#include "tests/hardware_recordings/program.hpp"

#include <fmt/format.h>

#include "tests/hardware_recordings/operands.hpp"

namespace shiftconv::recordings {
namespace {

/// Text of a case must not depend on which cases were built before it: labels restart with every build().
thread_local unsigned labelCount = 0;

/// A loop of all threads over words: %r50 = index, %r51 = index * 4.
std::string forEachWord(uint32_t bytes, const std::string& text) {
  const std::string again = uniqueLabel(), end = uniqueLabel();
  return fmt::format(
      "  mov.u32 %r50, %thread;\n{0}:\n  setp.ge.u32 %p12, %r50, {1};\n  @%p12 bra {2};\n  shl.b32 %r51, %r50, 2;\n{3}  add.u32 "
      "%r50, %r50, %threads;\n  bra {0};\n{2}:\n",
      again, bytes / 4, end, text);
}

}  // namespace

std::string uniqueLabel() { return fmt::format("L{}", labelCount++); }

size_t Program::add(Buffer buffer) {
  arguments_.push_back({Argument::Kind::Buffer, static_cast<uint32_t>(buffers_.size())});
  buffers_.push_back(std::move(buffer));
  return buffers_.size() - 1;
}

size_t Program::map(const TensorMap& map) {
  arguments_.push_back({Argument::Kind::Map, static_cast<uint32_t>(maps_.size())});
  maps_.push_back(map);
  return maps_.size() - 1;
}

Case Program::build() const {
  std::string text = fmt::format(".version 9.0\n.target {}\n.address_size 64\n{}.extern .shared .align 1024 .b8 dynamic[];\n",
                                 target_, moduleText);
  text += ".visible .entry k(";
  std::string loads;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const bool map = arguments_[i].kind == Argument::Kind::Map;
    text += fmt::format("{}.param {} p{}{}", i ? ", " : "", map ? ".align 64 .b8" : ".u64", i, map ? "[128]" : "");
    if (map)
      loads += fmt::format("  mov.b64 %map{0}, p{1};\n  cvta.param.u64 %map{0}, %map{0};\n", arguments_[i].index, i);
    else
      loads += fmt::format("  ld.param.u64 %buf{}, [p{}];\n", arguments_[i].index, i);
  }
  text +=
      ")\n{\n  .reg .b64 %buf<8>, %map<4>, %rd<32>;\n  .reg .b32 %r<64>, %thread, %lane, %warp, %threads, %cta, %rank, %dyn;\n"
      "  .reg .b16 %h<32>;\n  .reg .pred %p<16>;\n" +
      loads +
      "  mov.u32 %thread, %tid.x;\n  mov.u32 %threads, %ntid.x;\n  mov.u32 %cta, %ctaid.x;\n  mov.u32 %rank, %cluster_ctarank;\n"
      "  and.b32 %lane, %thread, 31;\n  shr.u32 %warp, %thread, 5;\n  mov.u32 %dyn, dynamic;\n" +
      body + "  ret;\n}\n";
  labelCount = 0;
  Case made;
  made.ptx = std::move(text);
  made.launch = launch;
  made.buffers = buffers_;
  made.maps = maps_;
  made.arguments = arguments_;
  return made;
}

std::vector<std::byte> noise(size_t bytes, uint64_t seed) {
  Random random(kSuiteSeed ^ seed);
  std::vector<std::byte> out(bytes);
  for (std::byte& value : out) value = static_cast<std::byte>(random.next());
  return out;
}

std::string fillShared(uint32_t offset, uint32_t bytes, uint32_t word) {
  return forEachWord(bytes, fmt::format("  add.u32 %r51, %r51, %dyn;\n  st.shared.b32 [%r51+{}], {};\n", offset, word));
}

std::string copyFromBuffer(uint32_t offset, uint32_t bytes, size_t buffer, uint64_t from) {
  return forEachWord(bytes,
                     fmt::format("  cvt.u64.u32 %rd24, %r51;\n  add.u64 %rd24, %rd24, %buf{};\n  ld.global.b32 %r52, [%rd24+{}];\n"
                                 "  add.u32 %r51, %r51, %dyn;\n  st.shared.b32 [%r51+{}], %r52;\n",
                                 buffer, from, offset));
}

std::string copyToBuffer(uint32_t offset, uint32_t bytes, size_t buffer, uint64_t to) {
  return forEachWord(bytes, fmt::format("  cvt.u64.u32 %rd24, %r51;\n  add.u64 %rd24, %rd24, %buf{};\n  add.u32 %r51, %r51, %dyn;\n"
                                        "  ld.shared.b32 %r52, [%r51+{}];\n  st.global.b32 [%rd24+{}], %r52;\n",
                                        buffer, offset, to));
}

std::string boundedWait(uint32_t barrier, const std::string& parity, const std::string& predicate) {
  const std::string again = uniqueLabel(), end = uniqueLabel();
  return fmt::format(
      "  add.u32 %r53, %dyn, {1};\n  mov.u32 %r54, 0;\n{0}:\n  mbarrier.try_wait.parity.shared::cta.b64 {3}, [%r53], {2};\n  @{3} "
      "bra {4};\n"
      "  add.u32 %r54, %r54, 1;\n  setp.lt.u32 %p12, %r54, 16;\n  @%p12 bra {0};\n{4}:\n",
      again, barrier, parity, predicate, end);
}

std::string byThread0(const std::string& text) {
  const std::string end = uniqueLabel();
  return fmt::format("  setp.ne.u32 %p12, %thread, 0;\n  @%p12 bra {};\n{}{}:\n", end, text, end);
}

std::string putWord(size_t buffer, uint32_t word, const std::string& reg) {
  return fmt::format("  st.global.b32 [%buf{}+{}], {};\n", buffer, 4 * word, reg);
}

std::string putPredicate(size_t buffer, uint32_t word, const std::string& predicate) {
  return fmt::format("  selp.b32 %r55, 1, 0, {};\n", predicate) + putWord(buffer, word, "%r55");
}

}  // namespace shiftconv::recordings
