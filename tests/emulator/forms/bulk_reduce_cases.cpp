// cp.reduce.async.bulk with and without tensor maps. Expectations: exact arithmetic for floats (exact_real.hpp), integer
// formulas of PTX ISA 9.0, 9.7.9.25.4.2 for the rest.
#include <fmt/format.h>

#include <cstring>

#include "tests/emulator/forms/bulk_kernel.hpp"
#include "tests/emulator/forms/float_oracle.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator;
using tma::DataType;
using tma::TiledMap;

#define GLOBAL "cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}"
#define PEER "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
constexpr std::string_view kTensor =
    "cp.reduce.async.bulk.tensor.(1d|2d|3d|4d|5d).global.shared::cta.(add|min|max|inc|dec|and|or|xor){.(tile|im2col_no_offs)}"
    ".bulk_group{.L2::cache_hint}";

uint32_t bytesOf(std::string_view type) {
  if (type.ends_with("16")) return 2;
  return type.ends_with("64") ? 8 : 4;
}

/// -0 before +0, NaNs lose.
uint64_t expectedHalfExtreme(Format format, bool minimum, uint64_t a, uint64_t b) {
  if (isNan(format, a) || isNan(format, b)) return isNan(format, a) ? isNan(format, b) ? nanOf(format) : b : a;
  const auto order = [](uint64_t bits) { return (bits & 0x8000) != 0 ? 0xffff - bits : bits + 0x8000; };
  return (order(a) < order(b)) == minimum ? a : b;
}

/// The new value in memory.
uint64_t expectedElement(std::string_view operation, std::string_view type, uint64_t old, uint64_t value) {
  const uint64_t mask = bytesOf(type) == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytesOf(type)) - 1;
  if (operation == "and") return old & value;
  if (operation == "or") return old | value;
  if (operation == "xor") return old ^ value;
  if (operation == "inc") return old >= value ? 0 : old + 1;
  if (operation == "dec") return old == 0 || old > value ? value : old - 1;
  const bool floating = type[0] == 'f' || type == "bf16";
  if (floating) {
    const Format format = type == "f16" ? kHalf : type == "bf16" ? kBfloat : type == "f32" ? kSingle : kDouble;
    if (operation == "add") return expectedSum({.format = format}, old, value, false, format);
    return expectedHalfExtreme(format, operation == "min", old, value);
  }
  if (operation == "add") return (old + value) & mask;
  const auto widened = [&](uint64_t bits) { return bytesOf(type) == 8 ? static_cast<int64_t>(bits) : static_cast<int32_t>(bits); };
  const bool less = type[0] == 's' ? widened(old) < widened(value) : old < value;
  return less == (operation == "min") ? old : value;
}

uint64_t element(const Bytes& bytes, size_t offset, uint32_t size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, size);
  return value;
}

/// Random values, among them equal pairs, small counters and subnormals; the first half is the operand, the second memory.
Bytes reductionInput(FormRun& form, std::string_view operation, std::string_view type, uint32_t half) {
  Bytes input = randomBytes(form, 2 * half);
  const uint32_t size = bytesOf(type);
  for (uint32_t i = 0; i < 2 * half; i += size) {
    uint64_t value = element(input, i, size);
    if (operation == "inc" || operation == "dec") value &= 7;
    if (type == "f32" && i / size % 4 < 2) value &= 0x80ffffff;  // subnormals, and sums that become subnormal
    if (type == "f16" && i / size % 4 < 2) value &= 0x87ff;
    if (type == "bf16" && i / size % 4 < 2) value &= 0x80ff;
    if (i >= half && i / size % 5 == 0) value = element(input, i - half, size);
    std::memcpy(input.data() + i, &value, size);
  }
  return input;
}

void expectReduced(std::string_view operation, std::string_view type, const Bytes& memory, const Bytes& old, const Bytes& operand) {
  const uint32_t size = bytesOf(type);
  const Format format = type == "f64" ? kDouble : kSingle;
  for (size_t i = 0; i < old.size(); i += size) {
    const uint64_t was = element(old, i, size), value = element(operand, i, size), is = element(memory, i, size);
    const uint64_t expected = expectedElement(operation, type, was, value);
    if (type == "f64" ? !sameFloat(format, is, expected) : is != expected)
      ADD_FAILURE() << operation << '.' << type << " of " << std::hex << was << " and " << value << " gave " << is << ", not "
                    << expected;
  }
}

/// 512 bytes of memory, of which the reduction touches [16, 496).
void reduceGlobal(FormRun& form, std::string_view operation, std::string_view spelling, std::string_view type) {
  SCOPED_TRACE(fmt::format("{}{}.{}", operation, spelling, type));
  const BulkKernel kernel{.body = fillTile(1024) + fmt::format(R"(
  mov.b64 %rd0, 0x12F0000000000000;
  @!%leader bra done;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%tile+512], 512;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.{0}{1}.{2} [%out+16], [%tile+16], 240;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.{0}{1}.{2} [%out+256], [%tile+256], 240, %rd0;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
done:
)",
                                                               operation, spelling, type),
                          .input = reductionInput(form, operation, type, 512),
                          .outputBytes = 512};
  const Bytes output = kernel.runEverySchedule(form), old = slice(kernel.input, 512, 512);
  EXPECT_EQ(slice(output, 0, 16), slice(old, 0, 16));
  EXPECT_EQ(slice(output, 496, 16), slice(old, 496, 16));
  expectReduced(operation, type, slice(output, 16, 480), slice(old, 16, 480), slice(kernel.input, 16, 480));
}

