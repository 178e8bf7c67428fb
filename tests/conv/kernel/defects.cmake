# shiftconv_defect(<name> <site> <replacement>...): each removes or bends one thing that the kernel needs.

shiftconv_defect(missing_commit_wait_before_drain
  accumulator_full "")
shiftconv_defect(missing_commit_of_accumulator
  result_committed.callee "ptx::mbarrierArrive")
shiftconv_defect(column_mask_off_by_one
  column_mask.2.1 "$ + 1")
shiftconv_defect(row_mask_off_by_one
  row_mask.2.1 "$ - 1")
shiftconv_defect(one_mask_bit_wrong
  tap_multiplied "$(tap_multiplied.2).disabled[0].word[2] ^= 1u << 5;
      $")
shiftconv_defect(shift_dropped_from_middle_tap
  tap_shifts.right "$ && $(taps.name) != 1")
shiftconv_defect(shift_missing_on_first_tap
  tap_shifts.right "$ && $(taps.name) != 0")
shiftconv_defect(slot_refilled_too_early
  slot_free ""
  slot_fence "")
shiftconv_defect(stage_released_before_copy
  operands_released.callee "ptx::mbarrierArrive")
shiftconv_defect(filter_released_before_multiply
  filter_released.callee "ptx::mbarrierArrive")
shiftconv_defect(operand_bytes_16_too_many
  operand_bytes.3 "$ + 16")
shiftconv_defect(operand_bytes_16_too_few
  operand_bytes.3 "$ - 16")
shiftconv_defect(filter_bytes_16_too_few
  filter_bytes.3 "$ - 16")
shiftconv_defect(accumulator_not_zeroed
  accumulator_zeroed.2 "0x3f800000u")
shiftconv_defect(accumulator_zeroes_not_awaited
  zeroes_awaited "")
shiftconv_defect(masks_overwritten_too_early
  masks_free "")
