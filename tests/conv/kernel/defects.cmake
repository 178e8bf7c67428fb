# shiftconv_defect(<name> <original text> <replacement>): each removes or bends one thing that the kernel needs.

shiftconv_defect(missing_commit_wait_before_drain
  "ptx::mbarrierWait(at(control_->accumulatorFull[accumulator.index]), accumulator.parity);"
  "")
shiftconv_defect(missing_commit_of_accumulator
  "ptx::tensorCommit(at(control_->accumulatorFull[accumulator.index]));"
  "ptx::mbarrierArrive(at(control_->accumulatorFull[accumulator.index]));")
shiftconv_defect(column_mask_off_by_one
  "pixel.column + s - p_.padLeft"
  "pixel.column + s - p_.padLeft + 1")
shiftconv_defect(row_mask_off_by_one
  "pixel.row + r * p_.dilationH - p_.padTop"
  "pixel.row + r * p_.dilationH - p_.padTop - 1")
shiftconv_defect(one_mask_bit_wrong
  "const ptx::LaneMask disabled = masks.column[s] | rowMask;"
  "ptx::LaneMask disabled = masks.column[s] | rowMask; disabled.word[2] ^= 1u << 5;")
shiftconv_defect(shift_dropped_from_middle_tap
  "if (s + 1 < p_.filterWidth) {"
  "if (s + 1 < p_.filterWidth && s != 1) {")
shiftconv_defect(shift_missing_on_first_tap
  "if (s + 1 < p_.filterWidth) {"
  "if (s + 1 < p_.filterWidth && s != 0) {")
shiftconv_defect(slot_refilled_too_early
  "ptx::mbarrierWait(at(control_->slotFree[slot.index]), slot.parity ^ 1);
    ptx::tensorFenceAfterThreadSync();
    const uint64_t source"
  "const uint64_t source")
shiftconv_defect(stage_released_before_copy
  "ptx::tensorCommit(at(control_->operandEmpty[stage.index]));"
  "ptx::mbarrierArrive(at(control_->operandEmpty[stage.index]));")
shiftconv_defect(filter_released_before_multiply
  "if (!p_.filterResident) ptx::tensorCommit(at(control_->filterEmpty[filterStage.index]));"
  "if (!p_.filterResident) ptx::mbarrierArrive(at(control_->filterEmpty[filterStage.index]));")
shiftconv_defect(operand_bytes_16_too_many
  "ptx::mbarrierArriveExpectBytes(full, kOperandStageBytes);"
  "ptx::mbarrierArriveExpectBytes(full, kOperandStageBytes + 16);")
shiftconv_defect(operand_bytes_16_too_few
  "ptx::mbarrierArriveExpectBytes(full, kOperandStageBytes);"
  "ptx::mbarrierArriveExpectBytes(full, kOperandStageBytes - 16);")
shiftconv_defect(filter_bytes_16_too_few
  "ptx::mbarrierArriveExpectBytes(full, filterStageBytes_);"
  "ptx::mbarrierArriveExpectBytes(full, filterStageBytes_ - 16);")
shiftconv_defect(accumulator_not_zeroed
  "column += 16) ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);"
  "column += 16) ptx::tensorFill16(address + static_cast<uint32_t>(column), 0x3f800000u);")
shiftconv_defect(accumulator_zeroes_not_awaited
  "ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);
    ptx::tensorStoreWait();"
  "ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);")
shiftconv_defect(masks_overwritten_too_early
  "ptx::mbarrierWait(at(control_->maskEmpty[stage.index]), stage.parity ^ 1);"
  "")
