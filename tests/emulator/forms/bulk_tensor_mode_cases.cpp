// Less common modes of the tensor copies: gather4, scatter4 and packed types.
#include <fmt/format.h>

#include "tests/emulator/forms/bulk_kernel.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;
using tma::DataType;
using tma::Swizzle;
using tma::TiledMap;

/// 20 rows of 128 bytes, boxes of one row.
TiledMap rows(Swizzle swizzle = Swizzle::None) {
  return {.type = DataType::U16, .rank = 2, .dims = {64, 20}, .strides = {128}, .box = {64, 1}, .swizzle = swizzle};
}

void gather(FormRun& form) {
  for (const char* spelling : {"2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes",
                               "2d.tile::gather4.shared::cluster.global.mbarrier::complete_tx::bytes"})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::B128}) {
      SCOPED_TRACE(spelling);
      const BulkKernel kernel{
          .body = expectBytes(512) +
                  fmt::format("  mov.u32 %r0, 17;\n  @%leader cp.async.bulk.tensor.{} [%tile+1024], [%map, {{8, "
                              "%r0, -1, 20, 3}}], [%bar];\n",
                              spelling) +
                  waitForBarrier() + "  add.u32 %tile, %tile, 1024;\n" + dumpTile(512),
          .input = randomBytes(form, 2560),
          .outputBytes = 512,
          .map = rows(swizzle)};
      LaunchReport report;
      const Bytes output = kernel.runEverySchedule(form, &report);
      const int source[] = {17, -1, 20, 3};
      for (size_t row = 0; row < 4; ++row)
        for (size_t chunk = 0; chunk < 8; ++chunk) {
          const bool inside = source[row] >= 0 && source[row] < 20 && chunk < 7;  // column 8 is one chunk further
          const size_t place = row * 128 + 16 * (swizzle == Swizzle::None ? chunk : chunk ^ row);
          EXPECT_EQ(slice(output, place, 16),
                    inside ? slice(kernel.input, static_cast<size_t>(source[row]) * 128 + 16 * (chunk + 1), 16)
                           : Bytes(16, std::byte{0}));
        }
    }
}

void gatherFaults(FormRun& form) {
  const auto kernel = [&](const std::string& rest, TiledMap map) {
    return BulkKernel{.body = "  @%leader cp.async.bulk.tensor." + rest + ", [%bar];\n",
                      .input = randomBytes(form, 2560),
                      .outputBytes = 16,
                      .map = map};
  };
  const std::string mode = "2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%tile], ";
  TiledMap tall = rows();
  tall.box[1] = 2;
  expectError(form, kernel(mode + "[%map, {0, 1, 2, 3, 4}]", tall), {"box of one row", "2 rows"});
  expectError(form, kernel(mode + "[%map, {0, 1}]", rows()), {"2 coordinates", "5"});
  expectError(form, kernel("3d" + mode.substr(2) + "[%map, {0, 1, 2, 3, 4}]", rows()), {"3d", "2d"});
}

void scatter(FormRun& form) {
  const BulkKernel kernel{.body = fillTile(512) + R"(
  mov.b64 %rd0, 0x12F0000000000000;
  @%leader cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group.L2::cache_hint [%map, {8, 19, 4, 20, 0}], [%tile], %rd0;
  @%leader cp.async.bulk.commit_group;
  @%leader cp.async.bulk.wait_group 0;
)",
                          .input = randomBytes(form, 512),
                          .outputBytes = 2560,
                          .map = rows(),
                          .mapOutput = true};
  const Bytes output = kernel.runEverySchedule(form);
  Bytes expected(2560, poison());
  const size_t target[] = {19, 4, 20, 0};
  for (size_t row = 0; row < 4; ++row)
    for (size_t byte = 0; byte < 112 && target[row] < 20; ++byte)
      expected[target[row] * 128 + 16 + byte] = kernel.input[row * 128 + byte];
  EXPECT_EQ(output, expected);
  BulkKernel negative = kernel;
  negative.body =
      fillTile(512) +
      "  @%leader cp.async.bulk.tensor.2d.tile::scatter4.global.shared::cta.bulk_group [%map, {0, 1, 2, -1, 3}], [%tile];\n";
  expectError(form, negative, {"coordinate 3 is negative"});
}

void prefetchGather(FormRun& form) {
  const BulkKernel kernel{.body = "  @%leader cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%map, {0, 1, 2, 3, 99}];\n",
                          .input = randomBytes(form, 2560),
                          .outputBytes = 16,
                          .map = rows()};
  EXPECT_EQ(kernel.runEverySchedule(form), Bytes(16, poison()));
}

/// 128 elements of 6 bits: 12 bytes and 4 bytes of padding per 16; reading the padding is a fault.
void loadPadded(FormRun& form) {
  const std::string load =
      expectBytes(192) +
      "  @%leader cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%map, {0, 1}], [%bar];\n" +
      waitForBarrier();
  const BulkKernel kernel{
      .body = load + R"(
  setp.lt.u32 %p0, %lane, 16;
  shl.b32 %r0, %lane, 4;
  add.u32 %r0, %r0, %tile;
  mul.wide.u32 %rd0, %lane, 12;
  add.u64 %rd0, %rd0, %out;
  @%p0 ld.shared.v2.u32 {%r1, %r2}, [%r0];
  @%p0 ld.shared.u32 %r3, [%r0+8];
  @%p0 st.global.u32 [%rd0], %r1;
  @%p0 st.global.u32 [%rd0+4], %r2;
  @%p0 st.global.u32 [%rd0+8], %r3;
)",
      .input = randomBytes(form, 384),
      .outputBytes = 192,
      .map = TiledMap{.type = DataType::U6Align16, .rank = 2, .dims = {128, 4}, .strides = {96}, .box = {128, 2}}};
  EXPECT_EQ(kernel.runEverySchedule(form), slice(kernel.input, 96, 192));
  BulkKernel padding = kernel;
  padding.body = load + "  @%leader ld.shared.u32 %r0, [%tile+12];\n  @%leader st.global.u32 [%out], %r0;\n";
  expectUndefined(form, padding);
}

}  // namespace

FormCases bulkTensorModeCases() {
  return {
      {bulkforms::kLoad, "gather4", gather},
      {bulkforms::kLoad, "gather4_faults", gatherFaults},
      {bulkforms::kLoad, "padded_elements", loadPadded},
      {bulkforms::kStore, "scatter4", scatter},
      {bulkforms::kPrefetch, "gather4", prefetchGather},
  };
}

}  // namespace shiftconv::tests
