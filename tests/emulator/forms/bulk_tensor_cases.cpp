// cp.async.bulk.tensor and the prefetches with a tensor map. What a tile holds is tested in tests/emulator/tma; here it
// is how instructions say which tile, where, and who is told.
#include <fmt/format.h>

#include <cstring>

#include "tests/emulator/forms/bulk_kernel.hpp"

namespace shiftconv::tests::bulk_tensor_cases {
namespace {

using namespace emulator;
using tma::DataType;
using tma::PixelBox;
using tma::Swizzle;
using tma::TiledMap;

/// 20 rows of 32 halves; box of 4 rows: 256 bytes, dense.
TiledMap matrix() { return {.type = DataType::F16, .rank = 2, .dims = {32, 20}, .strides = {64}, .box = {32, 4}}; }

BulkKernel matrixKernel(FormRun& form, const std::string& body, uint32_t tileBytes = 256) {
  return {.body = body, .input = randomBytes(form, 32 * 20 * 2), .outputBytes = tileBytes, .map = matrix()};
}

void loadInEverySpelling(FormRun& form) {
  const char* spellings[] = {
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {%r0, %r1}], [%bar]",
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%tile], [%map, {%r0, 3}], [%bar]",
      "cp.async.bulk.tensor.2d.tile.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%map, {0, %r1}], [%bar]",
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%tile], [%map, {%r0, %r1}], "
      "[%bar], %rd0",
      "cp.async.bulk.tensor.2d.cta_group::1.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%map, {%r0, %r1}], "
      "[%bar]",
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.cta_group::1.L2::cache_hint [%tile], [%map, "
      "{%r0, %r1}], [%bar], %rd0",
  };
  for (const char* spelling : spellings) {
    SCOPED_TRACE(spelling);
    const BulkKernel kernel =
        matrixKernel(form, "  mov.b64 %rd0, 0x1000000000000000;\n  mov.u32 %r0, 0;\n  mov.u32 %r1, 3;\n" + expectBytes(256) +
                               "  @%leader " + spelling + ";\n" + waitForBarrier() + dumpTile(256));
    EXPECT_EQ(kernel.runEverySchedule(form), slice(kernel.input, 3 * 64, 256));
  }
}

void loadEveryRank(FormRun& form) {
  for (uint32_t rank = 1; rank <= 5; ++rank) {
    SCOPED_TRACE(rank);
    TiledMap map{.type = DataType::F32, .rank = rank, .dims = {32, 2, 2, 2, 2}, .box = {32, 1, 1, 1, 1}};
    for (uint32_t i = 0; i + 1 < rank; ++i) map.strides[i] = uint64_t{128} << i;
    std::string coordinates = "0";
    for (uint32_t i = 1; i < rank; ++i) coordinates += ", 1";
    const BulkKernel kernel{
        .body = expectBytes(128) +
                fmt::format("  @%leader cp.async.bulk.tensor.{}d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, "
                            "{{{}}}], [%bar];\n",
                            rank, coordinates) +
                waitForBarrier() + dumpTile(128),
        .input = randomBytes(form, size_t{128} << (rank - 1)),
        .outputBytes = 128,
        .map = map};
    EXPECT_EQ(kernel.runEverySchedule(form), slice(kernel.input, kernel.input.size() - 128, 128)) << "the last row";
  }
}

/// Negative coordinates, rows past the end, and the full byte count for a tile that lies partly outside.
void loadOutside(FormRun& form) {
  const BulkKernel kernel = matrixKernel(form, expectBytes(512) + R"(
  mov.u32 %r0, -8;
  @%leader cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {%r0, -2}], [%bar];
  @%leader cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile+256], [%map, {8, 18}], [%bar];
)" + waitForBarrier() + dumpTile(512),
                                         512);
  LaunchReport report;
  const Bytes output = kernel.runEverySchedule(form, &report);
  const auto expected = [&](int row, int column) {
    const bool inside = row >= 0 && row < 20 && column >= 0 && column < 32;
    return inside ? slice(kernel.input, static_cast<size_t>(row * 64 + column * 2), 2) : Bytes(2, std::byte{0});
  };
  for (int tile = 0; tile < 2; ++tile)
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 32; ++column)
        ASSERT_EQ(slice(output, static_cast<size_t>(tile * 256 + row * 64 + column * 2), 2),
                  expected((tile ? 18 : -2) + row, (tile ? 8 : -8) + column));
  EXPECT_EQ(report.counters.bytes[static_cast<size_t>(Engine::BulkCopy)][static_cast<size_t>(Traffic::SharedWrite)], 512u);
  EXPECT_EQ(report.counters.bytes[static_cast<size_t>(Engine::BulkCopy)][static_cast<size_t>(Traffic::GlobalRead)],
            2u * 48 + 2 * 48);
}

