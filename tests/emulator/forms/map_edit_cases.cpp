// tensormap.replace: a map is edited field by field until it describes another tensor, and a copy uses it.
#include <fmt/format.h>

#include "tests/emulator/forms/bulk_kernel.hpp"

namespace shiftconv::tests::map_edit_cases {
namespace {

using namespace emulator;
using tma::DataType;
using tma::TiledMap;

constexpr std::string_view kWide = "tensormap.replace.tile.(global_address|global_stride){.(global|shared::cta)}.b1024.b64";
constexpr std::string_view kNumber =
    "tensormap.replace.tile.(rank|box_dim|global_dim|element_stride){.(global|shared::cta)}.b1024.b32";
constexpr std::string_view kMode =
    "tensormap.replace.tile.(elemtype|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode){.(global|shared::cta)}"
    ".b1024.b32";

/// The map parameter, copied to %tile + 8192; %r10 is its shared address.
const std::string kCopyMap = R"(
  shl.b32 %r0, %lane, 2;
  add.u32 %r10, %tile, 8192;
  cvt.u64.u32 %rd1, %r0;
  add.u64 %rd1, %rd1, %map;
  add.u32 %r1, %r10, %r0;
  ld.u32 %r2, [%rd1];
  st.shared.u32 [%r1], %r2;
  bar.sync 0;
)";

/// One lane edits; then the warp publishes the map at %out + 1024 and acquires it.
const std::string kPublish = R"(
  bar.sync 0;
  add.u64 %rd2, %out, 1024;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r10], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;
)";

TiledMap placeholder() { return {.type = DataType::F64, .rank = 1, .dims = {2}, .box = {2}}; }

/// {spelling after "tensormap.replace.tile.", operands after the address}
using Edits = std::vector<std::array<std::string, 2>>;

std::string edit(const Edits& edits, const std::string& space = ".shared::cta", const std::string& address = "%r10") {
  std::string body;
  for (const auto& [field, operands] : edits)
    body += fmt::format("  @%leader tensormap.replace.tile.{}{}.b1024.{} [{}], {};\n", field, space,
                        field == "global_address" || field == "global_stride" ? "b64" : "b32", address, operands);
  return body;
}

/// 10 rows of 64 16-bit elements at %in + 256, row pitch 160 bytes; every second row of a box of 16.
const Edits kAll = {{"global_address", "%rd3"}, {"rank", "1"},
                    {"elemtype", "1"},          {"global_dim", "0, %r3"},
                    {"global_dim", "1, 10"},    {"global_stride", "0, %rd4"},
                    {"box_dim", "0, 64"},       {"box_dim", "1, %r4"},
                    {"element_stride", "0, 1"}, {"element_stride", "1, 2"},
                    {"interleave_layout", "0"}, {"swizzle_mode", "3"},
                    {"swizzle_atomicity", "1"}, {"fill_mode", "0"}};
const std::string kValues = "  add.u64 %rd3, %in, 256;\n  mov.b64 %rd4, 160;\n  mov.u32 %r3, 64;\n  mov.u32 %r4, 16;\n";