using Names = std::vector<std::string_view>;

std::function<void(FormRun&)> globalCase(Names operations, std::string_view spelling, Names types) {
  return [=](FormRun& form) {
    for (std::string_view operation : operations)
      for (std::string_view type : types) reduceGlobal(form, operation, spelling, type);
  };
}

/// Each CTA combines 240 bytes into the other one's tile.
void reducePeer(FormRun& form, std::string_view operation, std::string_view type) {
  SCOPED_TRACE(fmt::format("{}.{}", operation, type));
  const BulkKernel kernel{.body = fillTile(512) + expectBytes(240) + clusterBarrier() +
                                  fmt::format(R"(
  xor.b32 %r0, %rank, 1;
  mapa.shared::cluster.u32 %r1, %tile, %r0;
  mapa.shared::cluster.u32 %r2, %bar, %r0;
  @%leader cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{}.{} [%r1+256], [%tile], 240, [%r2];
)",
                                              operation, type) +
                                  waitForBarrier() + dumpTile(512),
                          .ctas = 2,
                          .input = reductionInput(form, operation, type, 256),
                          .outputBytes = 1024};
  const Bytes output = kernel.runEverySchedule(form), old = slice(kernel.input, 256, 256);
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(slice(output, 512 * rank, 256), slice(kernel.input, 0, 256)) << "the operand stays";
    EXPECT_EQ(slice(output, 512 * rank + 496, 16), slice(old, 240, 16));
    expectReduced(operation, type, slice(output, 512 * rank + 256, 240), slice(old, 0, 240), slice(kernel.input, 0, 240));
  }
}

std::function<void(FormRun&)> peerCase(Names operations, Names types) {
  return [=](FormRun& form) {
    for (std::string_view operation : operations)
      for (std::string_view type : types) reducePeer(form, operation, type);
  };
}

/// Two CTAs add to the same words.
void everyAdditionCounts(FormRun& form) {
  const BulkKernel kernel{.body = fillTile(128) + R"(
  mov.u32 %r0, 0;
  setp.eq.and.u32 %p0, %rank, 0, %leader;
  @%p0 st.global.v4.u32 [%out+16], {%r0, %r0, %r0, %r0};
)" + clusterBarrier() + R"(
  @%leader cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out+16], [%tile], 16;
  @%leader cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out+16], [%tile+16], 16;
  @%leader cp.async.bulk.commit_group;
  @%leader cp.async.bulk.wait_group 0;
)",
                          .ctas = 2,
                          .input = randomBytes(form, 128),
                          .outputBytes = 32};
  const Bytes output = kernel.runEverySchedule(form);
  for (size_t i = 0; i < 16; i += 4)
    EXPECT_EQ(element(output, 16 + i, 4),
              static_cast<uint32_t>(2 * (element(kernel.input, i, 4) + element(kernel.input, 16 + i, 4))));
}

void globalFaults(FormRun& form) {
  const auto kernel = [&](const std::string& rest) {
    return BulkKernel{.body = fillTile(128) + "  @%leader cp.reduce.async.bulk.global.shared::cta.bulk_group." + rest + ";\n",
                      .input = randomBytes(form, 128),
                      .outputBytes = 128};
  };
  expectError(form, kernel("add.u32 [%out+8], [%tile], 16"), {"global write of 16 bytes", "16"});
  expectError(form, kernel("add.u32 [%out], [%tile], 8"), {"size 8"});
  expectUndefined(form, kernel("add.u32 [%out], [%tile+128], 16"));
  // Pairs that do not exist; the assembler refuses them, too.
  for (const char* pair : {"add.f16", "add.s64", "min.f32", "min.noftz.f16", "inc.u64", "and.u32"})
    expectError(form, kernel(std::string(pair) + " [%out], [%tile], 16"), {"cp.reduce.async.bulk"});
}

struct TensorRow {
  DataType type;
  std::string_view name;
  Names operations;
};