void loadSwizzled(FormRun& form) {
  BulkKernel kernel{
      .body =
          expectBytes(1024) +
          "  @%leader cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {0, 1}], [%bar];\n" +
          waitForBarrier() + dumpTile(1024),
      .input = randomBytes(form, 1280),
      .outputBytes = 1024,
      .map = TiledMap{
          .type = DataType::U8, .rank = 2, .dims = {128, 10}, .strides = {128}, .box = {128, 8}, .swizzle = Swizzle::B128}};
  const Bytes output = kernel.runEverySchedule(form);
  for (size_t row = 0; row < 8; ++row)
    for (size_t chunk = 0; chunk < 8; ++chunk)
      EXPECT_EQ(slice(output, row * 128 + (chunk ^ row) * 16, 16), slice(kernel.input, (row + 1) * 128 + chunk * 16, 16));
}

/// CTA 1 loads into CTA 0; in a second kernel one multicast feeds both.
void loadToPeersAndMulticast(FormRun& form) {
  BulkKernel remote = matrixKernel(
      form, "  setp.eq.and.u32 %p0, %rank, 0, %leader;\n  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 256;\n" +
                clusterBarrier() + R"(
  setp.eq.and.u32 %p1, %rank, 1, %leader;
  mapa.shared::cluster.u32 %r0, %tile, 0;
  mapa.shared::cluster.u32 %r1, %bar, 0;
  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r0], [%map, {0, 16}], [%r1];
  setp.ne.u32 %p2, %rank, 0;
  @%p2 bra done;
)" + waitForBarrier() +
                dumpTile(256) + "done:\n");
  remote.ctas = 2;
  EXPECT_EQ(remote.runEverySchedule(form), slice(remote.input, 16 * 64, 256));

  BulkKernel multicast = matrixKernel(form, expectBytes(512) + clusterBarrier() + R"(
  mov.u16 %h0, 3;
  shl.b32 %r0, %rank, 8;
  add.u32 %r0, %r0, %tile;
  shl.b32 %r1, %rank, 2;
  @%leader cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r0], [%map, {0, %r1}], [%bar], %h0;
)" + waitForBarrier() + dumpTile(512),
                                      1024);
  multicast.ctas = 2;
  const Bytes output = multicast.runEverySchedule(form);
  EXPECT_EQ(slice(output, 0, 512), slice(multicast.input, 0, 512)) << "each CTA holds the tiles of both issuers";
  EXPECT_EQ(slice(output, 512, 512), slice(multicast.input, 0, 512));
}

/// Both CTAs of a pair load their own tile, and the even one's barrier hears of all bytes: CTA-pair kernels clear bit 24
/// of the barrier address for this.
void loadPairSignal(FormRun& form) {
  for (const char* head : {"cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes",
                           "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2"}) {
    BulkKernel kernel = matrixKernel(
        form,
        "  setp.eq.and.u32 %p0, %rank, 0, %leader;\n  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;\n" +
            clusterBarrier() + "  and.b32 %r0, %bar, 0xfeffffff;\n  shl.b32 %r1, %rank, 3;\n  @%leader " + head +
            " [%tile], [%map, {0, %r1}], [%r0];\n  setp.ne.u32 %p2, %rank, 0;\n  @%p2 bra told;\n" + waitForBarrier() + "told:\n" +
            clusterBarrier() + dumpTile(256),
        512);
    kernel.ctas = 2;
    const Bytes output = kernel.runEverySchedule(form);
    EXPECT_EQ(slice(output, 0, 256), slice(kernel.input, 0, 256));
    EXPECT_EQ(slice(output, 256, 256), slice(kernel.input, 8 * 64, 256));
  }
}

