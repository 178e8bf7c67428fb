# Hand-made mutants of the GEMM kernels; see catalogue.cmake.
set(gemm IMAGE gemm_sm100_image SOURCE common/gemm/sm100/gemm.cu)
shiftconv_mutants_of(gemm_sm100_single ${gemm} WITHOUT kernel_sharing kernel_pair)
shiftconv_mutants_of(gemm_sm100_sharing ${gemm} WITHOUT kernel_single kernel_pair)
shiftconv_mutants_of(gemm_sm100_pair ${gemm} WITHOUT kernel_single kernel_sharing)

# ---- Stages --------------------------------------------------------------------------------------------------------------------
shiftconv_mutant(gemm_sm100_single parity_never_changes HAZARD
  "The multiplying thread goes around the ring without changing the parity that it waits for"
  operands_left "$(operands_left.object).index = ($(operands_left.object).index + 1) % $(operands_left.1);")
shiftconv_mutant(gemm_sm100_single stage_released_before_multiply HAZARD
  "A thread releases the stage right after issuing the MMAs that read it"
  operands_released.callee "ptx::mbarrierArrive")
shiftconv_mutant(gemm_sm100_single resident_weights_of_the_first_chunk HAZARD
  "The barrier of resident weights counts the bytes of one chunk"
  weight_bytes.3 "$ / static_cast<uint32_t>($(weights_loaded.limit))")
shiftconv_mutant(gemm_sm100_single one_warp_of_builders_counts HAZARD
  "A stage counts as full when one of four warps has built its scale factors"
  builders.right "($) / 4"
  stage_published.cond "$ && threadIdx.x / 32 % 4 == 0")
shiftconv_mutant(gemm_sm100_pair bytes_of_one_cta HAZARD
  "The barrier of the leading CTA counts the bytes that one of the two loads"
  operand_bytes.3 "$ / 2")
shiftconv_mutant(gemm_sm100_pair stage_released_in_the_leader_only HAZARD
  "The commit of a stage does not reach the other CTA of the pair"
  operands_released.callee "ptx::tensorCommit<2>")
shiftconv_mutant(gemm_sm100_sharing stage_released_by_one_of_two HAZARD
  "A stage whose B comes from the other CTA counts as empty when one of the two has multiplied"
  operand_barriers.3 "1")

# ---- Accumulators --------------------------------------------------------------------------------------------------------------
shiftconv_mutant(gemm_sm100_single accumulator_released_before_it_is_read HAZARD
  "The accumulator is given back to the multiplying thread before tcgen05.ld"
  accumulator_released ""
  drain_begins "$
      $(accumulator_released)")
shiftconv_mutant(gemm_sm100_single no_fences_around_the_release HAZARD
  "Neither side of the release of an accumulator has its tcgen05.fence"
  release_fence ""
  multiply_fence "")
shiftconv_mutant(gemm_sm100_single first_chunk_accumulates HAZARD
  "The first chunk of a tile is added to what the accumulator happens to hold"
  accumulates.right "true")
shiftconv_mutant(gemm_sm100_pair accumulator_released_by_one_cta HAZARD
  "The accumulator of a pair counts as empty when one CTA has read its part"
  draining_warps.right "$ / Group::kCtaGroup")
shiftconv_mutant(gemm_sm100_single columns_freed_before_the_barrier HAZARD
  "Tensor Memory is freed while the epilogue still reads it"
  leave "if ($(leave.3)) ptx::tensorMemoryFree<Group::kCtaGroup>($(leave.1), $(leave.2));
      Group::synchronise();")

# ---- Tiles ---------------------------------------------------------------------------------------------------------------------
shiftconv_mutant(gemm_sm100_single answer_overwritten HAZARD
  "The next answer of cluster launch control is asked for when one role has read the present one"
  queue_readers.right "1")
shiftconv_mutant(gemm_sm100_single part_counted_before_it_is_there HAZARD
  "A part of a split reduction is counted before its sums are stored"
  part_left "$(part_counted)
      $"
  part_counted "")
shiftconv_mutant(gemm_sm100_single one_counter_for_four_warps HAZARD
  "The warps of the epilogue count the parts of their windows in one counter"
  part_counter.right "$ - threadIdx.x / 32 % 4")

# ---- Outputs -------------------------------------------------------------------------------------------------------------------
shiftconv_mutant(gemm_sm100_single staging_tile_overwritten HAZARD
  "A staging tile is filled again while a TMA store still reads it"
  staging_free.callee "ptx::bulkWaitGroupRead<kStagingTiles>")
shiftconv_mutant(gemm_sm100_single outputs_stored_before_the_warp_is_there HAZARD
  "One lane stores the staging tile without waiting for the others"
  tile_staged "")
