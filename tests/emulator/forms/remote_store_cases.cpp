// st.async and red.async: every lane of a CTA writes to the other CTA, whose mbarrier counts the bytes.
#include <fmt/format.h>

#include <cstring>

#include "tests/emulator/forms/bulk_kernel.hpp"

namespace shiftconv::tests::remote_store_cases {
namespace {

#define RED "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes"
constexpr std::string_view kStore =
    "st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.(v2|v4)}.(b32|b64|u32|u64|s32|s64|f32|f64)";

/// Tile: own operand in [0, 512), target of the other CTA in [512, 1024). %r8 and %rd6: shared::cluster and generic address
/// of the peer's slot of `stride` bytes per lane, %r9 and %rd7: its mbarrier; %r7: the own slot.
std::string peerAddresses(uint32_t stride) {
  return fmt::format(R"(
  xor.b32 %r0, %rank, 1;
  mul.lo.u32 %r1, %lane, {};
  add.u32 %r7, %tile, %r1;
  mapa.shared::cluster.u32 %r8, %r7, %r0;
  add.u32 %r8, %r8, 512;
  mapa.shared::cluster.u32 %r9, %bar, %r0;
  cvt.u64.u32 %rd6, %r8;
  cvta.shared::cluster.u64 %rd6, %rd6;
  cvt.u64.u32 %rd7, %r9;
  cvta.shared::cluster.u64 %rd7, %rd7;
)",
                     stride);
}

Bytes runPair(FormRun& form, uint32_t stride, const std::string& action, const Bytes& input) {
  const BulkKernel kernel{.body = fillTile(1024) + expectBytes(32 * stride) + peerAddresses(stride) + clusterBarrier() + action +
                                  waitForBarrier() + dumpTile(1024),
                          .ctas = 2,
                          .input = input,
                          .outputBytes = 2048};
  return kernel.runEverySchedule(form);
}

void stores(FormRun& form) {
  struct Variant {
    const char *type, *load, *values;
    uint32_t bytes;
  };
  const Variant variants[] = {
      {"u32", "ld.shared.b32 %r3, [%r7]", "%r3", 4},
      {"b64", "ld.shared.b64 %rd3, [%r7]", "%rd3", 8},
      {"v2.b32", "ld.shared.v2.b32 {%r3, %r4}, [%r7]", "{%r3, %r4}", 8},
      {"v4.s32", "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r7]", "{%r3, %r4, %r5, %r6}", 16},
      {"v2.u64", "ld.shared.v2.b64 {%rd3, %rd4}, [%r7]", "{%rd3, %rd4}", 16},
  };
  for (const Variant& variant : variants)
    for (const char* pattern : {"  {};\n  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{} [%r8], {}, [%r9];\n",
                                "  {};\n  st.async.mbarrier::complete_tx::bytes.{} [%rd6], {}, [%rd7];\n"}) {
      SCOPED_TRACE(variant.type);
      const Bytes input = randomBytes(form, 1024);
      const Bytes output =
          runPair(form, variant.bytes, fmt::format(fmt::runtime(pattern), variant.load, variant.type, variant.values), input);
      for (size_t rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(slice(output, 1024 * rank, 512), slice(input, 0, 512));
        EXPECT_EQ(slice(output, 1024 * rank + 512, 32 * variant.bytes), slice(input, 0, 32 * variant.bytes));
        EXPECT_EQ(slice(output, 1024 * rank + 512 + 32 * variant.bytes, 512 - 32 * variant.bytes),
                  slice(input, 512 + 32 * variant.bytes, 512 - 32 * variant.bytes));
      }
    }
}

void storeFaults(FormRun& form) {
  const auto kernel = [&](const std::string& rest) {
    return BulkKernel{.body = fillTile(1024) + peerAddresses(4) + clusterBarrier() + "  @%leader st.async." + rest + ";\n",
                      .ctas = 2,
                      .input = randomBytes(form, 1024),
                      .outputBytes = 16};
  };
  expectError(form, kernel("shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r0, [%bar]"), {"mbarrier", "both must be"});
  expectError(form, kernel("shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8+2], %r0, [%r9]"), {"st.async", "4"});
  expectError(form, kernel("shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r8], {%rd0, %rd0, %rd0, %rd0}, [%r9]"),
              {"16 bytes"});
  expectError(form, kernel("shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r8], %r0, [%r9]"), {"2 values"});
  expectError(form, kernel("release.gpu.global.u32 [%out], %r0"), {"st.async"});
}

template <class T>
T expectedReduction(std::string_view operation, T old, T value) {
  if (operation == "add")
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) + static_cast<std::make_unsigned_t<T>>(value));
  if (operation == "min") return old < value ? old : value;
  if (operation == "max") return old > value ? old : value;
  if (operation == "inc") return old >= value ? 0 : old + 1;
  if (operation == "dec") return old == 0 || old > value ? value : old - 1;
  if (operation == "and") return old & value;
  return operation == "or" ? old | value : old ^ value;
}

