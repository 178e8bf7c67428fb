#include "common/emulator/tensor/sparse_mma.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/numerics_fast.hpp"
#include "common/emulator/tensor/numerics_hardware.hpp"

namespace shiftconv::emulator::tensor {
namespace {

constexpr uint32_t kChunksPerWord = 8;  ///< of 4 bits

bool isByteKind(MmaKind kind) { return kind == MmaKind::F8F6F4 || kind == MmaKind::I8; }

/// Elements along K that share four bits, of which half is kept: two of tf32, else four.
uint32_t chunkWidth(MmaKind kind) { return kind == MmaKind::TF32 ? 2 : 4; }
uint32_t chunks(const MmaOperation& operation) { return operation.depth() / chunkWidth(operation.kind); }

struct MetadataBits {
  uint32_t lane, column, shift;
};
/// 16 and 32 bits: a lane has four chunks of a row in its low half and of the row 8 further on in its high half, for the first four
/// chunks in lanes 0 to 7 of each 16, for the others in lanes 8 to 15. 8 bits: a lane has those of its row.
MetadataBits metadataOf(const MmaOperation& operation, uint32_t row, uint32_t chunk) {
  const uint32_t column = metadataColumn(operation);
  if (isByteKind(operation.kind)) return {row, column + chunk / kChunksPerWord, 4 * (chunk % kChunksPerWord)};
  return {row / 16 * 16 + row % 8 + 8 * (chunk / 4), column, 16 * (row / 8 % 2) + 4 * (chunk % 4)};
}

/// The elements of undecoded B that those of a row of A meet, [kept][column].
void meet(const OperandTile& b, const std::vector<uint32_t>& places, OperandTile& met) {
  met.type = b.type;
  met.negate = b.negate;
  met.resize(static_cast<uint32_t>(places.size()), b.stride);
  for (size_t i = 0; i < places.size(); ++i)
    std::copy_n(b.raw.begin() + static_cast<ptrdiff_t>(size_t{places[i]} * b.stride), b.stride,
                met.raw.begin() + static_cast<ptrdiff_t>(i * b.stride));
}

}  // namespace

uint32_t metadataColumns(const MmaOperation& operation) { return isByteKind(operation.kind) ? 2 : 1; }

uint32_t metadataColumn(const MmaOperation& operation) {
  return unpackAddress(operation.metadata).column + operation.descriptor.sparsitySelector;
}

void checkSparse(const MmaOperation& operation) {
  if (operation.layout().rowsPerCta != 128)
    throw EmulatorError(
        ErrorKind::Unsupported,
        fmt::format("tcgen05.mma.sp with M = {} and cta_group::{}: where its metadata stand is known for 128 rows of a "
                    "CTA only.",
                    operation.descriptor.m, operation.ctaGroup));
  const TmemAddress metadata = unpackAddress(operation.metadata);
  if (metadata.lane != 0 || metadata.column % 2 != 0)
    throw EmulatorError(
        ErrorKind::Misaligned,
        fmt::format("The metadata of tcgen05.mma.sp start at lane {} and column {}, but must at lane 0 and an even column.",
                    metadata.lane, metadata.column));
}

void requireMetadata(const MmaOperation& operation, const MmaContext& context) {
  for (const CtaMemories& cta : context.ctas)
    cta.tensor.requireCells(0, kTmemLanes, metadataColumn(operation), metadataColumns(operation), "The metadata of tcgen05.mma.sp");
}

bool isMetadataDefined(const MmaOperation& operation, const TensorMemory& memory, uint32_t row) {
  for (uint32_t chunk = 0; chunk < chunks(operation); ++chunk) {
    const MetadataBits at = metadataOf(operation, row, chunk);
    if (!memory.isDefined(at.lane, at.column, 1, kWholeCell)) return false;
  }
  return true;
}

std::vector<uint32_t> keptPlaces(const MmaOperation& operation, const TensorMemory& memory, uint32_t row) {
  const uint32_t width = chunkWidth(operation.kind);
  std::vector<uint32_t> places;
  for (uint32_t chunk = 0; chunk < chunks(operation); ++chunk) {
    const MetadataBits at = metadataOf(operation, row, chunk);
    const uint32_t bits = memory.cells(at.lane)[at.column] >> at.shift & 0xf;
    // CUTLASS's compressor leaves 0b0000 where all elements of a chunk are zero: both kept ones stand in front.
    const bool isRight = width == 2 ? bits == 0b0100 || bits == 0b1110 : bits == 0 || (bits & 3) < bits >> 2;
    if (!isRight)
      throw EmulatorError(
          ErrorKind::IllegalInstruction,
          fmt::format("tcgen05.mma.sp: the metadata of chunk {} of row {} are {:#06b}, in lane {}, column {}, bits {}..{}: {}",
                      chunk, row, bits, at.lane, at.column, at.shift, at.shift + 3,
                      width == 2 ? "of tf32 they are 0b0100 or 0b1110" : "they name two places, the first one first"));
    if (width == 2) {
      places.push_back(2 * chunk + (bits == 0b1110));
    } else {
      places.push_back(4 * chunk + (bits & 3));
      places.push_back(4 * chunk + (bits >> 2));
    }
  }
  return places;
}

void accumulateSparse(const MmaOperation& operation, const MmaContext& context, const CtaMemories& cta, OperandTile& a,
                      const OperandTile& b, std::span<const LaneWork> lanes, std::span<const Definedness> rows) {
  thread_local OperandTile met;
  const uint32_t kept = kindTraits(operation.kind).depth, columns = operation.layout().columns;
  const bool isInteger = operation.kind == MmaKind::I8, isFast = context.options.numerics == Numerics::Fast;
  const auto decode = [&](OperandTile& tile, uint32_t tileRows, bool isA) {
    if (isInteger) return decodeIntegers(tile, tileRows, tile.stride);
    if (isFast) return decodeForFast(tile, tileRows, tile.stride);
    decodeForHardware(tile, tileRows, tile.stride, isA);
  };
  decode(a, kTmemLanes, true);
  const AccumulatorInput input{operation.descriptor.d, operation.enableInputD, operation.scaleD,
                               context.options.semantics[Unproven::U15] == 1};
  const bool saturate = operation.descriptor.saturate && context.options.semantics[Unproven::U13] == 0;
  for (const LaneWork& work : lanes) {
    if (!rows[work.row].defined) continue;  // nor are its metadata perhaps
    meet(b, keptPlaces(operation, cta.tensor, work.row), met);
    decode(met, kept, false);
    if (isInteger)
      accumulateIntegers(a, met, columns, kept, operation.enableInputD, saturate, {&work, 1});
    else if (isFast)
      accumulateFast(a, met, columns, kept, input, {&work, 1});
    else
      accumulateHardware(a, met, columns, kept, input, {&work, 1});
  }
}

}  // namespace shiftconv::emulator::tensor
