// Tiled tensor loads, stores and reductions: swizzles, strides, ranges, types (PTX ISA 9.0, 5.5.3 and 9.7.9.25.5).
#include <fmt/format.h>

#include <algorithm>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/program.hpp"
#include "tests/hardware_recordings/tensor_copy.hpp"

namespace shiftconv::recordings {
namespace {

constexpr uint32_t kTileLimit = 6 * 1024;

uint64_t roundUp16(uint64_t bytes) { return (bytes + 15) / 16 * 16; }

/// Inner box of a swizzled map: the whole span, or less.
uint32_t innerBytes(uint32_t swizzle, uint32_t element, Random& random) {
  const uint32_t unit = std::max(16u, element), span = swizzleSpan(swizzle);
  if (span) return random.chance(80) ? span : unit * static_cast<uint32_t>(1 + random.below(span / unit));
  return unit * static_cast<uint32_t>(1 + random.below(element == 1 ? 16 : 12));
}

/// A legal map; `plain` leaves out what only loads are documented to do.
TensorMap randomMap(Random& random, bool plain) {
  TensorMap map;
  map.type = static_cast<uint32_t>(random.below(kMapTypes));
  map.rank = static_cast<uint32_t>(1 + random.below(5));
  map.swizzle = random.chance(40) ? static_cast<uint32_t>(kNone) : static_cast<uint32_t>(random.below(4));
  const uint32_t element = elementBytes(map.type);
  map.box[0] = innerBytes(map.swizzle, element, random) / element;
  uint32_t bytes = map.box[0] * element;
  for (uint32_t i = 1; i < map.rank; ++i) {
    map.box[i] = static_cast<uint32_t>(1 + random.below(std::clamp<uint32_t>(kTileLimit / bytes, 1, 9)));
    bytes *= map.box[i];
    if (!plain && random.chance(25)) map.elementStrides[i] = static_cast<uint32_t>(1 + random.below(4));
  }
  if (map.type >= kF16 && !plain && random.chance(30)) map.fill = 1;
  map.dims[0] = 1 + random.below(2 * map.box[0] + 3);
  uint64_t below = roundUp16(map.dims[0] * element);
  for (uint32_t i = 1; i < map.rank; ++i) {
    map.dims[i] = 1 + random.below(2 * map.box[i] + 3);
    // Dense, padded, or (for loads) overlapping and repeating.
    map.strides[i - 1] = below + 16 * (random.chance(50) ? 0 : random.below(4));
    if (!plain && random.chance(15)) map.strides[i - 1] = 16 * random.below(below / 16);
    below = std::max<uint64_t>(below, map.strides[i - 1] * map.dims[i]);
  }
  if (random.chance(30)) map.byteOffset = 16 * (1 + random.below(7));
  return map;
}

std::vector<CopyStart> randomStarts(const TensorMap& map, Random& random, unsigned count, bool negative) {
  std::vector<CopyStart> starts(count);
  for (CopyStart& start : starts) {
    for (uint32_t i = 0; i < map.rank; ++i) {
      const auto low = negative ? -static_cast<int64_t>(map.box[i]) : 0;
      const int64_t high = static_cast<int64_t>(map.dims[i]) + (negative ? 2 : 0);
      start.coordinates[i] =
          random.chance(20) ? 0 : static_cast<int32_t>(low + static_cast<int64_t>(random.below(static_cast<uint64_t>(high - low))));
    }
    // Hopper faults unless the first coordinate is a multiple of 16 bytes (see the finding of that name).
    start.coordinates[0] &= ~static_cast<int32_t>(std::max(1u, 16 / elementBytes(map.type)) - 1);
    start.shared = random.chance(50) ? 0 : static_cast<uint32_t>(128 * random.below(8));
  }
  return starts;
}

std::string describe(const TensorMap& map) {
  static constexpr std::array<const char*, kMapTypes> types{"u8",  "u16", "u32",  "s32",    "u64",  "s64",    "f16",
                                                            "f32", "f64", "bf16", "f32ftz", "tf32", "tf32ftz"};
  static constexpr std::array<const char*, 7> swizzles{"none", "32B", "64B", "128B", "128Batom32", "128Batom32flip8", "128Batom64"};
  return fmt::format("{} {}d {}", types.at(map.type), map.rank, swizzles.at(map.swizzle));
}

void addRandom(CaseList& cases) {
  for (unsigned number = 0; number < 160; ++number) {
    Random random(kSuiteSeed + 1000 + number);
    const TensorMap map = randomMap(random, false);
    const std::vector<CopyStart> starts = randomStarts(map, random, 3, true);
    cases.push_back({"tensor load", fmt::format("tensor load {} {}", number, describe(map)),
                     [=] { return tensorLoad(map, starts, number % 4 == 0 ? "shared::cta" : "shared::cluster"); }});
  }
  for (unsigned number = 0; number < 80; ++number) {
    Random random(kSuiteSeed + 5000 + number);
    const TensorMap map = randomMap(random, true);
    const std::vector<CopyStart> starts = randomStarts(map, random, 1, false);
    cases.push_back(
        {"tensor store", fmt::format("tensor store {} {}", number, describe(map)), [=] { return tensorStore(map, starts); }});
  }
}

/// Every swizzle with every row of its pattern, at every 128-byte offset.
void addSwizzles(CaseList& cases) {
  for (uint32_t swizzle = kNone; swizzle <= k128BAtom64; ++swizzle) {
    const uint32_t span = std::max(16u, swizzleSpan(swizzle));
    TensorMap map{.type = kU8, .rank = 2, .dims = {span, 40}, .strides = {span}, .box = {span, 32, 1, 1, 1}, .swizzle = swizzle};
    const auto add = [&](const std::string& family, const std::string& name, const std::function<Case()>& make) {
      cases.push_back({family, name, [=] {
                         Case made = make();
                         if (swizzle > k128B) made.unjudged = kAtomsAreNewer;
                         return made;
                       }});
    };
    for (uint32_t offset = 0; offset < 1024; offset += 128)
      add("tensor load", fmt::format("swizzle {} at offset {}", swizzle, offset), [=] {
        return tensorLoad(map, {{.coordinates = {0, 3}, .shared = offset}});
      });
    for (const uint32_t offset : {0u, 128u, 640u})
      add("tensor store", fmt::format("swizzle {} store from offset {}", swizzle, offset), [=] {
        return tensorStore(map, {{.coordinates = {0, 3}, .shared = offset}});
      });
  }
}

/// Rows narrower than the span: loads, stores and reductions at two places of the pattern.
void addNarrowRows(CaseList& cases) {
  for (const uint32_t swizzle : {k32B, k64B, k128B})
    for (uint32_t bytes = 16; bytes < swizzleSpan(swizzle); bytes += 16) {
      const TensorMap map{
          .type = kU16, .rank = 3, .dims = {75, 7, 3}, .strides = {160, 1120}, .box = {bytes / 2, 5, 2, 1, 1}, .swizzle = swizzle};
      const std::vector<CopyStart> starts{{.coordinates = {8, 1, 0}}, {.coordinates = {72, 4, 2}, .shared = 640}};
      const auto name = [&](const char* what) { return fmt::format("{} rows of {} bytes, swizzle {}", what, bytes, swizzle); };
      cases.push_back({"tensor load", name("load"), [=] { return tensorLoad(map, starts); }});
      cases.push_back({"tensor store", name("store"), [=] { return tensorStore(map, starts); }});
      TensorMap words = map;
      words.type = kU32, words.dims[0] = 38, words.box[0] = bytes / 4;
      cases.push_back({"tensor reduce", name("reduce"), [=] {
                         return tensorStore(words, {{.coordinates = {4, 1, 0}, .shared = 128}}, "add");
                       }});
    }
}

/// Element strides from 1 to 8 in each dimension, with boxes that are no multiple of them, around every edge.
void addElementStrides(CaseList& cases) {
  for (uint32_t step = 1; step <= 8; ++step) {
    TensorMap map{.type = kF16,
                  .rank = 3,
                  .dims = {32, 19, 13},
                  .strides = {64, 19 * 64},
                  .box = {32, 12, 7, 1, 1},
                  .swizzle = k64B,
                  .fill = 1};
    map.elementStrides = {1, step, 9 - step, 1, 1};
    cases.push_back({"tensor load", fmt::format("element strides {} and {}", step, 9 - step), [=] {
                       return tensorLoad(map, {{.coordinates = {0, 0, 0}},
                                               {.coordinates = {8, -5, 3}},
                                               {.coordinates = {0, 11, -4}},
                                               {.coordinates = {-16, 18, 12}}});
                     }});
    map.fill = 0;
    cases.push_back({"tensor store", fmt::format("element strides {} and {} store", step, 9 - step), [=] {
                       return tensorStore(map, {{.coordinates = {0, 2, 1}}, {.coordinates = {8, 12, 9}}});
                     }});
  }
}

void addReductions(CaseList& cases) {
  const auto add = [&](const char* operation, std::initializer_list<uint32_t> types) {
    for (const uint32_t type : types) {
      const uint32_t element = elementBytes(type);
      const TensorMap map{.type = type,
                          .rank = 2,
                          .dims = {128 / element - 1, 11},
                          .strides = {128},
                          .box = {64 / element, 8, 1, 1, 1},
                          .swizzle = k64B};
      cases.push_back({"tensor reduce", fmt::format("cp.reduce.async.bulk.tensor.{} {}", operation, describe(map)), [=] {
                         return tensorStore(
                             map, {{.coordinates = {0, 0}}, {.coordinates = {static_cast<int32_t>(64 / element), 5}}}, operation);
                       }});
    }
  };
  add("add", {kU32, kS32, kU64, kF16, kF32, kBF16});
  for (const char* operation : {"min", "max"}) add(operation, {kU32, kS32, kU64, kS64, kF16, kBF16});
  for (const char* operation : {"inc", "dec"}) add(operation, {kU32});
  for (const char* operation : {"and", "or", "xor"}) add(operation, {kU32, kS32, kU64, kS64});
}

/// Ragged edges and convolution-like windows of the kind that kernels use.
void addShapes(CaseList& cases) {
  const TensorMap halo{.type = kF16,
                       .rank = 4,
                       .dims = {64, 14, 9, 2},
                       .strides = {128, 14 * 128, 9 * 14 * 128},
                       .box = {64, 10, 4, 1, 1},
                       .swizzle = k128B};
  cases.push_back({"tensor load", "halo tile around the corners of an image", [=] {
                     return tensorLoad(halo, {{.coordinates = {0, -1, -1, 0}},
                                              {.coordinates = {0, 8, 7, 1}},
                                              {.coordinates = {0, 5, -1, 1}},
                                              {.coordinates = {32, 0, 0, 2}}});
                   }});
  TensorMap overlapping{
      .type = kF16, .rank = 3, .dims = {64, 32, 8}, .strides = {128, 30 * 128}, .box = {64, 16, 3, 1, 1}, .swizzle = k128B};
  cases.push_back({"tensor load", "overlapping windows", [=] {
                     return tensorLoad(overlapping, {{.coordinates = {0, -1, 0}}, {.coordinates = {0, 20, 6}}});
                   }});
  TensorMap broadcast{.type = kF16, .rank = 3, .dims = {64, 8, 4}, .strides = {128, 0}, .box = {64, 8, 4, 1, 1}, .swizzle = k128B};
  cases.push_back({"tensor load", "zero stride", [=] {
                     return tensorLoad(broadcast, {{.coordinates = {0, 0, 0}}, {.coordinates = {0, 2, 1}}});
                   }});
  TensorMap descending{.type = kF16, .rank = 3, .dims = {64, 4, 10}, .strides = {32 * 128, 128}, .box = {64, 4, 3, 1, 1}};
  cases.push_back({"tensor load", "outer stride below the inner one", [=] {
                     return tensorLoad(descending, {{.coordinates = {0, 0, 1}}, {.coordinates = {16, 1, 8}}});
                   }});
  TensorMap strided{.type = kF16,
                    .rank = 3,
                    .dims = {64, 17, 13},
                    .strides = {128, 17 * 128},
                    .box = {64, 16, 8, 1, 1},
                    .elementStrides = {1, 2, 2, 1, 1},
                    .swizzle = k128B};
  cases.push_back({"tensor load", "stride 2 in two dimensions", [=] {
                     return tensorLoad(strided, {{.coordinates = {0, -1, -1}}, {.coordinates = {0, 3, 6}}});
                   }});
  cases.push_back({"tensor store", "stride 2 in two dimensions store", [=] {
                     return tensorStore(strided, {{.coordinates = {0, 1, 2}}});
                   }});
  TensorMap wide{.type = kU8, .rank = 2, .dims = {300, 6}, .strides = {304}, .box = {256, 3, 1, 1, 1}};
  cases.push_back({"tensor load", "256 elements", [=] {
                     return tensorLoad(wide, {{.coordinates = {0, 0}}, {.coordinates = {64, 4}}, {.coordinates = {-208, -2}}});
                   }});
  TensorMap line{.type = kU32, .rank = 1, .dims = {100}, .box = {64, 1, 1, 1, 1}};
  cases.push_back(
      {"tensor load", "one dimension far outside", [=] {
         return tensorLoad(
             line, {{.coordinates = {92}}, {.coordinates = {-2000000000}}, {.coordinates = {2000000000}}, {.coordinates = {-60}}});
       }});
}

}  // namespace

void addTensorCopyCases(CaseList& cases) {
  addSwizzles(cases);
  addShapes(cases);
  addRandom(cases);
  addReductions(cases);
  addNarrowRows(cases);
  addElementStrides(cases);
}

}  // namespace shiftconv::recordings
