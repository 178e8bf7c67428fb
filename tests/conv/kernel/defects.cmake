# shiftconv_defect(<name> <original text> <replacement>): each removes or bends one thing that the kernel needs.

shiftconv_defect(missing_commit_wait_before_drain
  "control_->accumulators.awaitFull(accumulator);"
  "")
shiftconv_defect(missing_commit_of_accumulator
  "Group::commitResult(control_->accumulators.full(accumulator));"
  "ptx::mbarrierArrive(control_->accumulators.full(accumulator));")
shiftconv_defect(column_mask_off_by_one
  "pixel.column + s - p_.padLeft"
  "pixel.column + s - p_.padLeft + 1")
shiftconv_defect(row_mask_off_by_one
  "pixel.row + r * p_.dilationH - p_.padTop"
  "pixel.row + r * p_.dilationH - p_.padTop - 1")
shiftconv_defect(one_mask_bit_wrong
  "multiplyTap(tap);"
  "tap.disabled[0].word[2] ^= 1u << 5; multiplyTap(tap);")
shiftconv_defect(shift_dropped_from_middle_tap
  "tap.shifts = s + 1 < p_.filterWidth;"
  "tap.shifts = s + 1 < p_.filterWidth && s != 1;")
shiftconv_defect(shift_missing_on_first_tap
  "tap.shifts = s + 1 < p_.filterWidth;"
  "tap.shifts = s + 1 < p_.filterWidth && s != 0;")
shiftconv_defect(slot_refilled_too_early
  "control_->slots.awaitEmpty(slot);
    ptx::tensorFenceAfterThreadSync();
    gemm::sm100::copyOperand"
  "gemm::sm100::copyOperand")
shiftconv_defect(stage_released_before_copy
  "Group::commitRelease(control_->operands.empty(stage));"
  "ptx::mbarrierArrive(control_->operands.empty(stage));")
shiftconv_defect(filter_released_before_multiply
  "if (!p_.filterResident) Group::commitRelease(control_->filters.empty(filterStage));"
  "if (!p_.filterResident) ptx::mbarrierArrive(control_->filters.empty(filterStage));")
shiftconv_defect(operand_bytes_16_too_many
  "Group::kCtaGroup * kOperandStageBytes);"
  "Group::kCtaGroup * kOperandStageBytes + 16);")
shiftconv_defect(operand_bytes_16_too_few
  "Group::kCtaGroup * kOperandStageBytes);"
  "Group::kCtaGroup * kOperandStageBytes - 16);")
shiftconv_defect(filter_bytes_16_too_few
  "Group::kCtaGroup * filterStageBytes_);"
  "Group::kCtaGroup * filterStageBytes_ - 16);")
shiftconv_defect(accumulator_not_zeroed
  "column += 16) ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);"
  "column += 16) ptx::tensorFill16(address + static_cast<uint32_t>(column), 0x3f800000u);")
shiftconv_defect(accumulator_zeroes_not_awaited
  "ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);
    ptx::tensorStoreWait();"
  "ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);")
shiftconv_defect(masks_overwritten_too_early
  "control_->masksOfTiles.awaitEmpty(stage);"
  "")
