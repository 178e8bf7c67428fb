// ld, ldu and st: every type into every register that holds it, every space, vectors, hints, refusals.
#include "tests/emulator/forms/machine_run.hpp"
#include "tests/emulator/forms/memory_case_parts.hpp"

namespace shiftconv::tests::memory_cases {
namespace {

struct TransferType {
  const char* name;
  unsigned bits;
  bool isSigned;
};
constexpr TransferType kTypes[] = {{"b8", 8, false},   {"u8", 8, false},   {"s8", 8, true},    {"b16", 16, false},
                                   {"u16", 16, false}, {"s16", 16, true},  {"b32", 32, false}, {"u32", 32, false},
                                   {"s32", 32, true},  {"f32", 32, false}, {"b64", 64, false}, {"u64", 64, false},
                                   {"s64", 64, true},  {"f64", 64, false}};

/// Bits of a memory element extended to a register of `width` bits, in the low end of 64.
uint64_t extended(uint64_t value, TransferType type, unsigned width) {
  const uint64_t mask = type.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << type.bits) - 1;
  uint64_t result = value & mask;
  if (type.isSigned && (result >> (type.bits - 1)) != 0) result |= ~mask;
  return width == 64 ? result : result & ((uint64_t{1} << width) - 1);
}

/// Moves a register of `width` bits into %d, the rest zero.
std::string intoD(unsigned width) {
  switch (width) {
    case 16:
      return "mov.b16 %z, 0; mov.b64 %d, {%t, %z, %z, %z};";
    case 32:
      return "mov.b64 %d, {%t, 0};";
    default:
      return "mov.b64 %d, %t;";
  }
}

void loadsExtend(FormRun& run) {
  const Lanes a = run.randomLanes();
  for (const TransferType& type : kTypes)
    for (const unsigned width : {16u, 32u, 64u}) {
      const bool isFloat = type.name[0] == 'f';
      if (width < type.bits || (isFloat && width != type.bits)) continue;
      for (unsigned offset = 0; offset < 8; offset += type.bits / 8) {
        const Lanes d = run.lanes(
            fmt::format(".reg .b16 %z; .reg .b{} %t; ld.global.{} %t, [%run1+{}]; {}", width, type.name, offset, intoD(width)), a);
        for (unsigned lane = 0; lane < 32; ++lane)
          ASSERT_EQ(d[lane], extended(a[lane] >> (8 * offset), type, width))
              << type.name << " into .b" << width << " at " << offset;
      }
    }
}

void storesTakeLowBits(FormRun& run) {
  const Lanes a = run.randomLanes();
  for (const TransferType& type : kTypes)
    for (const unsigned width : {16u, 32u, 64u}) {
      const bool isFloat = type.name[0] == 'f';
      if (width < type.bits || (isFloat && width != type.bits)) continue;
      const unsigned offset = type.bits == 64 ? 0 : 8 - 2 * (type.bits / 8);
      const char* take = width == 64 ? "mov.b64 %t, %a;" : width == 32 ? "mov.b64 {%t, _}, %a;" : "mov.b64 {%t, _, _, _}, %a;";
      // %run4 names 8 bytes of the lane, zero before the launch.
      const Lanes d = run.lanes(
          fmt::format(".reg .b{} %t; {} st.global.{} [%run4+{}], %t; ld.global.b64 %d, [%run4];", width, take, type.name, offset),
          a);
      for (unsigned lane = 0; lane < 32; ++lane)
        ASSERT_EQ(d[lane], extended(a[lane], {type.name, type.bits, false}, 64) << (8 * offset))
            << type.name << " from .b" << width;
    }
}

std::vector<uint32_t> numbered(size_t words) {
  std::vector<uint32_t> values(words);
  for (size_t i = 0; i < words; ++i) values[i] = static_cast<uint32_t>(0x9e3779b9u * (i + 1));
  return values;
}

/// Each thread copies one vector of the first half of the array to the second half, elements reversed.
void vectorsKeepElementOrder(FormRun& run) {
  struct Shape {
    const char* vector;
    const char* type;
    unsigned count, bits;
  };
  constexpr Shape kShapes[] = {{"v2", "u8", 2, 8},   {"v4", "s8", 4, 8},   {"v2", "b16", 2, 16}, {"v4", "u16", 4, 16},
                               {"v2", "u32", 2, 32}, {"v4", "f32", 4, 32}, {"v2", "b64", 2, 64}, {"v2", "f64", 2, 64},
                               {"v8", "b32", 8, 32}, {"v4", "u64", 4, 64}, {"v8", "f32", 8, 32}, {"v4", "b32", 4, 32}};
  for (const Shape& shape : kShapes) {
    const unsigned bytes = shape.count * shape.bits / 8;
    const char* bank = shape.bits <= 16 ? "%h" : shape.bits == 32 ? "%r" : "%rd";
    std::string forward, backward;
    for (unsigned i = 0; i < shape.count; ++i) {
      forward += fmt::format("{}{}{}", i ? "," : "", bank, 10 + i);
      backward += fmt::format("{}{}{}", i ? "," : "", bank, 10 + shape.count - 1 - i);
    }
    constexpr unsigned kThreads = 32;
    const std::string body = fmt::format(
        "mul.wide.u32 %rd3, %r1, {}; add.u64 %rd3, %rd1, %rd3; ld.global.{}.{} {{{}}}, [%rd3]; st.global.{}.{} [%rd3+{}], {{{}}};",
        bytes, shape.vector, shape.type, forward, shape.vector, shape.type, bytes * kThreads, backward);
    const auto initial = numbered(bytes * kThreads / 4);
    const auto out = runModule(run, kernel(body), threads(kThreads), 2 * initial.size(), initial);
    const auto* from = reinterpret_cast<const uint8_t*>(initial.data());
    const auto* to = reinterpret_cast<const uint8_t*>(out.data()) + bytes * kThreads;
    const unsigned size = shape.bits / 8;
    for (unsigned thread = 0; thread < kThreads; ++thread)
      for (unsigned element = 0; element < shape.count; ++element)
        for (unsigned byte = 0; byte < size; ++byte)
          ASSERT_EQ(to[thread * bytes + element * size + byte], from[thread * bytes + (shape.count - 1 - element) * size + byte])
              << shape.vector << "." << shape.type << " thread " << thread;
  }
}

void quadWords(FormRun& run) {
  const auto initial = numbered(4 * 32);
  const auto out = runModule(
      run,
      kernel("mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd1, %rd3; ld.global.b128 %q1, [%rd3]; st.global.b128 [%rd3+512], %q1;"),
      threads(32), 8 * 32, initial);
  for (size_t i = 0; i < initial.size(); ++i) ASSERT_EQ(out[i + 128], initial[i]);
}

void everySpace(FormRun& run) {
  const std::string scope = ".shared .align 16 .b8 s[256]; .const .align 4 .u32 c[3] = {11, 22, 33}; .global .align 4 .u32 g = 44;";
  const auto three = [](uint32_t lane) { return 3 * lane + 1; };
  const std::string value = "mad.lo.u32 %r2, %r1, 3, 1; mov.u32 %r3, s; mad.lo.u32 %r3, %r1, 4, %r3; ";
  for (const char* space : {"shared", "shared::cta", "shared::cluster"})
    expectWords(run, value + fmt::format("st.{0}.u32 [%r3+8], %r2; ld.{0}.u32 %r9, [%r3+8];", space), three, scope);
  expectWords(run, value + "cvt.u64.u32 %rd5, %r3; cvta.shared.u64 %rd5, %rd5; st.u32 [%rd5], %r2; ld.u32 %r9, [%rd5];", three,
              scope);
  expectWords(run, value + ".local .align 4 .b8 l[8]; st.local.u32 [l+4], %r2; ld.local.u32 %r9, [l+4];", three, scope);
  expectWords(
      run,
      value +
          ".local .align 4 .b8 l[8]; mov.u64 %rd5, l; cvta.local.u64 %rd6, %rd5; st.u32 [%rd6+4], %r2; ld.local.u32 %r9, [%rd5+4];",
      three, scope);
  expectWords(
      run, "ld.const.u32 %r9, [c+4];", [](uint32_t) { return 22; }, scope);
  expectWords(
      run, "mov.u64 %rd5, c; ld.const.u32 %r9, [%rd5+8];", [](uint32_t) { return 33; }, scope);
  expectWords(
      run, "ld.global.u32 %r9, [g];", [](uint32_t) { return 44; }, scope);
  expectWords(run, "ld.param.u64 %rd5, [out]; sub.u64 %rd5, %rd5, %rd1; cvt.u32.u64 %r9, %rd5;", [](uint32_t) { return 0; });
  expectWords(run, "ld.param::entry.u32 %r9, [out]; cvt.u32.u64 %r8, %rd1; sub.u32 %r9, %r9, %r8;", [](uint32_t) { return 0; });
  // Half of the lanes point to shared, half to global memory.
  expectWords(run,
              value +
                  "cvt.u64.u32 %rd5, %r3; cvta.shared.u64 %rd5, %rd5; setp.lt.u32 %p1, %r1, 16; selp.b64 %rd6, %rd5, %rd2, %p1; "
                  "st.u32 [%rd6], %r2; ld.u32 %r9, [%rd6];",
              three, scope);
}

void storesToParameters(FormRun& run) {
  const std::string scope =
      ".func (.param .b32 r) f(.param .b32 n) { .reg .b32 %r<4>; ld.param::func.u32 %r1, [n]; add.u32 %r1, %r1, 7; "
      "st.param::func.b32 [r], %r1; ret; }";
  expectWords(
      run, "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), f, (a); ld.param.b32 %r9, [b]; }",
      [](uint32_t lane) { return lane + 7; }, scope);
}

void loadHints(FormRun& run) {
  const auto initial = numbered(64);
  for (const char* modifiers : {"ca", "cg", "cs", "lu", "cv", "nc", "nc.L1::no_allocate.L2::128B", "L1::evict_last",
                                "L2::evict_first", "L2::64B", "L2::256B", "ca.nc", "L1::evict_unchanged.L2::evict_last"}) {
    const auto out = runModule(run, kernel(fmt::format("ld.global.{}.u32 %r9, [%rd2]; st.global.u32 [%rd2+128], %r9;", modifiers)),
                               threads(32), 64, numbered(32));
    for (unsigned i = 0; i < 32; ++i) ASSERT_EQ(out[i + 32], initial[i]) << modifiers;
  }
  const auto out = runModule(
      run,
      kernel("mov.b64 %rd5, 0x12f0000000000000; ld.global.L2::cache_hint.u32 %r9, [%rd2], %rd5; st.global.u32 [%rd2+128], %r9;"),
      threads(32), 64, numbered(32));
  for (unsigned i = 0; i < 32; ++i) ASSERT_EQ(out[i + 32], initial[i]);
}

void storeHints(FormRun& run) {
  for (const char* modifiers : {"wb", "cg", "cs", "wt", "L1::no_allocate", "L2::evict_last", "L1::evict_first.L2::evict_normal"}) {
    const auto out = runModule(run, kernel(fmt::format("st.global.{}.u32 [%rd2], %r1;", modifiers)), threads(32), 32);
    for (unsigned i = 0; i < 32; ++i) ASSERT_EQ(out[i], i) << modifiers;
  }
  const auto out =
      runModule(run, kernel("mov.b64 %rd5, 0; st.global.L2::cache_hint.v2.u32 [%rd1], {%r1, 5}, %rd5;"), threads(1), 2);
  EXPECT_EQ(out, (std::vector<uint32_t>{0, 5}));
}

void sameAddressStores(FormRun& run) {
  // The order is left open by PTX; this machine lets the highest lane win, always.
  const auto out = runModule(run, kernel("st.global.u32 [%rd1], %r1;"), threads(32), 2);
  EXPECT_EQ(out, (std::vector<uint32_t>{31, kPoisonWord}));
}

void loadRefusals(FormRun& run) {
  const std::string scope = ".shared .align 16 .b8 s[256]; .global .align 4 .u32 g;";
  expectRefused(run, "ld.global.u32 %h1, [%rd1];", "does not fit registers of 2 bytes");
  expectRefused(run, "ld.global.f32 %rd3, [%rd1];", "does not fit registers of 8 bytes");
  expectRefused(run, "ld.global.v4.b64 {%rd3,%rd4,%rd5,%rd6}, [%rd1+8];", "multiple of 32");
  expectRefused(run, "ld.shared.v8.b32 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [s];", "at most 16 bytes", scope);
  expectRefused(run, "ld.global.v2.u32 %r2, [%rd1];", "vector of 2 registers");
  expectRefused(run, "ld.global.u32 %r2, [s];", "not in the state space .global", scope);
  expectRefused(run, "ld.u32 %r2, [s];", "needs a generic address", scope);
  expectRefused(run, "ld.global.L2::cache_hint.u32 %r2, [%rd1];", "takes 3 operands");
  expectRefused(run, "ld.global.wt.u32 %r2, [%rd1];", "not supported");
}

void storeRefusals(FormRun& run) {
  expectRefused(run, "st.param.u64 [out], 1;", "read-only");
  expectRefused(run, "st.global.u64 [%rd1], %r1;", "does not fit registers of 4 bytes");
  expectRefused(run, "st.const.u32 [%rd1], 1;", "not supported");
  expectRefused(run, "st.global.v2.u32 [%rd1], {%r1};", "vector of 2 registers");
}

/// A store and a load with the given modifiers pass a value through each space.
void roundTrip(FormRun& run, std::string_view load, std::string_view store, std::initializer_list<const char*> spaces) {
  const std::string scope = ".shared .align 16 .b8 s[256];";
  for (const std::string_view space : spaces) {
    const bool shared = space.find("shared") != std::string_view::npos;
    const char* address = shared ? "%r3" : "%rd2";
    expectWords(
        run,
        fmt::format(
            "mov.u32 %r3, s; mad.lo.u32 %r3, %r1, 4, %r3; mad.lo.u32 %r2, %r1, 5, 2; {}{}.u32 [{}], %r2; {}{}.u32 %r9, [{}];",
            store, space, address, load, space, address),
        [](uint32_t lane) { return 5 * lane + 2; }, scope);
  }
}

constexpr std::initializer_list<const char*> kSpaces = {"", ".global", ".shared", ".shared::cta", ".shared::cluster"};

void volatiles(FormRun& run) { roundTrip(run, "ld.volatile", "st.volatile", kSpaces); }

void scoped(FormRun& run) {
  for (const char* scope : {"cta", "cluster", "gpu", "sys"}) {
    roundTrip(run, fmt::format("ld.relaxed.{}", scope), fmt::format("st.relaxed.{}", scope), kSpaces);
    roundTrip(run, fmt::format("ld.acquire.{}", scope), fmt::format("st.release.{}", scope), kSpaces);
  }
  roundTrip(run, "ld.acquire.gpu.global.L1::no_allocate", "st.release.gpu.global.L1::evict_last", {""});
}

void mmio(FormRun& run) { roundTrip(run, "ld.mmio.relaxed.sys", "st.mmio.relaxed.sys", {"", ".global"}); }

void uniformLoad(FormRun& run) {
  const auto out =
      runModule(run, kernel("ldu.global.v2.u32 {%r8, %r9}, [%rd1]; add.u32 %r9, %r9, %r8; st.global.u32 [%rd2+8], %r9;"),
                threads(32), 34, {30, 12});
  for (unsigned i = 2; i < 34; ++i) ASSERT_EQ(out[i], 42u);
  expectRefused(run, "ldu.shared.u32 %r2, [%r1];", "not supported");
}

FormCases loadStoreCases() {
  const std::string_view load = formOf("ld.global.u32"), store = formOf("st.global.u32");
  return {
      {load, "extends_to_wider_registers", loadsExtend},
      {store, "takes_the_low_bits_of_wider_registers", storesTakeLowBits},
      {load, "vectors_keep_element_order", vectorsKeepElementOrder},
      {store, "vectors_keep_element_order", vectorsKeepElementOrder},
      {load, "b128", quadWords},
      {store, "b128", quadWords},
      {load, "every_space", everySpace},
      {store, "every_space", everySpace},
      {load, "function_parameters", storesToParameters},
      {store, "function_parameters", storesToParameters},
      {load, "hints_do_not_change_values", loadHints},
      {store, "hints_do_not_change_values", storeHints},
      {store, "lanes_at_one_address", sameAddressStores},
      {load, "refusals", loadRefusals},
      {store, "refusals", storeRefusals},
      {formOf("ld.volatile.u32"), "every_space", volatiles},
      {formOf("st.volatile.u32"), "every_space", volatiles},
      {formOf("ld.acquire.gpu.u32"), "every_scope_and_space", scoped},
      {formOf("st.release.gpu.u32"), "every_scope_and_space", scoped},
      {formOf("ld.mmio.relaxed.sys.u32"), "round_trip", mmio},
      {formOf("st.mmio.relaxed.sys.u32"), "round_trip", mmio},
      {formOf("ldu.global.u32"), "broadcasts", uniformLoad},
  };
}

}  // namespace

FormCases all() {
  FormCases all = loadStoreCases();
  for (const auto part : {atomicCases, addressCases, asyncCopyCases}) {
    FormCases some = part();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace shiftconv::tests::memory_cases

namespace shiftconv::tests {
FormCases memoryCases() { return memory_cases::all(); }
}  // namespace shiftconv::tests
