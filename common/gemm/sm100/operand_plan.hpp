// How one operand of a GEMM gets into shared memory, and outputs out of it: tensor maps, boxes, matrix descriptors.
#pragma once

#include <string>

#include "common/gemm/shape.hpp"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/layout/tensor_map.hpp"

namespace shiftconv::gemm::sm100 {

/// Two 4-bit elements share a byte of shared memory; the other kinds give every element one or more.
bool isPackedInShared(layout::MmaKind kind);
/// How a tensor map counts an operand's elements; packed kinds are loaded as bytes.
layout::MapType mapType(layout::MmaKind kind, NumberType type);

/// What a barrier counts of a loaded row of a chunk: 128 bytes, or fewer where elements are padded on their way (16U4_ALIGN16B,
/// 16U6_ALIGN16B).
uint32_t countedRowBytes(layout::MmaKind kind, NumberType type);

/// Elements of K in a chunk: 128 bytes of a row in shared memory.
int64_t chunkElements(layout::MmaKind kind);

/// The rows of an operand in a stage of one CTA, and how many of them one CTA of the cluster loads.
struct OperandShare {
  int64_t rows = 0;        ///< of the whole matrix: M or N
  int64_t stageRows = 0;   ///< in a stage
  int64_t loadedRows = 0;  ///< by one CTA
};

/// Empty, or the rule that stops it; `name` is "A" or "B".
std::string planOperand(const GemmProblem& problem, layout::MmaKind kind, const Operand& operand, const char* name,
                        const OperandShare& share, OperandParams& params, layout::TiledMap& map);

/// How the scale factors of an operand get into a stage: `rowTiles` atoms along M or N, loaded by `ctas` CTAs together, each a part
/// for all; or, from anything but whole 128x4 tiles, built by threads.
struct ScaleShare {
  int64_t rows = 0;  ///< of the whole matrix: M or N
  int64_t rowTiles = 1, atomRows = kScaleAtomRows;
  int64_t ctas = 1;
  bool isBuilt = false;
  bool splitsColumns = false;  ///< row tiles lie side by side in a stage and in the same columns, for different windows
};
ScaleParams planScales(const GemmProblem& problem, layout::MmaKind kind, const ScaleShare& share, layout::TiledMap& map);

/// The rows of an output that leaves staging tiles by tensor stores: type, swizzle, and extent and box of dimension 0, in elements
/// of the output, or in bytes where these are shorter. `rowPitch`: bytes from row to row. Rank 0 where tensor stores cannot write
/// such rows: they move whole 16 bytes, and columns as they lie in the tile.
layout::TiledMap stagedRowsMap(NumberType output, int64_t columns, int64_t rowPitch);
/// A line of a plan's description; empty without staging tiles.
std::string describeStaging(uint32_t tileBytes);

}  // namespace shiftconv::gemm::sm100
