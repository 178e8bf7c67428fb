#include "common/emulator/forms/wgmma/tile_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <memory>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/scalar/rounding_scope.hpp"
#include "common/emulator/forms/threads/whole_warp.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/tensor/numerics_fast.hpp"
#include "common/emulator/tensor/numerics_hardware.hpp"
#include "common/emulator/tensor/vector_types.hpp"

namespace shiftconv::emulator::wgmma {
namespace {

using isa::DecodeContext;
using machine::DecodedInstruction;
using machine::Execution;
using machine::kWarpLanes;
using machine::Slot;
using ptx::Operand;
using ptx::ScalarType;
using tensor::AccumulatorType;
using tensor::ElementType;
using tensor::OperandTile;

constexpr std::array<FragmentType, 11> kTypes{{
    {"f16", 16, ElementType::F16},
    {"bf16", 16, ElementType::BF16},
    {"tf32", 32, ElementType::TF32},
    {"e4m3", 8, ElementType::E4M3},
    {"e5m2", 8, ElementType::E5M2},
    {"s8", 8, ElementType::S8},
    {"u8", 8, ElementType::U8},
    {"s4", 4, ElementType::S8},
    {"u4", 4, ElementType::U8},
    {"b1", 32, ElementType::Count},
    {"f64", 64, ElementType::Count},
}};
constexpr uint32_t kLargestTile = 256;  ///< elements of D

struct TileProduct final : machine::InstructionDetail {
  std::string name;  ///< in counters
  const char* instruction = "";
  TileShape shape;
  TileFragments fragments;
  const FragmentType* a = nullptr;
  const FragmentType* b = nullptr;
  AccumulatorType c = AccumulatorType::F32, d = AccumulatorType::F32;
  bool saturate = false;
  bool exclusive = false;            ///< b1: xor instead of and
  int rounding = 0;                  ///< f64: the host's mode
  Slot metadata = machine::kNoSlot;  ///< sparse A: where the elements of each chunk stand
  uint32_t selector = 0;             ///< which lanes of four have it
  bool ordered = false;              ///< it must be sorted
  std::vector<Slot> registersA, registersB, registersC, registersD;
};

uint32_t* lanesOf(const Execution& execution, Slot slot) { return execution.lanes<uint32_t>(slot); }

/// The bits of the thread's element i, from the low end of its registers.
uint32_t elementBits(const Execution& execution, const std::vector<Slot>& registers, uint32_t bits, uint32_t lane, uint32_t i) {
  const uint32_t perRegister = 32 / bits, word = lanesOf(execution, registers[i / perRegister])[lane];
  return bits == 32 ? word : word >> (i % perRegister * bits) & ((1u << bits) - 1);
}

/// As the containers of OperandTile have it: 4-bit integers become bytes.
uint32_t rawOf(const FragmentType& type, uint32_t bits) {
  if (type.bits == 4) return type.element == ElementType::S8 ? ((bits ^ 8u) - 8u) & 0xffu : bits;
  return bits >> tensor::elementFormat(type.element).shift;
}

/// Operand A as [row][k], or B as [k][column].
OperandTile gather(const Execution& execution, const FragmentType& type, const std::vector<Slot>& registers,
                   const FragmentLayout& layout, uint32_t depth, uint32_t columns) {
  const bool isA = columns == 0;
  OperandTile tile;
  tile.type = type.element;
  // Rows of A in whole vectors, as decodeForHardware reads them.
  tile.resize(isA ? 8 * layout.rowBlocks : depth, isA ? std::max(depth, tensor::kVectorLanes) : columns);
  for (uint32_t i = 0; i < layout.elements(); ++i)
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
      const Element at = layout.at(lane, i);
      const size_t place = isA ? size_t{at.row} * tile.stride + at.column : size_t{at.column} * tile.stride + at.row;
      tile.raw[place] = rawOf(type, elementBits(execution, registers, type.bits, lane, i));
    }
  return tile;
}

using Accumulators = std::array<uint32_t, kLargestTile>;
using Work = std::span<const tensor::LaneWork>;

/// The sum of `depth` products, or, with the alternative of question U34, of eight after eight.
void accumulateOnHardware(const TileProduct& product, const Options& options, Counters& counters, const OperandTile& a,
                          const OperandTile& b, uint32_t depth, const tensor::AccumulatorInput& input, Work work) {
  constexpr uint32_t kHalfDepth = 8;
  const uint32_t columns = product.shape.columns;
  const bool wide = product.a->bits == 16 && depth > kHalfDepth;
  if (wide) counters.use(Unproven::U34);
  if (!wide || options.semantics[Unproven::U34] == 0) return tensor::accumulateHardware(a, b, columns, depth, input, work);
  for (uint32_t first = 0; first < depth; first += kHalfDepth) {
    OperandTile left = a, right = b;
    for (uint32_t row = 0; row < product.shape.rows; ++row)
      for (uint32_t k = 0; k < kHalfDepth; ++k) {
        const size_t from = size_t{row} * a.stride + first + k, to = size_t{row} * a.stride + k;
        left.raw[to] = a.raw[from], left.significand[to] = a.significand[from], left.exponent[to] = a.exponent[from];
      }
    for (uint32_t i = 0; i < kHalfDepth * columns; ++i) {
      const size_t from = size_t{first} * columns + i;
      right.raw[i] = b.raw[from], right.significand[i] = b.significand[from], right.exponent[i] = b.exponent[from];
    }
    tensor::accumulateHardware(left, right, columns, kHalfDepth, input, work);
  }
}

/// `depth` elements of both along k.
void accumulate(const TileProduct& product, const machine::Cluster& cluster, Counters& counters, OperandTile& a, OperandTile& b,
                uint32_t depth, Work work) {
  const uint32_t rows = product.shape.rows, columns = product.shape.columns;
  if (product.d == AccumulatorType::S32) {
    tensor::decodeIntegers(a, rows, depth);
    tensor::decodeIntegers(b, depth, columns);
    return tensor::accumulateIntegers(a, b, columns, depth, true, product.saturate, work);
  }
  tensor::AccumulatorInput input;
  input.type = product.d;
  if (cluster.options.numerics == Numerics::Fast) {
    tensor::decodeForFast(a, rows, a.stride);
    tensor::decodeForFast(b, depth, columns);
    return tensor::accumulateFast(a, b, columns, depth, input, work);
  }
  tensor::decodeForHardware(a, rows, depth, true);
  tensor::decodeForHardware(b, depth, columns, false);
  accumulateOnHardware(product, cluster.options, counters, a, b, depth, input, work);
}

/// C, in the type of D: f16 into f32 is exact; f32 into f16 is rounded.
uint32_t converted(const TileProduct& product, uint32_t bits) {
  if (product.c == product.d) return bits;
  if (product.c == AccumulatorType::F16) return std::bit_cast<uint32_t>(tensor::halfToFloat(bits));
  return tensor::floatToHalf(std::bit_cast<float>(bits));
}

/// Two f16 share a register.
uint32_t bitsOf(AccumulatorType type) { return type == AccumulatorType::F16 ? 16 : 32; }

Accumulators readC(const Execution& execution, const TileProduct& product) {
  Accumulators d{};
  for (uint32_t i = 0; i < product.fragments.c.elements(); ++i)
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
      const Element at = product.fragments.c.at(lane, i);
      d[at.row * product.shape.columns + at.column] =
          converted(product, elementBits(execution, product.registersC, bitsOf(product.c), lane, i));
    }
  return d;
}

