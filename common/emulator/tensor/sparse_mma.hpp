// tcgen05.mma.sp (PTX ISA 9.7.16.10.9.2): A keeps half of its elements, and metadata in Tensor Memory say where along K they stand.
// The ISA shows in pictures which lanes and columns hold them; here they are where CUTLASS's tmem_e_frg puts them, which is there
// for 128 rows of a CTA.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/emulator/tensor/mma.hpp"
#include "common/emulator/tensor/operand_tile.hpp"

namespace shiftconv::emulator::tensor {

/// Columns of the metadata of one instruction.
uint32_t metadataColumns(const MmaOperation& operation);
/// The first of them: the sparsity selector chooses one of two where an instruction needs one.
uint32_t metadataColumn(const MmaOperation& operation);
/// Legality that is known at issue, and that the columns are allocated. Throw EmulatorError.
void checkSparse(const MmaOperation& operation);
void requireMetadata(const MmaOperation& operation, const MmaContext& context);

/// Whether all metadata of a row of the CTA's tile were written.
bool isMetadataDefined(const MmaOperation& operation, const TensorMemory& memory, uint32_t row);
/// Where along K the kept elements of a row stand. Throws EmulatorError for metadata that name no places.
std::vector<uint32_t> keptPlaces(const MmaOperation& operation, const TensorMemory& memory, uint32_t row);

/// Decodes the operands, B for each row of A anew, and runs the arithmetic of the chosen numerics. Rows that are not defined are
/// left out.
void accumulateSparse(const MmaOperation& operation, const MmaContext& context, const CtaMemories& cta, OperandTile& a,
                      const OperandTile& b, std::span<const LaneWork> lanes, std::span<const Definedness> rows);

}  // namespace shiftconv::emulator::tensor