template <class T>
void reduce(FormRun& form, std::string_view operation, std::string_view type, bool generic) {
  SCOPED_TRACE(fmt::format("{}.{}", operation, type));
  constexpr auto kBytes = static_cast<uint32_t>(sizeof(T));
  Bytes input = randomBytes(form, 1024);
  if (operation == "inc" || operation == "dec")
    for (size_t i = 0; i < input.size(); ++i) input[i] = i % kBytes == 0 ? input[i] & std::byte{3} : std::byte{0};
  const char* value = kBytes == 8 ? "%rd3" : "%r3";
  const Bytes output = runPair(
      form, kBytes,
      fmt::format("  ld.shared.b{} {}, [%r7];\n  red.async.relaxed.cluster{}.mbarrier::complete_tx::bytes.{}.{} [{}], {}, [{}];\n",
                  8 * kBytes, value, generic ? "" : ".shared::cluster", operation, type, generic ? "%rd6" : "%r8", value,
                  generic ? "%rd7" : "%r9"),
      input);
  for (size_t rank = 0; rank < 2; ++rank)
    for (size_t lane = 0; lane < 32; ++lane) {
      T old, operand, result;
      std::memcpy(&old, input.data() + 512 + kBytes * lane, kBytes);
      std::memcpy(&operand, input.data() + kBytes * lane, kBytes);
      std::memcpy(&result, output.data() + 1024 * rank + 512 + kBytes * lane, kBytes);
      EXPECT_EQ(result, expectedReduction<T>(operation, old, operand)) << "CTA " << rank << " lane " << lane;
    }
}

void adds(FormRun& form) {
  for (const bool generic : {false, true}) {
    reduce<uint32_t>(form, "add", "u32", generic);
    reduce<int32_t>(form, "add", "s32", generic);
    reduce<uint64_t>(form, "add", "u64", generic);
    reduce<int64_t>(form, "add", "s64", generic);
  }
}

void extremes(FormRun& form) {
  for (std::string_view operation : {"min", "max"}) {
    reduce<uint32_t>(form, operation, "u32", false);
    reduce<int32_t>(form, operation, "s32", false);
  }
}

void counts(FormRun& form) {
  for (std::string_view operation : {"inc", "dec"}) reduce<uint32_t>(form, operation, "u32", false);
}

void logic(FormRun& form) {
  for (std::string_view operation : {"and", "or", "xor"}) reduce<uint32_t>(form, operation, "b32", true);
}

}  // namespace

FormCases all() {
  return {
      {kStore, "every_width", stores},
      {kStore, "faults", storeFaults},
      {RED ".add.(u32|s32|u64|s64)", "values", adds},
      {RED ".(min|max).(u32|s32)", "values", extremes},
      {RED ".(inc|dec).u32", "values", counts},
      {RED ".(and|or|xor).b32", "values", logic},
  };
}

}  // namespace shiftconv::tests::remote_store_cases

namespace shiftconv::tests {
FormCases remoteStoreCases() { return remote_store_cases::all(); }
}  // namespace shiftconv::tests
