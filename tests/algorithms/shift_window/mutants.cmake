# Hand-made mutants of the kernel for single CTAs, see tests/hazards/mutation/catalogue.cmake.
shiftconv_mutants_of(shift_window_sm100_single SOURCE conv/algorithms/shift_window/sm100_shift_window.cu
  IMAGE shift_window_image WITHOUT kernel_of_pairs)

shiftconv_mutant_from_defect(shift_window_sm100_single missing_commit_of_accumulator HAZARD
  "The epilogue is told of an accumulator by a thread instead of by a commit")
shiftconv_mutant_from_defect(shift_window_sm100_single slot_refilled_too_early HAZARD
  "A is copied into a Tensor Memory slot that MMAs still read")
shiftconv_mutant_from_defect(shift_window_sm100_single stage_released_before_copy HAZARD
  "Shared memory is refilled while tcgen05.cp still reads it")
shiftconv_mutant_from_defect(shift_window_sm100_single filter_released_before_multiply HAZARD
  "Shared memory is refilled while MMAs still read B from it")
shiftconv_mutant_from_defect(shift_window_sm100_single column_mask_off_by_one VALUE
  "All lanes that the wrong mask lets through hold defined rows: of a neighbouring pixel")
shiftconv_mutant_from_defect(shift_window_sm100_single row_mask_off_by_one VALUE
  "All lanes that the wrong mask lets through hold defined rows: of a neighbouring image row")
shiftconv_mutant_from_defect(shift_window_sm100_single shift_dropped_from_middle_tap VALUE
  "The rows that are multiplied are defined, but one pixel too low")
shiftconv_mutant_from_defect(shift_window_sm100_single accumulator_not_zeroed VALUE
  "The accumulator is initialised, with the wrong number")
shiftconv_mutant(shift_window_sm100_single operand_bytes_of_three_windows HAZARD
  "A stage counts as full when three of its four boxes have arrived"
  operand_bytes.3 "$ - kWindowBytes")
shiftconv_mutant(shift_window_sm100_single accumulator_offered_before_it_is_drained HAZARD
  "The epilogue zeroes and releases the accumulator, then reads it"
  accumulator_offered ""
  drained_anchor "$
      $(accumulator_offered)")
shiftconv_mutant(shift_window_sm100_single stale_lanes_enabled HAZARD
  "The mask lets through the lanes whose rows a shift left stale"
  enabled_lanes.right "$(enabled_lanes.right.last)")
shiftconv_mutant(shift_window_sm100_single masks_released_before_they_are_read HAZARD
  "The mask stage is given back at the start of the tile"
  masks_released ""
  tile_begins "$
      $(masks_released)")
shiftconv_mutant(shift_window_sm100_single window_across_planes_staged VALUE
  "The box is clipped to its plane; what the window has of the next one is not stored"
  whole_windows.right "true")
shiftconv_mutant(shift_window_sm100_single columns_freed_before_the_barrier HAZARD
  "Tensor Memory is freed while other warps still use it"
  leave "if ($(leave.3)) ptx::tensorMemoryFree($(leave.1), $(leave.2));
      Group::synchronise();")
shiftconv_mutant(shift_window_sm100_single too_few_columns_allocated HAZARD
  "The allocation forgets the operand slots"
  allocated_columns.right "($) > 0 ? 64 : 0")
