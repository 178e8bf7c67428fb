// cp.async.bulk and cp.reduce.async.bulk without tensor maps (PTX ISA 9.0, 9.7.9.25.4).
#include <fmt/format.h>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/operands.hpp"
#include "tests/hardware_recordings/program.hpp"

namespace shiftconv::recordings {
namespace {

constexpr uint32_t kArea = 4096;

/// Several copies of odd places and sizes on one barrier.
Case load(const std::string& space, bool hint) {
  Program program;
  Random random(kSuiteSeed ^ 101);
  const size_t data = program.input(noise(kArea, 21)), out = program.output(kArea + 8);
  program.launch.dynamicShared = kArea + 16;
  std::string issue = hint ? "  createpolicy.fractional.L2::evict_first.b64 %rd3, 1.0;\n" : "";
  uint32_t total = 0, to = 0;
  while (to + 512 < kArea) {
    const uint32_t bytes = static_cast<uint32_t>(16 * (1 + random.below(20))),
                   from = static_cast<uint32_t>(16 * random.below((kArea - bytes) / 16));
    issue += fmt::format(
        "  add.u64 %rd0, %buf{}, {};\n  add.u32 %r0, %dyn, {};\n  cp.async.bulk.{}.global.mbarrier::complete_tx::bytes{} [%r0], "
        "[%rd0], {}, [%r10]{};\n",
        data, from, to, space, hint ? ".L2::cache_hint" : "", bytes, hint ? ", %rd3" : "");
    total += bytes;
    to += bytes + static_cast<uint32_t>(16 * random.below(4));
  }
  program.body = fillShared(0, kArea) + fmt::format("  add.u32 %r10, %dyn, {};\n", kArea) +
                 byThread0("  mbarrier.init.shared.b64 [%r10], 1;\n  fence.mbarrier_init.release.cluster;\n") +
                 "  fence.proxy.async;\n  bar.sync 0;\n" +
                 byThread0(fmt::format("  mbarrier.arrive.expect_tx.shared.b64 _, [%r10], {};\n", total) + issue) +
                 boundedWait(kArea, "0", "%p0") + copyToBuffer(0, kArea, out) + byThread0(putPredicate(out, kArea / 4, "%p0"));
  return program.build();
}

/// From a filled shared area to an observed buffer, in two groups.
Case store(bool readOnly) {
  Program program;
  Random random(kSuiteSeed ^ 102);
  const size_t data = program.input(noise(kArea, 22)), out = program.output(kArea);
  program.launch.dynamicShared = kArea;
  std::string issue;
  uint32_t to = 0, number = 0;
  while (to + 400 < kArea) {
    const uint32_t bytes = static_cast<uint32_t>(16 * (1 + random.below(20))),
                   from = static_cast<uint32_t>(16 * random.below((kArea - bytes) / 16));
    issue += fmt::format(
        "  add.u64 %rd0, %buf{}, {};\n  add.u32 %r0, %dyn, {};\n  cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0], {};\n",
        out, to, from, bytes);
    if (++number % 3 == 0) issue += "  cp.async.bulk.commit_group;\n";
    to += bytes + static_cast<uint32_t>(16 * random.below(4));
  }
  issue += "  cp.async.bulk.commit_group;\n";
  issue += readOnly ? "  cp.async.bulk.wait_group.read 1;\n  cp.async.bulk.wait_group.read 0;\n"
                    : "  cp.async.bulk.wait_group 2;\n  cp.async.bulk.wait_group 0;\n";
  program.body = copyFromBuffer(0, kArea, data) + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" + byThread0(issue);
  return program.build();
}

/// Memory and operand both full of edge values of the type.
std::vector<std::byte> edges(Kind kind, size_t bytes, uint64_t seed) {
  std::vector<std::byte> out;
  for (const OperandSet& set : drawOperands({kind, Kind::I32}, bytes / bytesOf(kind), kSuiteSeed ^ seed, {}))
    for (unsigned k = 0; k < bytesOf(kind); ++k) out.push_back(static_cast<std::byte>(set[0] >> (8 * k)));
  return out;
}

Case reduce(const std::string& operation, Kind kind) {
  Program program;
  constexpr uint32_t kBytes = 2048;
  const size_t data = program.input(edges(kind, kBytes, 31)), out = program.inputOutput(edges(kind, kBytes, 32));
  program.launch.dynamicShared = kBytes;
  program.body = copyFromBuffer(0, kBytes, data) + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" +
                 byThread0(fmt::format("  cp.reduce.async.bulk.global.shared::cta.bulk_group.{} [%buf{}], [%dyn], {};\n  "
                                       "cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n",
                                       operation, out, kBytes));
  return program.build();
}

/// One copy as large as a kernel may make it.
Case largeLoad() {
  constexpr uint32_t kBytes = 200 * 1024;
  Program program;
  program.launch.dynamicShared = kBytes + 16;
  const size_t data = program.input(noise(kBytes, 24)), out = program.output(kBytes + 8);
  program.body =
      fillShared(0, kBytes) + fmt::format("  add.u32 %r10, %dyn, {};\n", kBytes) +
      byThread0("  mbarrier.init.shared.b64 [%r10], 1;\n  fence.mbarrier_init.release.cluster;\n") +
      "  fence.proxy.async;\n  bar.sync 0;\n" +
      byThread0(fmt::format("  mbarrier.arrive.expect_tx.shared.b64 _, [%r10], {0};\n  "
                            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%dyn], [%buf{1}], {0}, [%r10];\n",
                            kBytes, data)) +
      boundedWait(kBytes, "0", "%p0") + copyToBuffer(0, kBytes, out) + byThread0(putPredicate(out, kBytes / 4, "%p0"));
  return program.build();
}

Case prefetch() {
  Program program;
  const size_t data = program.input(noise(256, 23)), out = program.output(8);
  program.body =
      byThread0(fmt::format("  cp.async.bulk.prefetch.L2.global [%buf{}], 256;\n  ld.global.b32 %r0, [%buf{}+16];\n", data, data) +
                putWord(out, 0, "%r0"));
  return program.build();
}

}  // namespace