void everyField(FormRun& form) {
  const std::string useMap =
      expectBytes(1024) +
      "  @%leader cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%rd2, {0, "
      "-1}], [%bar];\n" +
      waitForBarrier() + dumpTile(1024) +
      // the map holds an address, which differs from run to run
      "  mul.wide.u32 %rd5, %lane, 4;\n  add.u64 %rd5, %rd5, %out;\n  mov.u32 %r0, 0;\n  st.global.u32 "
      "[%rd5+1024], %r0;\n";
  const std::string inGlobal = R"(
  add.u64 %rd2, %out, 1024;
  cvt.u64.u32 %rd1, %r0;
  add.u64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r2;
  bar.sync 0;
)";
  const std::string acquire =
      "  bar.sync 0;\n  fence.proxy.tensormap::generic.release.gpu;\n  fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n";
  for (const std::string& body : {kCopyMap + kValues + edit(kAll) + kPublish + useMap,
                                  kCopyMap + inGlobal + kValues + edit(kAll, ".global", "%rd2") + acquire + useMap,
                                  kCopyMap + inGlobal + kValues + edit(kAll, "", "%rd2") + acquire + useMap}) {
    const BulkKernel kernel{.body = body, .input = randomBytes(form, 256 + 1600), .outputBytes = 1152, .map = placeholder()};
    const Bytes output = kernel.runEverySchedule(form);
    for (int row = 0; row < 8; ++row)
      for (int chunk = 0; chunk < 8; ++chunk) {
        const int source = 2 * row - 1;
        // 128-byte swizzle by atoms of 32 bytes: bits 8:7 of the address change bits 6:5.
        const auto place = static_cast<size_t>(row * 128 + 16 * (chunk ^ (row % 4) * 2));
        EXPECT_EQ(slice(output, place, 16), source < 0 || source > 9
                                                ? Bytes(16, std::byte{0})
                                                : slice(kernel.input, static_cast<size_t>(256 + source * 160 + chunk * 16), 16))
            << row << " " << chunk;
      }
  }
}

BulkKernel editing(FormRun& form, const std::string& edits, const std::string& use = "") {
  return {.body = kCopyMap + kValues + edits + use, .input = randomBytes(form, 2048), .outputBytes = 1152, .map = placeholder()};
}

void wideFaults(FormRun& form) {
  const std::string use = kPublish + "  @%leader cp.async.bulk.prefetch.tensor.2d.L2.global [%rd2, {0, 0}];\n";
  Edits odd = kAll;
  odd.push_back({"global_stride", "0, 40"});
  expectError(form, editing(form, edit(odd), use), {"edited by tensormap.replace", "globalStrides[0] is 40"});
  odd.back() = {"global_address", "24"};
  expectError(form, editing(form, edit(odd), use), {"edited by tensormap.replace", "globalAddress is 0x18"});
  expectError(form, editing(form, edit({{"global_stride", "4, %rd4"}})), {"ordinal 4", "global_stride"});
  BulkKernel broken = editing(form, edit({{"global_address", "%rd3"}}));
  broken.breakMap = true;
  expectError(form, broken, {"not a tensor map", "global_address"});
}

void numberFaults(FormRun& form) {
  expectError(form, editing(form, edit({{"rank", "5"}})), {"tensormap.replace of rank", "[0, 4]"});
  expectError(form, editing(form, edit({{"box_dim", "0, 257"}})), {"box_dim 257", "[1, 256]"});
  expectError(form, editing(form, edit({{"global_dim", "1, 0"}})), {"global_dim 0"});
  expectError(form, editing(form, edit({{"element_stride", "2, 9"}})), {"element_stride 9", "[1, 8]"});
  expectError(form, editing(form, edit({{"box_dim", "5, 1"}})), {"ordinal 5"});
}

void modeFaults(FormRun& form) {
  expectError(form, editing(form, edit({{"swizzle_mode", "4"}})), {"swizzle_mode 4", "[0, 3]"});
  expectError(form, editing(form, edit({{"elemtype", "16"}})), {"elemtype 16"});
  expectError(form, editing(form, edit({{"fill_mode", "%r3"}})), {"integer constant"});
  Edits mixed = kAll;
  mixed.push_back({"swizzle_mode", "2"});  // atomicity stays
  expectError(form,
              editing(form, edit(mixed), kPublish + "  @%leader cp.async.bulk.prefetch.tensor.2d.L2.global [%rd2, {0, 0}];\n"),
              {"swizzle_atomicity is 1", "swizzle 64B"});
}

}  // namespace

FormCases all() {
  return {
      {kWide, "every_field", everyField}, {kWide, "faults", wideFaults},      {kNumber, "every_field", everyField},
      {kNumber, "faults", numberFaults},  {kMode, "every_field", everyField}, {kMode, "faults", modeFaults},
  };
}

}  // namespace shiftconv::tests::map_edit_cases

namespace shiftconv::tests {
FormCases mapEditCases() { return map_edit_cases::all(); }
}  // namespace shiftconv::tests