void writeD(const Execution& execution, const TileProduct& product, const Accumulators& d) {
  for (uint32_t i = 0; i < product.fragments.c.elements(); ++i)
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
      const Element at = product.fragments.c.at(lane, i);
      const uint32_t value = d[at.row * product.shape.columns + at.column];
      if (product.d != AccumulatorType::F16) {
        lanesOf(execution, product.registersD[i])[lane] = value;
        continue;
      }
      uint32_t& pair = lanesOf(execution, product.registersD[i / 2])[lane];
      pair = i % 2 == 0 ? value : (pair & 0xffff) | value << 16;
    }
}

void count(const Execution& execution, const TileProduct& product) { ++execution.warp.cta.cluster.counters.mma[product.name]; }

void runTileProduct(Execution& execution, const DecodedInstruction& instruction) {
  const auto& product = instruction.as<TileProduct>();
  machine::requireWholeWarp(execution, product.instruction);
  const auto& [rows, columns, depth] = product.shape;
  OperandTile a = gather(execution, *product.a, product.registersA, product.fragments.a, depth, 0);
  OperandTile b = gather(execution, *product.b, product.registersB, product.fragments.b, depth, columns);
  Accumulators d = readC(execution, product);
  std::vector<tensor::LaneWork> work;
  for (uint32_t row = 0; row < rows; ++row) work.push_back({.row = row, .firstColumn = 0, .d = d.data() + row * columns});
  machine::Cluster& cluster = execution.warp.cta.cluster;
  accumulate(product, cluster, cluster.counters, a, b, depth, work);
  writeD(execution, product, d);
  count(execution, product);
}