/// Multicast under .cta_group::2 in a cluster of 4: in every pair the barrier of the member whose parity the barrier
/// operand has collects the bytes of both members.
void loadPairMulticast(FormRun& form) {
  for (const unsigned parity : {0u, 1u}) {
    SCOPED_TRACE(parity);
    BulkKernel kernel = matrixKernel(form,
                                     fmt::format(R"(
  and.b32 %r2, %rank, 1;
  setp.eq.and.u32 %p0, %r2, {0}, %leader;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;
  {1}
  setp.eq.and.u32 %p1, %rank, 1, %leader;
  mov.u16 %h0, 0xf;
  mapa.shared::cluster.u32 %r0, %bar, {0};
  @%p1 cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%tile], [%map, {{0, 7}}], [%r0], %h0;
  setp.ne.u32 %p2, %r2, {0};
  @%p2 bra told;
  {2}
told:
)",
                                                 parity, clusterBarrier(), waitForBarrier()) +
                                         clusterBarrier() + dumpTile(256),
                                     1024);
    kernel.ctas = 4;
    LaunchReport report;
    const Bytes output = kernel.runEverySchedule(form, &report);
    for (size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(slice(output, 256 * rank, 256), slice(kernel.input, 7 * 64, 256)) << rank;
    const auto& bytes = report.counters.bytes[static_cast<size_t>(Engine::BulkCopy)];
    EXPECT_EQ(bytes[static_cast<size_t>(Traffic::GlobalRead)], 256u) << "a multicast reads once";
    EXPECT_EQ(bytes[static_cast<size_t>(Traffic::SharedWrite)], 1024u);
  }
}

/// 5x5 image of 8 channels, corners -1, tap (1, 2) of a 3x3 filter by offsets {2, 1}.
void loadIm2col(FormRun& form) {
  const PixelBox pixels{.lowerCorner = {-1, -1}, .upperCorner = {-1, -1}, .channelsPerPixel = 8, .pixelsPerColumn = 24};
  const BulkKernel kernel{.body = expectBytes(384) + R"(
  mov.u16 %h0, 2;
  mov.u16 %h1, 1;
  @%leader cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%tile], [%map, {0, -1, -1, 0}], [%bar], {%h0, %h1};
)" + waitForBarrier() + dumpTile(384),
                          .input = randomBytes(form, 400),
                          .outputBytes = 384,
                          .map = TiledMap{.type = DataType::F16, .rank = 4, .dims = {8, 5, 5, 1}, .strides = {16, 80, 400}},
                          .pixels = pixels};
  const Bytes output = kernel.runEverySchedule(form);
  for (size_t m = 0; m < 24; ++m) {
    const size_t h = m / 5 + 0, w = m % 5 + 1;  // output pixel (p, q) reads (p - 1 + 1, q - 1 + 2)
    EXPECT_EQ(slice(output, 16 * m, 16), w < 5 ? slice(kernel.input, 80 * h + 16 * w, 16) : Bytes(16, std::byte{0})) << m;
  }
}

/// Each CTA of a pair loads one half of the pixels of the image for both; the second half begins at pixel (2, 1) and ends beyond
/// the image.
void loadIm2colMulticast(FormRun& form) {
  BulkKernel kernel{.body = expectBytes(512) + clusterBarrier() + R"(
  mov.u16 %h0, 2;
  mov.u16 %h1, 1;
  mov.u16 %h2, 3;
  mul.lo.u32 %r0, %rank, 256;
  add.u32 %r0, %r0, %tile;
  sub.u32 %r1, %rank, 1;
  shl.b32 %r2, %rank, 1;
  add.u32 %r2, %r2, -1;
  @%leader cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%r0], [%map, {0, %r1, %r2, 0}], [%bar], {%h0, %h1}, %h2;
)" + waitForBarrier() + dumpTile(512),
                    .input = randomBytes(form, 400),
                    .outputBytes = 1024,
                    .map = TiledMap{.type = DataType::F16, .rank = 4, .dims = {8, 5, 5, 1}, .strides = {16, 80, 400}},
                    .pixels =
                        PixelBox{.lowerCorner = {-1, -1}, .upperCorner = {-1, -1}, .channelsPerPixel = 8, .pixelsPerColumn = 16}};
  kernel.ctas = 2;
  LaunchReport report;
  const Bytes output = kernel.runEverySchedule(form, &report);
  for (size_t cta = 0; cta < 2; ++cta)
    for (size_t m = 0; m < 32; ++m) {
      const size_t pixel = m < 16 ? m : m - 16 + 11;  // of the box, which begins at (-1, -1)
      const size_t h = pixel / 5, w = pixel % 5 + 1;
      EXPECT_EQ(slice(output, 512 * cta + 16 * m, 16),
                w < 5 && h < 5 ? slice(kernel.input, 80 * h + 16 * w, 16) : Bytes(16, std::byte{0}))
          << cta << " " << m;
    }
  EXPECT_EQ(report.counters.bytes[static_cast<size_t>(Engine::BulkCopy)][static_cast<size_t>(Traffic::SharedWrite)], 1024u);
}

