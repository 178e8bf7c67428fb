# Hand-made mutants of the test kernels that multiply matrices; see catalogue.cmake.

# ---- pipelined_gemm ------------------------------------------------------------------------------------------------------------
shiftconv_mutant(pipelined_gemm output_stored_after_one_warp HAZARD
  "The TMA store waits for one warp's rows of the tile instead of four warps'"
  tile_complete.1 "$ + 1 + threadIdx.x / 32 % 4"
  tile_complete.2 "32")
shiftconv_mutant(pipelined_gemm accumulator_released_before_it_is_read HAZARD
  "The accumulator is given back to the MMA thread before tcgen05.ld"
  drained_fence ""
  drained_warp ""
  accumulator_released ""
  tile_free "$(accumulator_released)
      $")
shiftconv_mutant(pipelined_gemm one_warp_releases_the_accumulator HAZARD
  "The mbarrier of an empty accumulator expects one warp instead of four"
  accumulator_barriers.3 "1")
shiftconv_mutant(pipelined_gemm commit_on_the_full_barrier HAZARD
  "The commit of a stage arrives on its full barrier"
  stage_released.1.callee "$(stage_released.1.object).full")
shiftconv_mutant(pipelined_gemm commit_in_front_of_the_multiplication HAZARD
  "The commit of the accumulator comes before the MMAs of the last chunk"
  accumulator_full ""
  operand_a "if ($(chunks.name) + 1 == $(chunks.limit)) $(accumulator_full)
      $")
shiftconv_mutant(pipelined_gemm stage_released_before_multiply HAZARD
  "A thread releases the stage right after issuing the MMAs that read it"
  stage_released.callee "ptx::mbarrierArrive")
shiftconv_mutant(pipelined_gemm barriers_initialised_twice HAZARD
  "Two threads initialise the barriers"
  preparing_thread.cond "$ || threadIdx.x == 64")
shiftconv_mutant(pipelined_gemm barrier_initialised_in_use HAZARD
  "A barrier is initialised again when its users are running"
  load_begins "$
      ptx::mbarrierInit($(stage_empty.object).full({1, 0}), 1);")
shiftconv_mutant(pipelined_gemm barriers_used_before_the_barrier HAZARD
  "The load thread starts before the initialisation is known to be done"
  enter "if ($(enter.3)) {
        ptx::tensorMemoryAllocate(ptx::sharedAddress(&$(enter.1)), $(enter.2));
        ptx::tensorMemoryRelinquish();
      }
      if (!($(load_role.cond))) ptx::namedBarrierSync(2, 160);
      $(enter.left) = $(load_role.cond) ? 0 : $(enter.1);"
  preparing_thread.cond "threadIdx.x == 160")
shiftconv_mutant(pipelined_gemm half_of_the_columns_allocated HAZARD
  "The second accumulator lies behind the allocated columns"
  columns.right "$ / 2")
shiftconv_mutant(pipelined_gemm columns_freed_by_the_mma_warp HAZARD
  "The MMA warp frees Tensor Memory when it is done, while the epilogue still reads it"
  leave "Group::synchronise();"
  multiply_role "$
      __syncwarp();
      ptx::tensorMemoryFree($(leave.1), $(leave.2));")
shiftconv_mutant(pipelined_gemm columns_never_freed HAZARD
  "Tensor Memory is not freed"
  leave "Group::synchronise();")
shiftconv_mutant(pipelined_gemm columns_freed_twice HAZARD
  "Two warps free the same columns"
  leave.3 "$(leave.3.first) <= $(leave.3.last)")
shiftconv_mutant(pipelined_gemm one_store_may_be_pending HAZARD
  "The only output tile is rewritten while one TMA store may still read it"
  tile_free.callee "ptx::bulkWaitGroupRead<1>")
shiftconv_mutant(pipelined_gemm wait_of_another_thread HAZARD
  "The thread that waits for the TMA store is not the one that issued it"
  tile_free.cond "$(storer.right) + 1")
shiftconv_mutant(pipelined_gemm bytes_of_a_only HAZARD
  "A stage counts as full when as many bytes as those of A have arrived"
  stage_bytes.2 "$(stage_bytes.2.first)")
shiftconv_mutant(pipelined_gemm operand_into_the_next_stage HAZARD
  "B is loaded into a stage that may be in use"
  load_b.1.[1] "($ + 1) % $(next_stage.1)")
shiftconv_mutant(pipelined_gemm other_accumulator_drained HAZARD
  "The epilogue reads the accumulator that is being computed"
  drained.2 "($) ^ 64")
shiftconv_mutant(pipelined_gemm accumulator_not_overwritten HAZARD
  "The first MMA of a tile adds to what the accumulator holds"
  mma.5 "true")
shiftconv_mutant(pipelined_gemm proxy_fence_behind_the_barrier CORRECT
  "The storing thread executes the proxy fence behind the barrier: it lies on the path of causality (PTX ISA, causality order)"
  tile_fenced ""
  tile_stored "$(tile_fenced)
      $")
shiftconv_mutant(pipelined_gemm every_lane_releases_the_accumulator CORRECT
  "All lanes arrive instead of one lane behind __syncwarp"
  drained_warp ""
  accumulator_released "$(accumulator_released.then)"
  accumulator_barriers.3 "$ * 32")
shiftconv_mutant(pipelined_gemm bytes_expected_behind_the_loads CORRECT
  "The phase cannot end before the arrival, so the bytes may be expected after the loads were issued"
  stage_bytes ""
  load_b "$
      $(stage_bytes)")

# ---- scaled_gemm ---------------------------------------------------------------------------------------------------------------
shiftconv_mutant(scaled_gemm scale_columns_shared_by_stages HAZARD
  "tcgen05.cp overwrites scale factors that MMAs in flight still read"
  scale_columns.right "$ - $(scale_columns.right.last)")
shiftconv_mutant(scaled_gemm stage_released_after_the_copies HAZARD
  "The commit of a stage comes before the MMAs that read A and B from it"
  stage_released ""
  operand_a "$(stage_released)
      $")
shiftconv_mutant(scaled_gemm scale_bytes_not_expected HAZARD
  "A stage counts as full when the scale factors of one operand are missing"
  stage_bytes.2 "$ - $(stage_bytes.2.last) / 2")
shiftconv_mutant(scaled_gemm scales_signal_the_first_stage HAZARD
  "The scale factors count towards the barrier of another stage"
  load_scale_b.4 "$(stage_empty.object).full({})")
shiftconv_mutant(scaled_gemm scales_into_the_first_stage HAZARD
  "Scale factors are loaded into a stage that may be in use"
  load_scale_a.1.[1] "0")
shiftconv_mutant(scaled_gemm accumulator_not_initialised HAZARD
  "The first MMA adds to columns that nothing has written"
  mma.7 "true")
shiftconv_mutant(scaled_gemm scales_overlap_the_accumulator HAZARD
  "Scale factors are copied into columns of the accumulator"
  scale_columns.right "$ - 8")
shiftconv_mutant(scaled_gemm one_warp_waits_for_the_accumulator HAZARD
  "Three of the four epilogue warps read the accumulator without waiting for it"
  accumulator_full "if (threadIdx.x / 32 % 4 == 0) $")
shiftconv_mutant(scaled_gemm accumulator_released_after_the_first_columns HAZARD
  "The accumulator is given back after the first of four loads"
  drained_fence ""
  drained_warp ""
  accumulator_released ""
  columns_loaded "$
      if ($(columns.name) == 0) {
        $(drained_fence)
        $(drained_warp)
        $(accumulator_released)
      }")
shiftconv_mutant(scaled_gemm first_scales_of_b_kept VALUE
  "The scale factors that MMAs read are defined and ordered, but those of another chunk"
  load_scale_b.2 "$(load_scale_b.2.first)")
shiftconv_mutant(scaled_gemm wrong_scale_byte VALUE
  "The instruction descriptor selects another written byte of the scale factors"
  mma.4.2 "$ ^ 1")

# ---- cluster_pair --------------------------------------------------------------------------------------------------------------
shiftconv_mutant(cluster_pair halves_to_the_first_cta_only HAZARD
  "The multicast mask names one CTA"
  load_b.6 "0b01")
shiftconv_mutant(cluster_pair release_to_the_first_cta_only HAZARD
  "The mask of the multicast commit names one CTA"
  stage_released.2 "0b01")
shiftconv_mutant(cluster_pair one_cta_releases_the_stage HAZARD
  "A stage is refilled in both CTAs when the tensor core of one has released it"
  operand_barriers.3 "1")
shiftconv_mutant(cluster_pair cta_leaves_early HAZARD
  "A CTA leaves while its peer may still use its shared memory"
  ctas_leave "")
shiftconv_mutant(cluster_pair peer_barriers_not_awaited HAZARD
  "Copies and arrivals go to the peer before its barriers are known to exist"
  barriers_exist.callee "__syncthreads")
shiftconv_mutant(cluster_pair sum_written_behind_the_arrival HAZARD
  "The peer is told of a sum before it is stored"
  sum_stored ""
  sums_stored ""
  peer_awaited "$(sum_stored)
      $")
shiftconv_mutant(cluster_pair own_barrier_signalled HAZARD
  "The arrival goes to the CTA's own barrier, so nothing says that the peer's sums are there"
  peer_told.then "ptx::mbarrierArrive($(peer_told.1.1));")
shiftconv_mutant(cluster_pair one_warp_signals_for_four HAZARD
  "The peer reads the sums of four warps when the first of them has arrived"
  peer_barrier.2 "1")
shiftconv_mutant(cluster_pair half_of_b_expected HAZARD
  "A stage counts as full when the peer's half of B is missing"
  stage_bytes.2 "$ - $(stage_bytes.2.last) / 2")
shiftconv_mutant(cluster_pair wrong_half_overwritten HAZARD
  "Both CTAs load the same half of B, so nobody fills the other"
  load_b.1 "$(load_b.1.first) + 0 * $(load_b.1.last)")

# ---- pair_gemm -----------------------------------------------------------------------------------------------------------------
shiftconv_mutant(pair_gemm own_warps_release_the_accumulator HAZARD
  "The accumulators of both CTAs are overwritten when the warps of one CTA's number have drained theirs"
  accumulator_barriers.3 "$ / 2")
shiftconv_mutant(pair_gemm peer_not_told_of_the_accumulator HAZARD
  "The commit of an accumulator arrives in the even CTA only"
  accumulator_full "ptx::tensorCommitMulticast<2>($(accumulator_full.1), 0b01);")
shiftconv_mutant(pair_gemm release_in_the_own_cta HAZARD
  "Warps of the odd CTA release the accumulator on a barrier that nobody waits for"
  accumulator_released.then "ptx::mbarrierArriveInCluster(ptx::mapToCta($(accumulator_released.1), Group::rank()));")
shiftconv_mutant(pair_gemm bytes_of_one_cta HAZARD
  "A stage counts as full when as many bytes as one CTA loads have arrived"
  stage_bytes.2 "$ / 2")
shiftconv_mutant(pair_gemm both_ctas_multiply HAZARD
  "The odd CTA issues the multiplications, too"
  multiply_role.cond "$(multiply_role.cond.last)")
shiftconv_mutant(pair_gemm odd_cta_leaves_early HAZARD
  "The odd CTA frees its columns and leaves while the even one may still multiply out of its shared memory"
  leave "if (Group::isLeader()) __syncthreads();
      if ($(leave.3)) ptx::tensorMemoryFree<2>($(leave.1), $(leave.2));")
shiftconv_mutant(pair_gemm one_cta_frees HAZARD
  "Only one CTA of the pair takes part in the deallocation"
  leave.3 "$ && Group::isLeader()")
shiftconv_mutant(pair_gemm peer_load_counts_in_the_own_cta HAZARD
  "Loads of the odd CTA count towards its own barrier, which nobody waits for"
  full_barrier.right "ptx::mapToCta($(full_barrier.1), Group::rank())")
shiftconv_mutant(pair_gemm odd_cta_refills_at_once HAZARD
  "The odd CTA refills a stage without waiting for the tensor core to release it"
  stage_empty "if (Group::isLeader()) $")

# ---- shift_refill --------------------------------------------------------------------------------------------------------------
shiftconv_mutant(shift_refill missing_refill HAZARD
  "The last lane of a window keeps the stale row that the shift left"
  refilled "static_cast<void>($(refilled.1)), static_cast<void>($(refilled.2));")
shiftconv_mutant(shift_refill wrong_lane_refilled HAZARD
  "The refill goes to the last lane but one"
  last_lane.right "($) - (1u << 16)")
shiftconv_mutant(shift_refill refill_in_front_of_the_shift HAZARD
  "tcgen05.cp is not ordered behind the MMA, nor the shift behind tcgen05.cp"
  shifted ""
  refilled "$
      $(shifted)")
shiftconv_mutant(shift_refill refill_without_shift HAZARD
  "tcgen05.cp.4x256b directly behind an MMA that reads the same rows is unordered"
  shifted "")
shiftconv_mutant(shift_refill operand_copied_again_instead_of_shifted HAZARD
  "tcgen05.cp.128x256b behind an MMA that reads the same rows is unordered"
  shifted ""
  refilled "ptx::tensorCopy128x256($(shifted.1), layout::advanceDescriptor($(operand_copied.2.1), $(refilled.2.2)));
      static_cast<void>($(refilled.1)), static_cast<void>($(refilled.2.1));")
shiftconv_mutant(shift_refill operand_released_by_thread HAZARD
  "A thread releases A in Tensor Memory right after issuing the MMAs that read it"
  operand_released.callee "ptx::mbarrierArrive")
shiftconv_mutant(shift_refill stage_released_behind_the_first_copies HAZARD
  "The stage is given back before the refills have read theirs"
  stage_released ""
  operand_copied "$
      $(stage_released)")
shiftconv_mutant(shift_refill refills_share_a_slot HAZARD
  "Two loads go to the same shared memory at once"
  load_refill.1.[2] "0")
shiftconv_mutant(shift_refill filter_bytes_of_two_taps HAZARD
  "The filter counts as loaded when one of its three taps is missing"
  filter_bytes.2 "$ / 3 * 2")
shiftconv_mutant(shift_refill accumulators_overlap HAZARD
  "The second accumulator starts in the middle of the first"
  target.right "$ - $(target.right.last) / 2")
shiftconv_mutant(shift_refill window_of_another_warp HAZARD
  "Warps read the Tensor Memory lanes of other warps"
  source.right "($) ^ (32u << 16)")
shiftconv_mutant(shift_refill refill_of_the_first_tap_twice VALUE
  "The refilled row is defined and ordered, but the one of the tap before"
  refill_rows.[2] "0")