/// How sparse A of one type keeps its elements (PTX ISA 9.0, 9.7.14.6.1): chunks along k, of which half is kept, each with 4 bits
/// of metadata.
struct SparseChunks {
  uint32_t places;  ///< of a chunk, which its metadata tell apart
  uint32_t run;     ///< neighbouring elements at a place: pairs of 4-bit integers
  bool wholeWords;  ///< a lane's 32 bits are those of one row; otherwise of two, in halves

  explicit SparseChunks(uint32_t bits) : places(bits == 32 ? 2 : 4), run(bits == 4 ? 2 : 1), wholeWords(bits < 16) {}
  uint32_t width() const { return places * run; }
};

/// Where the metadata of a chunk of a row are.
struct MetadataBits {
  uint32_t lane, shift;
};
/// Of 16 and 32 bits: the low half of a lane's register has four chunks of row lane / 4, the high half those of the row 8 further
/// on, in lane `selector` of four, or, of 8 chunks, in lanes 2 selector and 2 selector + 1. Of 8 and 4 bits: lane 2 selector of
/// four has 8 chunks of row lane / 4, the next one those of the row 8 further on; of 16 chunks, all four lanes.
MetadataBits metadataOf(const SparseChunks& chunks, uint32_t count, uint32_t selector, uint32_t row, uint32_t chunk) {
  const uint32_t lane = 4 * (row % 8);
  if (chunks.wholeWords) return {lane + 2 * (selector + chunk / 8) + row / 8, 4 * (chunk % 8)};
  return {lane + selector * (count / 4) + chunk / 4, 16 * (row / 8) + 4 * (chunk % 4)};
}

/// Where along k element i of a row of sparse A stands. Chunks of two tf32 have one of them, with 0b0100 for the first and 0b1110
/// for the second; others have two places of four, each with 2 bits.
uint32_t sparsePlace(const Execution& execution, const TileProduct& product, uint32_t row, uint32_t i) {
  const SparseChunks chunks(product.a->bits);
  const uint32_t chunk = i / (chunks.width() / 2), inChunk = i % (chunks.width() / 2);
  const auto [lane, shift] = metadataOf(chunks, product.shape.depth / chunks.width(), product.selector, row, chunk);
  const uint32_t bits = lanesOf(execution, product.metadata)[lane] >> shift & 0xf;
  const auto refuse = [&](const char* what) {
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("{}: the metadata of chunk {} of row {} is {:#06b}, in lane {}: {}", product.instruction, chunk,
                                    row, bits, lane, what));
  };
  if (chunks.places == 2) {
    if (bits != 0b0100 && bits != 0b1110) refuse("of tf32 it is 0b0100 or 0b1110");
    return 2 * chunk + (bits == 0b1110);
  }
  if ((bits & 3) == bits >> 2 || (product.ordered && (bits & 3) > bits >> 2))
    refuse(product.ordered ? "ordered metadata name two places, the first one first" : "they name two places");
  const uint32_t place = inChunk / chunks.run == 0 ? bits & 3 : bits >> 2;
  return chunks.width() * chunk + chunks.run * place + inChunk % chunks.run;
}