void addBulkCases(CaseList& cases) {
  for (const std::string space : {"shared::cluster", "shared::cta"})
    for (const bool hint : {false, true})
      cases.push_back({"bulk", fmt::format("cp.async.bulk.{}.global{}", space, hint ? ".L2::cache_hint" : ""),
                       [=] { return load(space, hint); }});
  cases.push_back({"bulk", "cp.async.bulk.global.shared::cta", [] { return store(false); }});
  cases.push_back({"bulk", "cp.async.bulk.global.shared::cta wait_group.read", [] { return store(true); }});
  for (const char* operation :
       {"add.u32",  "add.s32", "add.u64", "add.f32",  "add.f64", "add.noftz.f16", "add.noftz.bf16", "min.u32", "min.s32",
        "min.u64",  "min.s64", "min.f16", "min.bf16", "max.u32", "max.s32",       "max.u64",        "max.s64", "max.f16",
        "max.bf16", "inc.u32", "dec.u32", "and.b32",  "and.b64", "or.b32",        "or.b64",         "xor.b32", "xor.b64"}) {
    static const auto kindOf = [](const std::string& text) {
      const std::string type = text.substr(text.rfind('.') + 1);
      if (type == "f16") return Kind::F16;
      if (type == "bf16") return Kind::BF16;
      if (type == "f32") return Kind::F32;
      if (type == "f64") return Kind::F64;
      return type.ends_with("64") ? Kind::I64 : Kind::I32;
    };
    cases.push_back({"bulk", std::string("cp.reduce.async.bulk.global.") + operation,
                     [operation] { return reduce(operation, kindOf(operation)); }});
  }
  cases.push_back({"bulk", "cp.async.bulk.prefetch.L2", prefetch});
  cases.push_back({"bulk", "cp.async.bulk of 200 KiB", largeLoad});
}

}  // namespace shiftconv::recordings