/// 20 rows of 128 bytes; the tile covers rows 17 to 20, of which the last one does not exist, from byte 64 on.
void reduceTensor(FormRun& form) {
  const TensorRow rows[] = {
      {DataType::U32, "u32", {"add", "min", "max", "inc", "dec", "and", "or", "xor"}},
      {DataType::S32, "s32", {"add", "min", "max", "xor"}},
      {DataType::U64, "u64", {"add", "min", "max", "and", "or"}},
      {DataType::S64, "s64", {"min", "max"}},
      {DataType::F32, "f32", {"add"}},
      {DataType::F16, "f16", {"add", "min", "max"}},
      {DataType::BF16, "bf16", {"add", "min", "max"}},
  };
  for (const TensorRow& row : rows)
    for (std::string_view operation : row.operations) {
      SCOPED_TRACE(fmt::format("{}.{}", operation, row.name));
      const uint32_t size = bytesOf(row.name);
      const TiledMap map{.type = row.type, .rank = 2, .dims = {128 / size, 20}, .strides = {128}, .box = {128 / size, 4}};
      // The operand fills [0, 512) of the tile; [512, 1024) is what rows 16 to 19 hold beforehand.
      const BulkKernel kernel{.body = fillTile(1024) + fmt::format(R"(
  @!%leader bra done;
  cp.async.bulk.global.shared::cta.bulk_group [%out+2048], [%tile+512], 512;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  cp.reduce.async.bulk.tensor.2d.global.shared::cta.{}{}.bulk_group [%map, {{{}, 17}}], [%tile];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
done:
)",
                                                                   operation, operation == "add" ? "" : ".tile", 64 / size),
                              .input = reductionInput(form, operation, row.name, 512),
                              .outputBytes = 2560,
                              .map = map,
                              .mapOutput = true};
      const Bytes output = kernel.runEverySchedule(form);
      EXPECT_EQ(slice(output, 0, 2048), Bytes(2048, poison()));
      EXPECT_EQ(slice(output, 2048, 128), slice(kernel.input, 512, 128));
      for (size_t r = 1; r < 4; ++r) {
        EXPECT_EQ(slice(output, 2048 + 128 * r, 64), slice(kernel.input, 512 + 128 * r, 64));
        expectReduced(operation, row.name, slice(output, 2048 + 128 * r + 64, 64), slice(kernel.input, 512 + 128 * r + 64, 64),
                      slice(kernel.input, 128 * (r - 1), 64));
      }
    }
}

void tensorFaults(FormRun& form) {
  const auto kernel = [&](DataType type, std::string_view operation, const char* coordinates = "0, 0") {
    const uint32_t size = tma::elementBits(type) / 8;
    return BulkKernel{.body = fillTile(512) + fmt::format("  @%leader cp.reduce.async.bulk.tensor.2d.global.shared::cta.{}.tile"
                                                          ".bulk_group.L2::cache_hint [%map, {{{}}}], [%tile], %rd0;\n",
                                                          operation, coordinates),
                      .input = randomBytes(form, 512),
                      .outputBytes = 512,
                      .map = TiledMap{.type = type, .rank = 2, .dims = {128 / size, 4}, .strides = {128}, .box = {128 / size, 4}},
                      .mapOutput = true};
  };
  expectError(form, kernel(DataType::U8, "add"), {"reduction .add", "UINT8"});
  expectError(form, kernel(DataType::S64, "add"), {"reduction .add", "INT64"});
  expectError(form, kernel(DataType::S64, "xor"), {"reduction .xor", "INT64"});
  expectError(form, kernel(DataType::F64, "add"), {"reduction .add", "FLOAT64"});
  expectError(form, kernel(DataType::F32, "max"), {"reduction .max", "FLOAT32"});
  expectError(form, kernel(DataType::S32, "inc"), {"reduction .inc", "INT32"});
  expectError(form, kernel(DataType::F16, "and"), {"reduction .and", "FLOAT16"});
  expectError(form, kernel(DataType::U32, "add", "0, -1"), {"coordinate 1 is negative"});
}

}  // namespace

FormCases bulkReduceCases() {
  return {
      {GLOBAL ".add.(u32|s32|u64|f32|f64)", "values", globalCase({"add"}, "", {"u32", "s32", "u64", "f32", "f64"})},
      {GLOBAL ".add.(u32|s32|u64|f32|f64)", "every_addition_counts", everyAdditionCounts},
      {GLOBAL ".add.(u32|s32|u64|f32|f64)", "faults", globalFaults},
      {GLOBAL ".add.noftz.(f16|bf16)", "values", globalCase({"add"}, ".noftz", {"f16", "bf16"})},
      {GLOBAL ".(min|max).(u32|s32|u64|s64|f16|bf16)", "values",
       globalCase({"min", "max"}, "", {"u32", "s32", "u64", "s64", "f16", "bf16"})},
      {GLOBAL ".(inc|dec).u32", "values", globalCase({"inc", "dec"}, "", {"u32"})},
      {GLOBAL ".(and|or|xor).(b32|b64)", "values", globalCase({"and", "or", "xor"}, "", {"b32", "b64"})},
      {PEER ".add.(u32|s32|u64)", "values", peerCase({"add"}, {"u32", "s32", "u64"})},
      {PEER ".(min|max).(u32|s32)", "values", peerCase({"min", "max"}, {"u32", "s32"})},
      {PEER ".(inc|dec).u32", "values", peerCase({"inc", "dec"}, {"u32"})},
      {PEER ".(and|or|xor).b32", "values", peerCase({"and", "or", "xor"}, {"b32"})},
      {kTensor, "values", reduceTensor},
      {kTensor, "faults", tensorFaults},
  };
}

}  // namespace shiftconv::tests