/// A holds half of its elements. Those of B that no element meets do not take part: each row has a B of its own.
void runSparseProduct(Execution& execution, const DecodedInstruction& instruction) {
  const auto& product = instruction.as<TileProduct>();
  machine::requireWholeWarp(execution, product.instruction);
  const auto& [rows, columns, depth] = product.shape;
  const uint32_t kept = depth / 2;
  OperandTile a = gather(execution, *product.a, product.registersA, product.fragments.a, kept, 0);
  const OperandTile b = gather(execution, *product.b, product.registersB, product.fragments.b, depth, columns);
  Accumulators d = readC(execution, product);
  machine::Cluster& cluster = execution.warp.cta.cluster;
  OperandTile met;
  met.type = b.type;
  met.resize(kept, columns);
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t i = 0; i < kept; ++i)
      std::copy_n(b.raw.begin() + sparsePlace(execution, product, row, i) * columns, columns, met.raw.begin() + i * columns);
    const std::array work{tensor::LaneWork{.row = row, .firstColumn = 0, .d = d.data() + row * columns}};
    accumulate(product, cluster, cluster.counters, a, met, kept, work);
  }
  writeD(execution, product, d);
  count(execution, product);
}

/// D = C + the number of ones in A op B, by words of 32 bits.
void runBitProduct(Execution& execution, const DecodedInstruction& instruction) {
  const auto& product = instruction.as<TileProduct>();
  machine::requireWholeWarp(execution, product.instruction);
  const auto& [rows, columns, words] = product.shape;
  const OperandTile a = gather(execution, *product.a, product.registersA, product.fragments.a, words, 0);
  const OperandTile b = gather(execution, *product.b, product.registersB, product.fragments.b, words, columns);
  Accumulators d = readC(execution, product);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t column = 0; column < columns; ++column)
      for (uint32_t word = 0; word < words; ++word) {
        const uint32_t left = a.raw[size_t{row} * a.stride + word], right = b.raw[size_t{word} * columns + column];
        d[row * columns + column] += static_cast<uint32_t>(std::popcount(product.exclusive ? left ^ right : left & right));
      }
  writeD(execution, product, d);
  count(execution, product);
}

/// The order of the sums is not documented; here each product enters by a fused multiply-add, along k.
void runDoubleProduct(Execution& execution, const DecodedInstruction& instruction) {
  const auto& product = instruction.as<TileProduct>();
  machine::requireWholeWarp(execution, product.instruction);
  const auto& [rows, columns, depth] = product.shape;
  const auto gatherDoubles = [&](const std::vector<Slot>& registers, const FragmentLayout& layout, uint32_t stride) {
    std::array<double, kLargestTile> values{};
    for (uint32_t i = 0; i < layout.elements(); ++i)
      for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
        const Element at = layout.at(lane, i);
        values[at.row * stride + at.column] = execution.lanes<double>(registers[i])[lane];
      }
    return values;
  };
  const auto a = gatherDoubles(product.registersA, product.fragments.a, depth);
  const auto b = gatherDoubles(product.registersB, product.fragments.b, depth);
  auto d = gatherDoubles(product.registersC, product.fragments.c, columns);
  {
    const isa::RoundingScope rounding(product.rounding);
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t column = 0; column < columns; ++column)
        for (uint32_t k = 0; k < depth; ++k)
          d[row * columns + column] = std::fma(a[row * depth + k], b[column * depth + k], d[row * columns + column]);
  }
  for (uint32_t i = 0; i < product.fragments.c.elements(); ++i)
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
      const Element at = product.fragments.c.at(lane, i);
      execution.lanes<double>(product.registersD[i])[lane] = d[at.row * columns + at.column];
    }
  count(execution, product);
}

AccumulatorType accumulatorOf(std::string_view type) {
  return type == "f16" ? AccumulatorType::F16 : type == "f32" ? AccumulatorType::F32 : AccumulatorType::S32;
}

}  // namespace