void loadFaults(FormRun& form) {
  const auto kernel = [&](const std::string& rest) {
    return matrixKernel(form, "  add.u64 %rd0, %map, 64;\n  @%leader cp.async.bulk.tensor." + rest + ";\n");
  };
  const std::string load = ".shared::cta.global.mbarrier::complete_tx::bytes ";
  expectError(form, kernel("3d" + load + "[%tile], [%map, {0, 0, 0}], [%bar]"), {"3d copy", "rank 2", "bulk.tensor"});
  expectError(form, kernel("2d" + load + "[%tile], [%map, {0}], [%bar]"), {"1 coordinates", "2"});
  expectError(form, kernel("2d" + load + "[%tile], [%map, {0, 0}], [%bar], %rd0"), {"operands"});
  expectError(form, kernel("2d" + load + "[%tile+16], [%map, {0, 0}], [%bar]"), {"128"});
  expectError(form, kernel("2d" + load + "[%tile], [%map, {4, 0}], [%bar]"), {"{4, 0}", "multiple of 8"});
  expectError(form, kernel("2d" + load + "[%tile], [%rd0, {0, 0}], [%bar]"), {"bytes"});
  expectError(form, kernel("2d" + load + "[%tile], [%in, {0, 0}], [%bar]"), {"not a tensor map"});
  expectError(form,
              kernel("2d.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [%tile], [%map, {0, 0}], [%bar], %h0"),
              {".shared::cluster"});
  expectError(form,
              kernel("4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%tile], [%map, {0, 0, 0, 0}], [%bar], {%h0, %h0}"),
              {"4d", "rank 2"});

  BulkKernel garbage = kernel("2d" + load + "[%tile], [%map, {0, 0}], [%bar]");
  garbage.breakMap = true;
  expectError(form, garbage, {"not a tensor map", "overwritten"});
  BulkKernel wrongMode = garbage;
  wrongMode.breakMap = false;
  wrongMode.input = randomBytes(form, 32 * 4 * 4 * 2);
  wrongMode.map = TiledMap{.type = DataType::F16, .rank = 3, .dims = {32, 4, 4}, .strides = {64, 256}};
  wrongMode.pixels = PixelBox{.channelsPerPixel = 8, .pixelsPerColumn = 8};
  wrongMode.body = "  @%leader cp.async.bulk.tensor.3d" + load + "[%tile], [%map, {0, 0, 0}], [%bar];\n";
  expectError(form, wrongMode, {"tile mode", "encoded for im2col mode"});
}

void store(FormRun& form) {
  for (const char* head : {"2d.global.shared::cta.bulk_group", "2d.tile.global.shared::cta.bulk_group",
                           "2d.global.shared::cta.tile.bulk_group.L2::cache_hint"}) {
    SCOPED_TRACE(head);
    BulkKernel kernel{.body = fillTile(256) +
                              "  mov.b64 %rd0, 0x12F0000000000000;\n  mov.u32 %r0, 8;\n  @%leader cp.async.bulk.tensor." + head +
                              " [%map, {%r0, 18}], [%tile]" + (std::string(head).ends_with("hint") ? ", %rd0" : "") +
                              ";\n  @%leader cp.async.bulk.commit_group;\n  @%leader cp.async.bulk.wait_group 0;\n",
                      .input = randomBytes(form, 256),
                      .outputBytes = 32 * 20 * 2,
                      .map = matrix(),
                      .mapOutput = true};
    LaunchReport report;
    const Bytes output = kernel.runEverySchedule(form, &report);
    for (size_t row = 0; row < 20; ++row)
      for (size_t byte = 0; byte < 64; ++byte) {
        const bool written = row >= 18 && byte >= 16;  // what lies past column 31 and row 19 is dropped
        ASSERT_EQ(output[row * 64 + byte], written ? kernel.input[(row - 18) * 64 + byte - 16] : poison()) << row << " " << byte;
      }
    EXPECT_EQ(report.counters.bytes[static_cast<size_t>(Engine::BulkCopy)][static_cast<size_t>(Traffic::GlobalWrite)], 2u * 48);
  }
}

