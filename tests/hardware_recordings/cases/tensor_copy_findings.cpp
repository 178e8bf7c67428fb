// Open questions about tensor maps that a Hopper GPU can answer. The text of each answer is read from the dumped bytes.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "tests/hardware_recordings/cases/families.hpp"
#include "tests/hardware_recordings/program.hpp"
#include "tests/hardware_recordings/tensor_copy.hpp"

namespace shiftconv::recordings::tensor_copy_findings {
namespace {

template <class Number>
Number at(const std::vector<std::byte>& bytes, size_t offset) {
  Number value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string refusal(const Observation& seen) {
  return fmt::format("{}: {}", kOutcomeNames[static_cast<size_t>(seen.outcome)], seen.text);
}

/// A tensor whose 16-bit elements number themselves from 1.
std::vector<std::byte> counting16(size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (size_t i = 0; i + 1 < bytes; i += 2) {
    const auto value = static_cast<uint16_t>(i / 2 + 1);
    std::memcpy(&out[i], &value, 2);
  }
  return out;
}

Case withTensor(Case made, std::vector<std::byte> contents) {
  made.buffers[0].bytes = std::move(contents);
  return made;
}

/// Where the numbered 16-byte chunks of a dumped tile lie: "r0c0@0 r0c1@16 ...".
std::string chunkPlaces(const Observation& seen, uint32_t rows, uint32_t chunks, uint32_t rowElements) {
  if (seen.outcome != Outcome::Ok) return refusal(seen);
  std::string text;
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t c = 0; c < chunks; ++c) {
      std::string place = "absent";
      for (size_t offset = 0; offset + 16 <= seen.bytes.size(); offset += 2)
        if (at<uint16_t>(seen.bytes, offset) == r * rowElements + c * 8 + 1) {
          place = fmt::format("{}", offset);
          break;
        }
      text += fmt::format("{}r{}c{}@{}", text.empty() ? "" : " ", r, c, place);
    }
  const size_t flags = seen.bytes.size() - 8;
  return text + fmt::format("; phase completed {}, exact byte count {}", at<uint32_t>(seen.bytes, flags),
                            at<uint32_t>(seen.bytes, flags + 4));
}

void addRowPitch(CaseList& cases) {
  for (const auto& [swizzle, inner] :
       {std::pair{k128B, 16u}, {k128B, 32u}, {k128B, 48u}, {k64B, 16u}, {k64B, 24u}, {k32B, 8u}, {k128BAtom32, 32u}}) {
    const TensorMap map{.type = kF16,
                        .rank = 2,
                        .dims = {64, 16},
                        .strides = {128},
                        .box = {inner, 8, 1, 1, 1},
                        .swizzle = static_cast<uint32_t>(swizzle)};
    cases.push_back(
        {"finding", fmt::format("U-4 row pitch, swizzle {} with {} bytes inside", static_cast<uint32_t>(swizzle), 2 * inner), [=] {
           Case made = withTensor(tensorLoad(map, {{}}), counting16(tensorBytes(map)));
           if (swizzle > k128B) made.unjudged = kAtomsAreNewer;
           made.finding = [inner = inner](const Observation& seen) { return chunkPlaces(seen, 8, inner / 8, 64); };
           return made;
         }});
  }
}

std::string pixelOrder(const Observation& seen, uint32_t pixels) {
  if (seen.outcome != Outcome::Ok) return refusal(seen);
  std::string text;
  for (uint32_t p = 0; p < pixels; ++p) {
    const uint16_t value = at<uint16_t>(seen.bytes, 16 * p);
    text += p ? " " : "";
    text += value == 0        ? "F"
            : value == 0xEEEE ? "unwritten"
                              : fmt::format("n{}h{}w{}", (value - 1) / 8 / 20, (value - 1) / 8 / 5 % 4, (value - 1) / 8 % 5);
  }
  const size_t flags = seen.bytes.size() - 8;
  return text + fmt::format("; phase completed {}, exact byte count {}", at<uint32_t>(seen.bytes, flags),
                            at<uint32_t>(seen.bytes, flags + 4));
}

/// N = 2, H = 4, W = 5 pixels of 8 channels.
void addIm2col(CaseList& cases) {
  const auto add = [&](const std::string& name, const PixelBox& box, std::array<uint32_t, 5> strides, const CopyStart& start) {
    TensorMap map{.type = kF16, .rank = 4, .dims = {8, 5, 4, 2}, .strides = {16, 80, 320}, .elementStrides = strides};
    map.pixels = box;
    cases.push_back({"finding", name, [=] {
                       Case made = withTensor(tensorLoad(map, {start}), counting16(tensorBytes(map)));
                       made.finding = [pixels = box.pixels](const Observation& seen) { return pixelOrder(seen, pixels); };
                       return made;
                     }});
  };
  const std::array<uint32_t, 5> one{1, 1, 1, 1, 1};
  add("U-5 corner order: lower {-1, 0}, upper {-1, 0}", {{-1, 0}, {-1, 0}, 8, 12}, one, {.coordinates = {0, -1, 0, 0}});
  add("U-5 corner order: lower {0, -1}, upper {0, -1}", {{0, -1}, {0, -1}, 8, 12}, one, {.coordinates = {0, 0, -1, 0}});
  const PixelBox padded{{-1, -1}, {-1, -1}, 8, 12};
  add("U-6 start left of the box", padded, one, {.coordinates = {0, -3, 0, 0}});
  add("U-6 start right of the box", padded, one, {.coordinates = {0, 5, 1, 0}});
  add("U-6 start far right of the box", padded, one, {.coordinates = {0, 9, 1, 0}});
  add("U-6 start above the box", padded, one, {.coordinates = {0, 0, -3, 0}});
  add("U-6 start below the box", padded, one, {.coordinates = {0, 2, 6, 0}});
  add("U-6 start off the stride lattice", padded, {1, 2, 2, 1, 1}, {.coordinates = {0, 0, 0, 0}});
  add("U-6 start in image -1", padded, one, {.coordinates = {0, 2, 2, -1}});
  add("U-6 start in image 2 of 2", padded, one, {.coordinates = {0, 0, 0, 2}});
  add("U-6 offsets beyond the tensor", padded, one, {.coordinates = {0, 0, 0, 0}, .offsets = {200, 100}});
}

void addNaN(CaseList& cases) {
  for (const uint32_t type : {kF16, kBF16, kF32, kF64, kF32Ftz, kTF32, kTF32Ftz}) {
    const uint32_t element = elementBytes(type);
    const TensorMap map{.type = type, .rank = 1, .dims = {64 / element}, .box = {64 / element, 1, 1, 1, 1}, .fill = 1};
    cases.push_back({"finding", fmt::format("U-7 NaN fill, type {}", type), [=] {
                       Case made = tensorLoad(map, {{.coordinates = {1000}}});
                       made.finding = [](const Observation& seen) {
                         return seen.outcome == Outcome::Ok ? fmt::format("{:#018x} in each 8 bytes", at<uint64_t>(seen.bytes, 0))
                                                            : refusal(seen);
                       };
                       return made;
                     }});
  }
}

void addByteCounts(CaseList& cases) {
  const TensorMap map{
      .type = kF16, .rank = 2, .dims = {60, 9}, .strides = {128}, .box = {64, 8, 1, 1, 1}, .elementStrides = {1, 3, 1, 1, 1}};
  for (const int32_t row : {0, 5, 100, -20})
    cases.push_back({"finding", fmt::format("U-8 byte count of a strided box from row {}", row), [=] {
                       Case made = tensorLoad(map, {{.coordinates = {0, row}}});
                       made.finding = [](const Observation& seen) {
                         if (seen.outcome != Outcome::Ok) return refusal(seen);
                         const size_t flags = seen.bytes.size() - 8;
                         return fmt::format(
                             "with the bytes of the whole packed tile expected: phase completed {}, and not one byte more {}",
                             at<uint32_t>(seen.bytes, flags), at<uint32_t>(seen.bytes, flags + 4));
                       };
                       return made;
                     }});
}

/// Numbered 8-byte cells, 128 bytes to a line.
void addAtoms(CaseList& cases) {
  for (const uint32_t swizzle : {k128B, k128BAtom32, k128BAtom32Flip8, k128BAtom64}) {
    const TensorMap map{.type = kU64, .rank = 2, .dims = {16, 16}, .strides = {128}, .box = {16, 16, 1, 1, 1}, .swizzle = swizzle};
    cases.push_back({"finding", fmt::format("U-13 cells of swizzle {}", swizzle), [=] {
                       std::vector<std::byte> cells(tensorBytes(map));
                       for (uint64_t i = 0; i < cells.size() / 8; ++i) std::memcpy(&cells[8 * i], &i, 8);
                       Case made = withTensor(tensorLoad(map, {{}}), std::move(cells));
                       if (swizzle > k128B) made.unjudged = kAtomsAreNewer;
                       made.finding = [](const Observation& seen) {
                         if (seen.outcome != Outcome::Ok) return refusal(seen);
                         std::string text = "8-byte cells of each line:";
                         for (uint64_t line = 0; line < 16; ++line) {
                           text += fmt::format("\n   line {:2}:", line);
                           for (uint64_t cell = 0; cell < 16; ++cell)
                             text += fmt::format(" {:2}", static_cast<int64_t>(at<uint64_t>(seen.bytes, 128 * line + 8 * cell)) -
                                                              static_cast<int64_t>(16 * line));
                         }
                         return text;
                       };
                       return made;
                     }});
  }
}

uint32_t truncated(uint32_t bits) { return bits & ~0x1FFFu; }
uint32_t nearestEven(uint32_t bits) { return (bits + 0xFFFu + ((bits >> 13) & 1)) & ~0x1FFFu; }
uint32_t nearestAway(uint32_t bits) { return (bits + 0x1000u) & ~0x1FFFu; }

/// Special values and ties through the converting types.
void addConversions(CaseList& cases) {
  const std::vector<uint32_t> values{0x3f800000, 0x3f800fff, 0x3f801000, 0x3f801001, 0x3f803000, 0x3f802fff, 0xbf801000,
                                     0xbf803000, 0x7f7fffff, 0xff7fffff, 0x00000001, 0x80000001, 0x007fffff, 0x007fe000,
                                     0x00001000, 0x00003000, 0x00800000, 0x00801000, 0x7f800000, 0xff800000, 0x7f800001,
                                     0x7fc00000, 0xffc00001, 0x7fffffff, 0xffffffff, 0x7fa00000, 0x00000000, 0x80000000,
                                     0x007ff000, 0x3f7ff000, 0x3f7fffff, 0x12345678};
  for (const bool store : {false, true})
    for (const uint32_t type : {kF32Ftz, kTF32, kTF32Ftz}) {
      const TensorMap map{.type = type, .rank = 1, .dims = {32}, .box = {32, 1, 1, 1, 1}};
      cases.push_back({"finding", fmt::format("U-14 conversion by a {} of type {}", store ? "store" : "load", type), [=] {
                         Case made = store ? tensorStore(map, {{}}) : tensorLoad(map, {{}});
                         std::memcpy(made.buffers[0].bytes.data(), values.data(), values.size() * 4);
                         made.finding = [values](const Observation& seen) {
                           if (seen.outcome != Outcome::Ok) return refusal(seen);
                           std::string text;
                           for (size_t i = 0; i < values.size(); ++i) {
                             const uint32_t v = values[i], got = at<uint32_t>(seen.bytes, 4 * i);
                             std::string rule = got == v ? "same" : "";
                             if (got == truncated(v)) rule += " trunc";
                             if (got == nearestEven(v)) rule += " even";
                             if (got == nearestAway(v)) rule += " away";
                             if (got == (v & 0x80000000)) rule += " zero";
                             text += fmt::format("\n   {:08x} -> {:08x} {}", v, got, rule);
                           }
                           return text;
                         };
                         return made;
                       }});
    }
}

void addAlignment(CaseList& cases) {
  for (const uint32_t swizzle : {k32B, k64B, k128B}) {
    const uint32_t span = swizzleSpan(swizzle);
    const TensorMap map{.type = kF16,
                        .rank = 2,
                        .byteOffset = 16,
                        .dims = {span / 2, 16},
                        .strides = {span + 16},
                        .box = {span / 2, 4, 1, 1, 1},
                        .swizzle = swizzle};
    cases.push_back({"finding", fmt::format("U-15 tensor 16 bytes off, swizzle {}", swizzle), [=] {
                       std::vector<std::byte> contents(tensorBytes(map));
                       const std::vector<std::byte> numbers = counting16(contents.size());
                       std::copy(numbers.begin(), numbers.end() - 16, contents.begin() + 16);
                       Case made = withTensor(tensorLoad(map, {{}}), std::move(contents));
                       made.finding = [span](const Observation& seen) { return chunkPlaces(seen, 4, span / 16, span / 2 + 8); };
                       return made;
                     }});
  }
  for (const uint32_t swizzle : {kNone, k128B, k128BAtom32, k128BAtom64})
    for (const uint32_t offset : {8u, 16u, 32u, 64u}) {
      const TensorMap map{.type = kF16, .rank = 2, .dims = {64, 8}, .strides = {128}, .box = {64, 2, 1, 1, 1}, .swizzle = swizzle};
      cases.push_back({"finding", fmt::format("U-16 destination {} bytes off, swizzle {}", offset, swizzle), [=] {
                         Case made = withTensor(tensorLoad(map, {{.shared = offset}}), counting16(tensorBytes(map)));
                         if (swizzle > k128B) made.unjudged = kAtomsAreNewer;
                         made.finding = [](const Observation& seen) { return chunkPlaces(seen, 2, 8, 64); };
                         return made;
                       }});
    }
}

/// Byte ranges that no longer hold the poison, relative to the tensor at `base`.
std::string writtenRanges(const Observation& seen, size_t base) {
  if (seen.outcome != Outcome::Ok) return refusal(seen);
  std::string text = "written bytes, relative to the tensor:";
  bool inside = false;
  for (size_t i = 0; i < seen.bytes.size(); i += 2) {
    const bool written = at<uint16_t>(seen.bytes, i) != 0xEEEE;
    if (written && !inside) text += fmt::format(" [{}", static_cast<int64_t>(i) - static_cast<int64_t>(base));
    if (!written && inside) text += fmt::format(",{})", static_cast<int64_t>(i) - static_cast<int64_t>(base));
    inside = written;
  }
  return text;
}

/// Rows of 21 elements, 42 bytes: what happens to the rest of the last 16-byte chunk?
void addRaggedEdges(CaseList& cases) {
  const TensorMap map{.type = kF16, .rank = 2, .byteOffset = 64, .dims = {21, 3}, .strides = {96}, .box = {32, 4, 1, 1, 1}};
  cases.push_back({"finding", "N-2 store over a row end that is no multiple of 16 bytes", [=] {
                     Case made = tensorStore(map, {{}});
                     made.finding = [](const Observation& seen) { return writtenRanges(seen, 64); };
                     return made;
                   }});
  cases.push_back({"finding", "N-2 load over a row end that is no multiple of 16 bytes", [=] {
                     Case made = withTensor(tensorLoad(map, {{}}), counting16(tensorBytes(map)));
                     made.finding = [](const Observation& seen) {
                       if (seen.outcome != Outcome::Ok) return refusal(seen);
                       std::string text = "elements of row 0:";
                       for (size_t i = 0; i < 32; ++i) text += fmt::format(" {}", at<uint16_t>(seen.bytes, 2 * i));
                       return text;
                     };
                     return made;
                   }});
}

void addFirstCoordinates(CaseList& cases) {
  for (const uint32_t type : {kU8, kF16, kF32, kU64})
    for (const bool store : {false, true})
      for (const int32_t bytes : {8, 16, 24, -8, -16}) {
        if (store && bytes < 0) continue;
        const auto element = static_cast<int32_t>(elementBytes(type));
        const TensorMap map{.type = type,
                            .rank = 2,
                            .dims = {static_cast<uint64_t>(64 / element), 4},
                            .strides = {64},
                            .box = {static_cast<uint32_t>(32 / element), 2, 1, 1, 1}};
        cases.push_back(
            {"finding", fmt::format("N-1 {} from byte {} of the row, type {}", store ? "store" : "load", bytes, type), [=] {
               const std::vector<CopyStart> start{{.coordinates = {bytes / element, 1}}};
               Case made = store ? tensorStore(map, start) : tensorLoad(map, start);
               made.finding = [](const Observation& seen) {
                 return seen.outcome == Outcome::Ok ? std::string("executes") : refusal(seen);
               };
               return made;
             }});
      }
}

void addNegativeStores(CaseList& cases) {
  for (const auto& [x, y] : {std::pair{-8, 0}, {0, -2}, {-1, -1}, {64, 0}, {0, 100}}) {
    const TensorMap map{.type = kF16, .rank = 2, .byteOffset = 512, .dims = {32, 8}, .strides = {64}, .box = {16, 4, 1, 1, 1}};
    cases.push_back({"finding", fmt::format("U-19 store from ({}, {})", x, y), [=, x = x, y = y] {
                       Case made = tensorStore(map, {{.coordinates = {x, y}}});
                       made.finding = [](const Observation& seen) { return writtenRanges(seen, 512); };
                       return made;
                     }});
  }
}

}  // namespace

void addAll(CaseList& cases) {
  addRowPitch(cases);
  addIm2col(cases);
  addNaN(cases);
  addByteCounts(cases);
  addAtoms(cases);
  addConversions(cases);
  addAlignment(cases);
  addNegativeStores(cases);
  addRaggedEdges(cases);
  addFirstCoordinates(cases);
}

}  // namespace shiftconv::recordings::tensor_copy_findings

namespace shiftconv::recordings {
void addTensorCopyFindings(CaseList& cases) { tensor_copy_findings::addAll(cases); }
}  // namespace shiftconv::recordings
