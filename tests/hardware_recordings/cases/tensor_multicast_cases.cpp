// Tensor loads into several CTAs and with maps that the kernel itself edits (PTX ISA 9.0, 9.7.9.25.5.2, 9.7.9.26).
#include <fmt/format.h>

#include <array>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/program.hpp"
#include "tests/hardware_recordings/tensor_copy.hpp"

namespace shiftconv::recordings {
namespace {

const std::string kClusterSync = "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n";

/// Every CTA loads one tile into the CTAs of its mask; `expected` tiles arrive at each.
Case multicast(const TensorMap& map, uint32_t ctas, const std::vector<uint32_t>& masks) {
  const uint32_t tile = tileBytes(map), slot = (tile + 1023) / 1024 * 1024, area = ctas * slot;
  Program program;
  program.launch = {.grid = {ctas, 1, 1}, .block = {64, 1, 1}, .cluster = {ctas, 1, 1}, .dynamicShared = area + 16};
  const size_t data = program.input(tensorContents(map.type, tensorBytes(map), 91));
  TensorMap own = map;
  own.buffer = data;
  program.map(own);
  const size_t out = program.output(ctas * (area + 8));
  std::string issue, expect;
  for (uint32_t rank = 0; rank < ctas; ++rank) {
    uint32_t arriving = 0;
    for (const uint32_t mask : masks) arriving += mask >> rank & 1;
    CopyStart start;
    start.coordinates[1] = static_cast<int32_t>(2 * rank) - 1;
    const std::string other = uniqueLabel(), none = uniqueLabel();
    const std::string offsets = map.pixels ? ", {1, 0}" : "";
    expect +=
        fmt::format("  setp.ne.u32 %p2, %rank, {};\n  @%p2 bra {};\n  mbarrier.arrive.expect_tx.shared.b64 _, [%r20], {};\n{}:\n",
                    rank, other, arriving * tile, other);
    if (masks[rank] != 0)
      issue += fmt::format(
          "  setp.ne.u32 %p2, %rank, {};\n  @%p2 bra {};\n  mov.u16 %h0, {};\n  add.u32 %r21, %dyn, {};\n"
          "  cp.async.bulk.tensor.{}d.shared::cluster.global{}.mbarrier::complete_tx::bytes.multicast::cluster [%r21], [%map0, "
          "{}], [%r20]{}, %h0;\n{}:\n",
          rank, none, masks[rank], rank * slot, map.rank, map.pixels ? ".im2col" : ".tile", coordinateList(map, start), offsets,
          none);
  }
  program.body = fillShared(0, area) + fmt::format("  add.u32 %r20, %dyn, {};\n", area) +
                 byThread0("  mbarrier.init.shared.b64 [%r20], 1;\n  fence.mbarrier_init.release.cluster;\n" + expect) +
                 "  fence.proxy.async;\n" + kClusterSync + byThread0(issue) + boundedWait(area, "0", "%p0") +
                 fmt::format("  mul.wide.u32 %rd1, %rank, {0};\n  add.u64 %buf{1}, %buf{1}, %rd1;\n", area + 8, out) +
                 copyToBuffer(0, area, out) + byThread0(putPredicate(out, area / 4, "%p0")) + kClusterSync;
  return program.build();
}

/// Fields to replace, and the copy that uses the edited map.
struct Edit {
  std::vector<std::array<std::string, 2>> fields;  ///< name, operands after the address
  std::string coordinates;                         ///< "3d {0, 5, 0}"
  uint32_t tileBytes;
};

/// A map is edited field by field, published and used: either a copy in shared memory that goes to global memory with
/// tensormap.cp_fenceproxy, or a copy in global memory itself.
Case edited(const Edit& edit, bool inGlobal) {
  const TensorMap map{
      .type = kF16, .rank = 3, .dims = {64, 8, 2}, .strides = {128, 1024}, .box = {64, 4, 1, 1, 1}, .swizzle = k128B};
  constexpr uint32_t kTensor = 8 * 1024, kBarrier = 4096 + 128;
  Program program("sm_90a");
  program.launch = {.grid = {}, .block = {32, 1, 1}, .cluster = {}, .dynamicShared = kBarrier + 16};
  const size_t data = program.input(noise(2 * kTensor, 92));
  TensorMap own = map;
  own.buffer = data;
  program.map(own);
  const size_t published = program.input(std::vector<std::byte>(256)), out = program.output(4096 + 8);
  std::string replace = fmt::format("  add.u64 %rd1, %buf{}, {};\n", data, kTensor);
  for (const auto& [name, operands] : edit.fields)
    replace += fmt::format("  tensormap.replace.tile.{}.{}.b1024.b{} [{}], {};\n", name, inGlobal ? "global" : "shared::cta",
                           name == "global_address" || name == "global_stride" ? 64 : 32,
                           inGlobal ? fmt::format("%buf{}", published) : "%r30", operands);
  const std::string copy =
      inGlobal ? fmt::format("  cvt.u64.u32 %rd3, %r0;\n  add.u64 %rd3, %rd3, %buf{};\n  st.global.b32 [%rd3], %r1;\n", published)
               : std::string("  add.u32 %r0, %r0, %r30;\n  st.shared.b32 [%r0], %r1;\n");
  const std::string publish =
      inGlobal
          ? std::string("  fence.proxy.tensormap::generic.release.gpu;\n")
          : fmt::format(
                "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%buf{}], [%r30], 128;\n",
                published);
  program.body = fillShared(0, 4096) +
                 fmt::format(
                     "  add.u32 %r30, %dyn, 4096;\n  add.u32 %r10, %dyn, {};\n  shl.b32 %r0, %lane, 2;\n  cvt.u64.u32 %rd2, %r0;\n "
                     " add.u64 %rd2, %rd2, %map0;\n  ld.b32 %r1, [%rd2];\n",
                     kBarrier) +
                 copy + "  bar.warp.sync -1;\n" +
                 byThread0(replace + "  mbarrier.init.shared.b64 [%r10], 1;\n  fence.mbarrier_init.release.cluster;\n") +
                 "  fence.proxy.async;\n  bar.sync 0;\n" + publish +
                 fmt::format("  bar.sync 0;\n  fence.proxy.tensormap::generic.acquire.gpu [%buf{}], 128;\n", published) +
                 byThread0(fmt::format(
                     "  mbarrier.arrive.expect_tx.shared.b64 _, [%r10], {};\n  "
                     "cp.async.bulk.tensor.{}.shared::cluster.global.mbarrier::complete_tx::bytes [%dyn], [%buf{}, {}], [%r10];\n",
                     edit.tileBytes, edit.coordinates.substr(0, 2), published, edit.coordinates.substr(3))) +
                 boundedWait(kBarrier, "0", "%p0") + copyToBuffer(0, 4096, out) + byThread0(putPredicate(out, 1024, "%p0"));
  return program.build();
}

}  // namespace

void addTensorMulticastCases(CaseList& cases) {
  const TensorMap tile{.type = kF16, .rank = 2, .dims = {64, 16}, .strides = {128}, .box = {64, 8, 1, 1, 1}, .swizzle = k128B};
  TensorMap pixels{.type = kF16, .rank = 4, .dims = {32, 9, 7, 2}, .strides = {64, 576, 4032}, .swizzle = k64B};
  pixels.pixels = PixelBox{{-1, -1}, {-1, -1}, 32, 20};
  cases.push_back({"cluster", "tensor multicast to all of 2", [=] { return multicast(tile, 2, {3, 3}); }});
  cases.push_back({"cluster", "tensor multicast crosswise in 2", [=] { return multicast(tile, 2, {2, 1}); }});
  cases.push_back({"cluster", "tensor multicast to some of 4", [=] { return multicast(tile, 4, {0b1010, 0b0111, 0, 0b1001}); }});
  cases.push_back({"cluster", "im2col multicast to some of 4", [=] {
                     return multicast(pixels, 4, {0b0011, 0b1111, 0b1000, 0b0100});
                   }});
  const Edit size{{{"global_address", "%rd1"},
                   {"global_dim", "1, 7"},
                   {"global_stride", "0, 256"},
                   {"global_stride", "1, 2048"},
                   {"box_dim", "1, 3"},
                   {"box_dim", "2, 2"},
                   {"swizzle_mode", "2"},
                   {"box_dim", "0, 32"},
                   {"elemtype", "1"}},
                  "3d {0, 5, 0}",
                  32 * 3 * 2 * 2};
  const Edit shape{{{"rank", "1"},
                    {"elemtype", "6"},
                    {"global_dim", "0, 40"},
                    {"global_dim", "1, 6"},
                    {"global_stride", "0, 96"},
                    {"box_dim", "0, 16"},
                    {"box_dim", "1, 9"},
                    {"element_stride", "1, 2"},
                    {"fill_mode", "1"},
                    {"interleave_layout", "0"},
                    {"swizzle_mode", "1"}},
                   "2d {32, -1}",
                   16 * 5 * 2};
  for (const bool inGlobal : {false, true}) {
    const std::string place = inGlobal ? "global" : "shared";
    cases.push_back({"tensor load", "tensormap.replace of size and place in " + place, [=] { return edited(size, inGlobal); }});
    cases.push_back({"tensor load", "tensormap.replace of rank and modes in " + place, [=] { return edited(shape, inGlobal); }});
  }
}

}  // namespace shiftconv::recordings
