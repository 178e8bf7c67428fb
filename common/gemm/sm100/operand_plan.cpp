#include "common/gemm/sm100/operand_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "common/layout/ceil_divide.hpp"
#include "common/numerics/codec.hpp"

namespace shiftconv::gemm::sm100 {
namespace {

using layout::MapSwizzle;
using layout::MapType;
using layout::MmaKind;

/// Scale factors in 128x4 tiles, in boxes of `rowTiles` by `blockTiles` of them.
layout::TiledMap scaleMap(const GemmProblem& problem, int64_t rows, int64_t rowTiles, int64_t blockTiles) {
  const int64_t blocks = ceilDivide(problem.lineElements(), problem.blockSize);
  const auto tilesAlongK = static_cast<uint64_t>(ceilDivide(blocks, layout::kScaleTileBlocks));
  layout::TiledMap map;
  map.type = MapType::U16;
  map.rank = 3;
  map.dims = {kScaleAtomBytes / 2, tilesAlongK, static_cast<uint64_t>(ceilDivide(rows, layout::kScaleTileRows))};
  map.strides = {kScaleAtomBytes, kScaleAtomBytes * tilesAlongK};
  map.box = {kScaleAtomBytes / 2, static_cast<uint32_t>(blockTiles), static_cast<uint32_t>(rowTiles)};
  return map;
}

}  // namespace

bool isPackedInShared(MmaKind kind) { return kind == MmaKind::MxF4 || kind == MmaKind::NvF4; }

MapType mapType(MmaKind kind, NumberType type) {
  if (isPackedInShared(kind)) return MapType::U8;
  switch (numerics::storageBits(type)) {
    case 4:
      return MapType::U4Align16;
    case 6:
      return MapType::U6Align16;
    case 16:
      return MapType::U16;
    case 32:
      return MapType::F32;
    default:
      return MapType::U8;
  }
}

// CUTLASS expects the elements' own bytes of loads of 16U4_ALIGN16B and 16U6_ALIGN16B, and runs on a B200.
uint32_t countedRowBytes(MmaKind kind, NumberType type) {
  return static_cast<uint32_t>(numerics::packedBytes(type, chunkElements(kind)));
}

int64_t chunkElements(MmaKind kind) {
  switch (kind) {
    case MmaKind::F16:
      return 64;
    case MmaKind::TF32:
      return 32;
    case MmaKind::MxF4:
    case MmaKind::NvF4:
      return 256;
    default:
      return 128;
  }
}

std::string planOperand(const GemmProblem& problem, MmaKind kind, const Operand& operand, const char* name,
                        const OperandShare& share, OperandParams& params, layout::TiledMap& map) {
  const int64_t bits = numerics::storageBits(operand.type), inChunk = chunkElements(kind);
  map = {};
  map.type = mapType(kind, operand.type);
  map.rank = 2;
  const bool expanded = layout::isPadded(map.type);
  if (operand.mnMajor && bits < 8)
    return fmt::format("{} is {} with {} contiguous, but only types of 8, 16 and 32 bits can be transposed (PTX ISA table 52)",
                       name, numerics::name(operand.type), name[0] == 'A' ? "M" : "N");
  if (isPackedInShared(kind) && problem.lineElements() % 2 != 0)
    return fmt::format("K is {}, but {} packs two elements of {} into a byte, so K has to be even", problem.lineElements(),
                       toString(kind), name);
  const int64_t alignment = expanded ? 32 : 16;
  if (operand.pitch % alignment != 0)
    return fmt::format("the pitch of {} is {} bytes, but tensor maps of its type need a multiple of {}", name, operand.pitch,
                       alignment);
  const int64_t elements = name[0] == 'A' ? problem.lineElementsA() : problem.lineElements();
  const int64_t line = numerics::packedBytes(operand.type, expanded          ? roundUp(elements, 128)
                                                           : operand.mnMajor ? share.rows
                                                                             : elements);
  if (operand.pitch < line)
    return fmt::format("the pitch of {} is {} bytes, but a line has {}{}", name, operand.pitch, line,
                       expanded ? " (tensor maps of packed 4- and 6-bit elements count in 128)" : "");

  params = {};
  params.mnMajor = operand.mnMajor;
  params.stageBytes = static_cast<uint32_t>(share.stageRows) * kChunkBytes;
  params.shareRows = static_cast<int32_t>(share.loadedRows);
  map.swizzle = MapSwizzle::B128;
  map.strides = {static_cast<uint64_t>(operand.pitch)};
  const auto rows = static_cast<uint64_t>(share.rows), k = static_cast<uint64_t>(elements);
  if (operand.mnMajor) {
    const int64_t lineElements = static_cast<int64_t>(kChunkBytes) * 8 / bits;
    const int64_t boxes = ceilDivide(share.loadedRows, lineElements);
    if (share.loadedRows != share.stageRows && share.loadedRows % lineElements != 0)
      return fmt::format("CTAs that share {} load {} columns each, but with {} contiguous {} a load has {}", name, share.loadedRows,
                         name[0] == 'A' ? "M" : "N", numerics::name(operand.type), lineElements);
    map.dims = {rows, k};
    map.box = {static_cast<uint32_t>(lineElements), static_cast<uint32_t>(inChunk)};
    if (bits == 32) map.swizzle = MapSwizzle::B128Atom32;
    params.boxes = static_cast<int32_t>(boxes);
    params.boxRows = static_cast<int32_t>(lineElements);
    params.boxBytes = params.countedBytes = static_cast<uint32_t>(inChunk) * kChunkBytes;
    params.stageBytes = static_cast<uint32_t>(ceilDivide(share.stageRows, lineElements)) * params.boxBytes;
    params.chunkElements = static_cast<int32_t>(inChunk);
    params.descriptor = layout::swizzle128MnMajorDescriptor(0, params.boxBytes, bits == 32);
    params.sliceBytes = static_cast<uint32_t>(inChunk / kChunkSlices) * kChunkBytes;
    return {};
  }
  const bool bytePairs = isPackedInShared(kind);
  map.dims = {bytePairs ? k / 2 : expanded ? static_cast<uint64_t>(roundUp(elements, 128)) : k, rows};
  params.chunkElements = static_cast<int32_t>(bytePairs ? inChunk / 2 : inChunk);
  map.box = {static_cast<uint32_t>(params.chunkElements), static_cast<uint32_t>(share.loadedRows)};
  params.boxes = 1;
  params.boxRows = static_cast<int32_t>(share.loadedRows);
  params.boxBytes = static_cast<uint32_t>(share.loadedRows) * kChunkBytes;
  params.countedBytes = static_cast<uint32_t>(share.loadedRows) * countedRowBytes(kind, operand.type);
  params.descriptor = layout::swizzle128KMajorDescriptor(0);
  params.sliceBytes = layout::kMmaRowBytes;
  return {};
}

ScaleParams planScales(const GemmProblem& problem, MmaKind kind, const ScaleShare& share, layout::TiledMap& map) {
  const int64_t atoms = scaleAtomsPerChunk(kind);
  ScaleParams scales;
  scales.rows = static_cast<int32_t>(share.rows);
  scales.blocks = static_cast<int32_t>(ceilDivide(problem.lineElements(), problem.blockSize));
  scales.rowTiles = static_cast<int32_t>(share.rowTiles);
  scales.atomRows = static_cast<int32_t>(share.atomRows);
  scales.atomColumns = (share.splitsColumns ? 1 : static_cast<uint32_t>(share.rowTiles)) * kScaleAtomColumns;
  scales.rowTileStep = share.splitsColumns ? 1 : static_cast<uint32_t>(atoms);
  scales.blockStep = share.splitsColumns ? static_cast<uint32_t>(share.rowTiles) : 1;
  map = {};
  if (share.isBuilt) return scales;
  // One CTA loads a row tile, or half of the atoms along K of the only one; a single atom is not divided.
  const bool dividesRows = share.rowTiles % share.ctas == 0, dividesBlocks = !dividesRows && atoms % share.ctas == 0;
  const int64_t rowTiles = share.rowTiles / (dividesRows ? share.ctas : 1), blockTiles = atoms / (dividesBlocks ? share.ctas : 1);
  scales.loaders = dividesRows || dividesBlocks ? static_cast<uint32_t>(share.ctas) : 1;
  scales.shareBytes = static_cast<uint32_t>(rowTiles * blockTiles) * kScaleAtomBytes;
  scales.shareRowTiles = dividesRows ? static_cast<int32_t>(rowTiles) : 0;
  scales.shareAtoms = dividesBlocks ? static_cast<int32_t>(blockTiles) : 0;
  map = scaleMap(problem, share.rows, rowTiles, blockTiles);
  return scales;
}

layout::TiledMap stagedRowsMap(NumberType output, int64_t columns, int64_t rowPitch) {
  const int32_t storageBits = numerics::storageBits(output), bits = std::max(8, storageBits);
  layout::TiledMap map;
  if (rowPitch % 16 != 0 || columns * storageBits % 128 != 0 || stagingBits(output) != storageBits) return map;
  const int32_t boxBytes = stagingBoxBytes(output, kRowColumns);
  map.type = bits == 32 ? layout::MapType::U32 : bits == 16 ? layout::MapType::U16 : layout::MapType::U8;
  map.rank = 1;
  map.dims[0] = static_cast<uint64_t>(numerics::packedBytes(output, columns) * 8 / bits);
  map.box[0] = static_cast<uint32_t>(boxBytes * 8 / bits);
  map.swizzle = boxBytes == 128  ? layout::MapSwizzle::B128
                : boxBytes == 64 ? layout::MapSwizzle::B64
                : boxBytes == 32 ? layout::MapSwizzle::B32
                                 : layout::MapSwizzle::None;
  return map;
}

std::string describeStaging(uint32_t tileBytes) {
  if (tileBytes == 0) return {};
  return fmt::format("outputs    staged, {} tiles of {} bytes for each epilogue warp\n", kStagingTiles, tileBytes);
}

}  // namespace shiftconv::gemm::sm100