void storeIm2col(FormRun& form) {
  const BulkKernel kernel{.body = fillTile(128) + R"(
  @%leader cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%map, {0, 2, 0}], [%tile];
  @%leader cp.async.bulk.commit_group;
  @%leader cp.async.bulk.wait_group 0;
)",
                          .input = randomBytes(form, 128),
                          .outputBytes = 160,
                          .map = TiledMap{.type = DataType::F16, .rank = 3, .dims = {8, 5, 2}, .strides = {16, 80}},
                          .pixels = PixelBox{.channelsPerPixel = 8, .pixelsPerColumn = 8},
                          .mapOutput = true};
  const Bytes output = kernel.runEverySchedule(form);
  EXPECT_EQ(slice(output, 0, 32), Bytes(32, poison()));
  EXPECT_EQ(slice(output, 32, 128), kernel.input) << "eight pixels from pixel 2 on, over the end of the first image";
}

void storeFaults(FormRun& form) {
  const auto kernel = [&](const std::string& operands) {
    BulkKernel result =
        matrixKernel(form, fillTile(256) + "  @%leader cp.async.bulk.tensor.2d.global.shared::cta.bulk_group " + operands + ";\n");
    return result;
  };
  expectError(form, kernel("[%map, {-8, 0}], [%tile]"), {"{-8, 0}", "coordinate 0 is negative"});
  expectError(form, kernel("[%map, {0, -1}], [%tile]"), {"coordinate 1 is negative"});
  expectError(form, kernel("[%map, {0, 0}], [%tile+32]"), {"128"});
  expectUndefined(form, kernel("[%map, {0, 0}], [%tile+128]"));
}

void prefetchTensor(FormRun& form) {
  for (const char* text : {"cp.async.bulk.prefetch.tensor.2d.L2.global [%map, {0, 0}]",
                           "cp.async.bulk.prefetch.tensor.2d.L2.global.tile.L2::cache_hint [%map, {-8, 99}], %rd0",
                           "cp.async.bulk.prefetch.tensor.2d.tile.L2.global [%map, {0, 0}]"}) {
    const BulkKernel kernel = matrixKernel(form, fmt::format("  mov.b64 %rd0, 0;\n  @%leader {};\n", text));
    EXPECT_EQ(kernel.runEverySchedule(form), Bytes(256, poison()));
  }
  BulkKernel garbage = matrixKernel(form, "  @%leader cp.async.bulk.prefetch.tensor.2d.L2.global [%map, {0, 0}];\n");
  garbage.breakMap = true;
  expectError(form, garbage, {"not a tensor map"});
}

void prefetchMap(FormRun& form) {
  for (const char* text : {"prefetch.tensormap [%map]", "prefetch.param.tensormap [map]"})
    EXPECT_EQ(matrixKernel(form, fmt::format("  @%leader {};\n", text)).runEverySchedule(form), Bytes(256, poison()));
  expectError(form, matrixKernel(form, "  @%leader prefetch.tensormap [%map+8];\n"), {"prefetch.tensormap"});
  expectError(form, matrixKernel(form, "  mov.b64 %rd0, 64;\n  @%leader prefetch.tensormap [%rd0];\n"),
              {"outside every allocation"});
}

}  // namespace

FormCases all() {
  return {
      {bulkforms::kLoad, "every_spelling", loadInEverySpelling},
      {bulkforms::kLoad, "every_rank", loadEveryRank},
      {bulkforms::kLoad, "outside_the_tensor", loadOutside},
      {bulkforms::kLoad, "swizzled", loadSwizzled},
      {bulkforms::kLoad, "to_peers_and_multicast", loadToPeersAndMulticast},
      {bulkforms::kLoad, "pair_signal", loadPairSignal},
      {bulkforms::kLoad, "pair_multicast", loadPairMulticast},
      {bulkforms::kLoad, "im2col", loadIm2col},
      {bulkforms::kLoad, "im2col_multicast", loadIm2colMulticast},
      {bulkforms::kLoad, "faults", loadFaults},
      {bulkforms::kStore, "drops_what_lies_outside", store},
      {bulkforms::kStore, "im2col", storeIm2col},
      {bulkforms::kStore, "faults", storeFaults},
      {bulkforms::kPrefetch, "has_no_effect", prefetchTensor},
      {bulkforms::kMapPrefetch, "has_no_effect", prefetchMap},
  };
}

}  // namespace shiftconv::tests::bulk_tensor_cases

namespace shiftconv::tests {
FormCases bulkTensorCases() { return bulk_tensor_cases::all(); }
}  // namespace shiftconv::tests