TileShape parseTileShape(std::string_view text) {
  TileShape shape;
  for (uint32_t* number : {&shape.rows, &shape.columns, &shape.depth}) {
    const char* const end = std::from_chars(text.data() + 1, text.data() + text.size(), *number).ptr;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  return shape;
}

const FragmentType& fragmentType(std::string_view name) {
  return *std::find_if(kTypes.begin(), kTypes.end(), [&](const FragmentType& type) { return type.name == name; });
}

std::vector<Slot> fragmentRegisters(DecodeContext& context, const Operand& operand, uint32_t registers, const char* name,
                                    ScalarType type, bool writes) {
  const bool vector = operand.kind == Operand::Kind::Vector;
  const size_t given = vector ? operand.elements.size() : 1;
  if (given != registers) context.illegal(fmt::format("{} takes {} registers here, {} were given", name, registers, given));
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < registers; ++i) {
    const Operand& element = vector ? operand.elements[i] : operand;
    slots.push_back(writes ? context.destination(element, type) : context.source(element, type));
  }
  return slots;
}

void decodeTileProduct(DecodeContext& context, const TileWords& words) {
  const auto& operands = context.instruction().operands;
  const bool isSparse = words.sparse != TileWords::Sparse::No;
  if (operands.size() != (isSparse ? 6 : 4))
    context.illegal(fmt::format("D, A, B{} are expected, {} operands were given",
                                isSparse ? ", C, metadata and their selector" : " and C", operands.size()));
  auto product = std::make_shared<TileProduct>();
  product->name = fmt::format("{} {} {}.{}.{}", words.instruction, words.shape, words.d, words.a, words.b);
  product->instruction = words.instruction;
  product->shape = parseTileShape(words.shape);
  product->a = &fragmentType(words.a);
  product->b = &fragmentType(words.b);
  product->c = accumulatorOf(words.c);
  product->d = accumulatorOf(words.d);
  product->saturate = words.saturate;
  product->rounding = isa::hostRounding(words.rounding);
  product->exclusive = words.logic == "xor";
  if (words.a == "b1") product->shape.depth /= 32;
  product->fragments = TileFragments(product->shape, product->a->bits, product->b->bits);
  if (isSparse) {
    const TileShape& shape = product->shape;
    product->fragments.a = operandLayout(shape.rows, shape.depth / 2, product->a->bits, true);
    product->ordered = words.sparse == TileWords::Sparse::Ordered;
    product->metadata = context.source(operands[4], ScalarType::B32);
    // The lanes of four, or pairs of them, that have the metadata, or all four.
    const uint32_t chunkCount = shape.depth / SparseChunks(product->a->bits).width();
    const uint64_t selectors = 16 / chunkCount, selector = context.integer(operands[5]);
    if (selector >= selectors)
      context.illegal(fmt::format("the sparsity selector is {}, but at most {} here", selector, selectors - 1));
    product->selector = static_cast<uint32_t>(selector);
    if (product->c != product->d) context.illegal("the types of C and D differ");
  }
  const bool isDouble = words.a == "f64";
  const ScalarType type = isDouble ? ScalarType::F64 : ScalarType::B32;
  const auto registersOf = [&](const FragmentLayout& layout, uint32_t bits) {
    return isDouble ? layout.elements() : std::max(1u, layout.elements() * bits / 32);
  };
  const auto ofOperand = [&](const FragmentLayout& layout, const FragmentType& element) {
    return words.halfRegisters != 0 && element.element == ElementType::F16 ? words.halfRegisters
                                                                           : registersOf(layout, element.bits);
  };
  const TileFragments& fragments = product->fragments;
  product->registersA = fragmentRegisters(context, operands[1], ofOperand(fragments.a, *product->a), "operand A", type, false);
  product->registersB = fragmentRegisters(context, operands[2], ofOperand(fragments.b, *product->b), "operand B", type, false);
  product->registersC =
      fragmentRegisters(context, operands[3], registersOf(fragments.c, bitsOf(product->c)), "operand C", type, false);
  product->registersD =
      fragmentRegisters(context, operands[0], registersOf(fragments.c, bitsOf(product->d)), "operand D", type, true);
  context.out().handler = isDouble          ? runDoubleProduct
                          : words.a == "b1" ? runBitProduct
                          : isSparse        ? runSparseProduct
                                            : runTileProduct;
  context.out().detail = std::move(product);
  context.out().endsGroup = true;
}

}  // namespace shiftconv::emulator::wgmma
