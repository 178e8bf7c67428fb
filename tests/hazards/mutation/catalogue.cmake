# Hand-made mutants: mistakes that people make, on top of the mechanical mutants.
#
# shiftconv_mutant(<kernel> <name> <HAZARD|VALUE|CORRECT> <what is wrong> <original text> <replacement>...)
# shiftconv_mutant_from_defect(<name> <HAZARD|VALUE> <what is wrong>): of tests/conv/kernel/defects.cmake
#   HAZARD   the machine has to report it
#   VALUE    every byte is written and ordered, only the number is wrong: nothing but a comparison with a reference can see it
#   CORRECT  unusual but legal: the machine must not report anything

# ---- shift_window ------------------------------------------------------------------------------------------------------------
shiftconv_mutant_from_defect(missing_commit_of_accumulator HAZARD
  "The epilogue is told of an accumulator by a thread instead of by a commit")
shiftconv_mutant_from_defect(slot_refilled_too_early HAZARD
  "A is copied into a Tensor Memory slot that MMAs still read")
shiftconv_mutant_from_defect(stage_released_before_copy HAZARD
  "Shared memory is refilled while tcgen05.cp still reads it")
shiftconv_mutant_from_defect(filter_released_before_multiply HAZARD
  "Shared memory is refilled while MMAs still read B from it")
shiftconv_mutant_from_defect(column_mask_off_by_one VALUE
  "All lanes that the wrong mask lets through hold defined rows: of a neighbouring pixel")
shiftconv_mutant_from_defect(row_mask_off_by_one VALUE
  "All lanes that the wrong mask lets through hold defined rows: of a neighbouring image row")
shiftconv_mutant_from_defect(shift_dropped_from_middle_tap VALUE
  "The rows that are multiplied are defined, but one pixel too low")
shiftconv_mutant_from_defect(accumulator_not_zeroed VALUE
  "The accumulator is initialised, with the wrong number")
shiftconv_mutant(shift_window operand_bytes_of_three_windows HAZARD
  "A stage counts as full when three of its four boxes have arrived"
  "ptx::mbarrierArriveExpectBytes(full, kOperandStageBytes);"
  "ptx::mbarrierArriveExpectBytes(full, kOperandStageBytes - kWindowBytes);")
shiftconv_mutant(shift_window accumulator_offered_before_it_is_drained HAZARD
  "The epilogue zeroes and releases the accumulator, then reads it"
  "offerEmptyAccumulator(accumulator.index, window);
      accumulator.advance(kAccumulators);"
  "accumulator.advance(kAccumulators);"
  "const int32_t anchor = tile * anchorsPerTile_ + static_cast<int32_t>(window) * anchorsPerWindow_ + lane;"
  "const int32_t anchor = tile * anchorsPerTile_ + static_cast<int32_t>(window) * anchorsPerWindow_ + lane;
      offerEmptyAccumulator(accumulator.index, window);")
shiftconv_mutant(shift_window stale_lanes_enabled HAZARD
  "The mask lets through the lanes whose rows a shift left stale"
  "const bool hasAnchor = lane < anchorsPerWindow_ && anchor < p_.anchors;
        const PixelPosition"
  "const bool hasAnchor = anchor < p_.anchors;
        const PixelPosition")
shiftconv_mutant(shift_window masks_released_before_they_are_read HAZARD
  "The mask stage is given back at the start of the tile"
  "ptx::mbarrierArrive(at(control_->maskEmpty[maskStage.index]));
      filterLoaded"
  "filterLoaded"
  "const uint32_t target = accumulatorAddress(accumulator.index);"
  "const uint32_t target = accumulatorAddress(accumulator.index);
      ptx::mbarrierArrive(at(control_->maskEmpty[maskStage.index]));")
shiftconv_mutant(shift_window columns_freed_before_the_barrier HAZARD
  "Tensor Memory is freed while other warps still use it"
  "if (warp == kMaskWarp) ptx::tensorMemoryFree(accumulators_, allocatedColumns());"
  ""
  "finish(warp);
  }"
  "if (warp == kMaskWarp) ptx::tensorMemoryFree(accumulators_, allocatedColumns());
    finish(warp);
  }")
shiftconv_mutant(shift_window too_few_columns_allocated HAZARD
  "The allocation forgets the operand slots"
  "return needed <= 256 ? 256 : 512;"
  "return needed <= 512 ? 64 : 512;")

# ---- pipelined_gemm ------------------------------------------------------------------------------------------------------------
shiftconv_mutant(pipelined_gemm output_stored_after_one_warp HAZARD
  "The TMA store waits for one warp's rows of the tile instead of four warps'"
  "ptx::namedBarrierSync(kEpilogueBarrier, kEpilogueThreads);  // the output tile is complete"
  "ptx::namedBarrierSync(kEpilogueBarrier + 1 + window, 32);")
shiftconv_mutant(pipelined_gemm accumulator_released_before_it_is_read HAZARD
  "The accumulator is given back to the MMA thread before tcgen05.ld"
  "    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive(at(shared.accumulatorEmpty[accumulator.index]));
"
  ""
  "if (isStorer) ptx::bulkWaitGroupRead<0>();"
  "if (lane == 0) ptx::mbarrierArrive(at(shared.accumulatorEmpty[accumulator.index]));
    if (isStorer) ptx::bulkWaitGroupRead<0>();")
shiftconv_mutant(pipelined_gemm one_warp_releases_the_accumulator HAZARD
  "The mbarrier of an empty accumulator expects one warp instead of four"
  "ptx::mbarrierInit(at(shared.accumulatorEmpty[i]), kEpilogueThreads / 32);"
  "ptx::mbarrierInit(at(shared.accumulatorEmpty[i]), 1);")
shiftconv_mutant(pipelined_gemm commit_on_the_full_barrier HAZARD
  "The commit of a stage arrives on its full barrier"
  "ptx::tensorCommit(at(shared.empty[stage.index]));"
  "ptx::tensorCommit(at(shared.full[stage.index]));")
shiftconv_mutant(pipelined_gemm commit_in_front_of_the_multiplication HAZARD
  "The commit of the accumulator comes before the MMAs of the last chunk"
  "    ptx::tensorCommit(at(shared.accumulatorFull[accumulator.index]));
    accumulator.advance();"
  "    accumulator.advance();"
  "const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));"
  "if (chunk + 1 == tiles.chunks) ptx::tensorCommit(at(shared.accumulatorFull[accumulator.index]));
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));")
shiftconv_mutant(pipelined_gemm stage_released_before_multiply HAZARD
  "A thread releases the stage right after issuing the MMAs that read it"
  "ptx::tensorCommit(at(shared.empty[stage.index]));"
  "ptx::mbarrierArrive(at(shared.empty[stage.index]));")
shiftconv_mutant(pipelined_gemm barriers_initialised_twice HAZARD
  "Two threads initialise the barriers"
  "if (threadIdx.x == 0) {"
  "if (threadIdx.x == 0 || threadIdx.x == 64) {")
shiftconv_mutant(pipelined_gemm barrier_initialised_in_use HAZARD
  "A barrier is initialised again when its users are running"
  "  Ring<kStages> stage;
  tiles.forEach([&](int32_t row, int32_t column) {
#pragma unroll 1"
  "  Ring<kStages> stage;
  ptx::mbarrierInit(at(shared.full[1]), 1);
  tiles.forEach([&](int32_t row, int32_t column) {
#pragma unroll 1")
shiftconv_mutant(pipelined_gemm barriers_used_before_the_barrier HAZARD
  "The load thread starts before the initialisation is known to be done"
  "  __syncthreads();
  const uint32_t accumulators = shared.tensorMemory;

  if (warp == kLoadWarp) {"
  "  if (warp != kLoadWarp) ptx::namedBarrierSync(2, 160);
  const uint32_t accumulators = warp == kLoadWarp ? 0 : shared.tensorMemory;

  if (warp == kLoadWarp) {"
  "if (threadIdx.x == 0) {"
  "if (threadIdx.x == 160) {")
shiftconv_mutant(pipelined_gemm half_of_the_columns_allocated HAZARD
  "The second accumulator lies behind the allocated columns"
  "ptx::tensorMemoryAllocate(ptx::sharedAddress(&shared.tensorMemory), kColumns);"
  "ptx::tensorMemoryAllocate(ptx::sharedAddress(&shared.tensorMemory), kColumns / 2);"
  "ptx::tensorMemoryFree(accumulators, kColumns);"
  "ptx::tensorMemoryFree(accumulators, kColumns / 2);")
shiftconv_mutant(pipelined_gemm columns_freed_by_the_mma_warp HAZARD
  "The MMA warp frees Tensor Memory when it is done, while the epilogue still reads it"
  "  if (warp == kMmaWarp) ptx::tensorMemoryFree(accumulators, kColumns);"
  ""
  "    if (ptx::electOne()) multiply(shared, tiles, accumulators);"
  "    if (ptx::electOne()) multiply(shared, tiles, accumulators);
    __syncwarp();
    ptx::tensorMemoryFree(accumulators, kColumns);")
shiftconv_mutant(pipelined_gemm columns_never_freed HAZARD
  "Tensor Memory is not freed"
  "  if (warp == kMmaWarp) ptx::tensorMemoryFree(accumulators, kColumns);"
  "")
shiftconv_mutant(pipelined_gemm columns_freed_twice HAZARD
  "Two warps free the same columns"
  "  if (warp == kMmaWarp) ptx::tensorMemoryFree(accumulators, kColumns);"
  "  if (warp <= kMmaWarp) ptx::tensorMemoryFree(accumulators, kColumns);")
shiftconv_mutant(pipelined_gemm one_store_may_be_pending HAZARD
  "The only output tile is rewritten while one TMA store may still read it"
  "ptx::bulkWaitGroupRead<0>();"
  "ptx::bulkWaitGroupRead<1>();")
shiftconv_mutant(pipelined_gemm wait_of_another_thread HAZARD
  "The thread that waits for the TMA store is not the one that issued it"
  "if (isStorer) ptx::bulkWaitGroupRead<0>();"
  "if (threadIdx.x == kEpilogueWarps * 32 + 1) ptx::bulkWaitGroupRead<0>();")
shiftconv_mutant(pipelined_gemm bytes_of_a_only HAZARD
  "A stage counts as full when as many bytes as those of A have arrived"
  "ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);"
  "ptx::mbarrierArriveExpectBytes(full, kBytesA);")
shiftconv_mutant(pipelined_gemm operand_into_the_next_stage HAZARD
  "B is loaded into a stage that may be in use"
  "ptx::loadTile2d(ptx::sharedAddress(shared.b[stage.index]), &mapB"
  "ptx::loadTile2d(ptx::sharedAddress(shared.b[(stage.index + 1) % kStages]), &mapB")
shiftconv_mutant(pipelined_gemm other_accumulator_drained HAZARD
  "The epilogue reads the accumulator that is being computed"
  "stageRow(shared, accumulators + static_cast<uint32_t>(accumulator.index * kTileN)"
  "stageRow(shared, accumulators + static_cast<uint32_t>((accumulator.index ^ 1) * kTileN)")
shiftconv_mutant(pipelined_gemm accumulator_not_overwritten HAZARD
  "The first MMA of a tile adds to what the accumulator holds"
  "kInstruction, chunk != 0 || slice != 0);"
  "kInstruction, true);")
shiftconv_mutant(pipelined_gemm proxy_fence_behind_the_barrier CORRECT
  "The storing thread executes the proxy fence behind the barrier: it lies on the path of causality (PTX ISA, causality order)"
  "ptx::fenceProxyAsyncShared();"
  ""
  "ptx::storeTile2d(&mapC, column, row, ptx::sharedAddress(shared.output));"
  "ptx::fenceProxyAsyncShared();
      ptx::storeTile2d(&mapC, column, row, ptx::sharedAddress(shared.output));")
shiftconv_mutant(pipelined_gemm every_lane_releases_the_accumulator CORRECT
  "All lanes arrive instead of one lane behind __syncwarp"
  "    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive"
  "    ptx::mbarrierArrive"
  "ptx::mbarrierInit(at(shared.accumulatorEmpty[i]), kEpilogueThreads / 32);"
  "ptx::mbarrierInit(at(shared.accumulatorEmpty[i]), kEpilogueThreads);")
shiftconv_mutant(pipelined_gemm bytes_expected_behind_the_loads CORRECT
  "The phase cannot end before the arrival, so the bytes may be expected after the loads were issued"
  "      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);
"
  ""
  "&mapB, chunk * kTileK, column, full);"
  "&mapB, chunk * kTileK, column, full);
      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);")

# ---- scaled_gemm ---------------------------------------------------------------------------------------------------------------
shiftconv_mutant(scaled_gemm scale_columns_shared_by_stages HAZARD
  "tcgen05.cp overwrites scale factors that MMAs in flight still read"
  "const uint32_t scaleA = tensorMemory + kTileN + static_cast<uint32_t>(stage.index) * 2 * kScaleColumns;"
  "const uint32_t scaleA = tensorMemory + kTileN;")
shiftconv_mutant(scaled_gemm stage_released_after_the_copies HAZARD
  "The commit of a stage comes before the MMAs that read A and B from it"
  "      ptx::tensorCommit(at(shared.empty[stage.index]));
      stage.advance();"
  "      stage.advance();"
  "const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));"
  "ptx::tensorCommit(at(shared.empty[stage.index]));
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));")
shiftconv_mutant(scaled_gemm scale_bytes_not_expected HAZARD
  "A stage counts as full when the scale factors of one operand are missing"
  "ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB + 2 * kScaleBytes);"
  "ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB + kScaleBytes);")
shiftconv_mutant(scaled_gemm scales_signal_the_first_stage HAZARD
  "The scale factors count towards the barrier of another stage"
  "scaleB + chunk * kScaleBytes, kScaleBytes, full);"
  "scaleB + chunk * kScaleBytes, kScaleBytes, at(shared.full[0]));")
shiftconv_mutant(scaled_gemm scales_into_the_first_stage HAZARD
  "Scale factors are loaded into a stage that may be in use"
  "ptx::loadBytes(ptx::sharedAddress(shared.scaleA[stage.index])"
  "ptx::loadBytes(ptx::sharedAddress(shared.scaleA[0])")
shiftconv_mutant(scaled_gemm accumulator_not_initialised HAZARD
  "The first MMA adds to columns that nothing has written"
  "scaleA, scaleB, chunk != 0 || slice != 0);"
  "scaleA, scaleB, true);")
shiftconv_mutant(scaled_gemm scales_overlap_the_accumulator HAZARD
  "Scale factors are copied into columns of the accumulator"
  "const uint32_t scaleA = tensorMemory + kTileN + static_cast<uint32_t>(stage.index) * 2 * kScaleColumns;"
  "const uint32_t scaleA = tensorMemory + kTileN - 8 + static_cast<uint32_t>(stage.index) * 2 * kScaleColumns;")
shiftconv_mutant(scaled_gemm one_warp_waits_for_the_accumulator HAZARD
  "Three of the four epilogue warps read the accumulator without waiting for it"
  "ptx::mbarrierWait(at(shared.accumulatorFull), accumulator.parity);"
  "if (window == 0) ptx::mbarrierWait(at(shared.accumulatorFull), accumulator.parity);")
shiftconv_mutant(scaled_gemm accumulator_released_after_the_first_columns HAZARD
  "The accumulator is given back after the first of four loads"
  "    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive(at(shared.accumulatorEmpty));
"
  ""
  "      ptx::tensorLoadWait(bits);
"
  "      ptx::tensorLoadWait(bits);
      if (column == 0) {
        ptx::tensorFenceBeforeThreadSync();
        __syncwarp();
        if (lane == 0) ptx::mbarrierArrive(at(shared.accumulatorEmpty));
      }
")
shiftconv_mutant(scaled_gemm first_scales_of_b_kept VALUE
  "The scale factors that MMAs read are defined and ordered, but those of another chunk"
  "scaleB + chunk * kScaleBytes, kScaleBytes, full);"
  "scaleB, kScaleBytes, full);")
shiftconv_mutant(scaled_gemm wrong_scale_byte VALUE
  "The instruction descriptor selects another written byte of the scale factors"
  "layout::instructionDescriptorScaledE4m3(kTileN, slice)"
  "layout::instructionDescriptorScaledE4m3(kTileN, slice ^ 1)")

# ---- cluster_pair --------------------------------------------------------------------------------------------------------------
shiftconv_mutant(cluster_pair halves_to_the_first_cta_only HAZARD
  "The multicast mask names one CTA"
  "column + static_cast<int32_t>(rank * kHalfRows), full, kBothCtas);"
  "column + static_cast<int32_t>(rank * kHalfRows), full, 0b01);")
shiftconv_mutant(cluster_pair release_to_the_first_cta_only HAZARD
  "The mask of the multicast commit names one CTA"
  "ptx::tensorCommitMulticast(at(shared.empty[stage.index]), kBothCtas);"
  "ptx::tensorCommitMulticast(at(shared.empty[stage.index]), 0b01);")
shiftconv_mutant(cluster_pair one_cta_releases_the_stage HAZARD
  "A stage is refilled in both CTAs when the tensor core of one has released it"
  "ptx::mbarrierInit(at(shared.empty[i]), kCtas);"
  "ptx::mbarrierInit(at(shared.empty[i]), 1);")
shiftconv_mutant(cluster_pair cta_leaves_early HAZARD
  "A CTA leaves while its peer may still use its shared memory"
  "  ptx::clusterBarrierSync();  // the peer may still copy into this CTA, arrive here or read its sums
"
  "")
shiftconv_mutant(cluster_pair peer_barriers_not_awaited HAZARD
  "Copies and arrivals go to the peer before its barriers are known to exist"
  "ptx::clusterBarrierSync();  // the barriers of both CTAs exist"
  "__syncthreads();")
shiftconv_mutant(cluster_pair sum_written_behind_the_arrival HAZARD
  "The peer is told of a sum before it is stored"
  "  shared.rowSum[row] = sum;
  __syncwarp();
"
  ""
  "  ptx::mbarrierWaitInCluster(at(shared.peerSumsReady), 0);
"
  "  shared.rowSum[row] = sum;
  ptx::mbarrierWaitInCluster(at(shared.peerSumsReady), 0);
")
shiftconv_mutant(cluster_pair own_barrier_signalled HAZARD
  "The arrival goes to the CTA's own barrier, so nothing says that the peer's sums are there"
  "ptx::mbarrierArriveInCluster(ptx::mapToCta(at(shared.peerSumsReady), peer));"
  "ptx::mbarrierArrive(at(shared.peerSumsReady));")
shiftconv_mutant(cluster_pair one_warp_signals_for_four HAZARD
  "The peer reads the sums of four warps when the first of them has arrived"
  "ptx::mbarrierInit(at(shared.peerSumsReady), kEpilogueWarpCount);"
  "ptx::mbarrierInit(at(shared.peerSumsReady), 1);")
shiftconv_mutant(cluster_pair half_of_b_expected HAZARD
  "A stage counts as full when the peer's half of B is missing"
  "ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);"
  "ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB / 2);")
shiftconv_mutant(cluster_pair wrong_half_overwritten HAZARD
  "Both CTAs load the same half of B, so nobody fills the other"
  "ptx::sharedAddress(shared.b[stage.index]) + rank * kHalfBytes"
  "ptx::sharedAddress(shared.b[stage.index]) + 0 * rank * kHalfBytes")

# ---- pair_gemm -----------------------------------------------------------------------------------------------------------------
shiftconv_mutant(pair_gemm own_warps_release_the_accumulator HAZARD
  "The accumulators of both CTAs are overwritten when the warps of one CTA's number have drained theirs"
  "ptx::mbarrierInit(at(shared.accumulatorEmpty[i]), kCtas * kEpilogueWarpCount);"
  "ptx::mbarrierInit(at(shared.accumulatorEmpty[i]), kEpilogueWarpCount);")
shiftconv_mutant(pair_gemm peer_not_told_of_the_accumulator HAZARD
  "The commit of an accumulator arrives in the even CTA only"
  "ptx::tensorCommitInPair(at(shared.accumulatorFull[accumulator.index]), kBothCtas);"
  "ptx::tensorCommitInPair(at(shared.accumulatorFull[accumulator.index]), 0b01);")
shiftconv_mutant(pair_gemm release_in_the_own_cta HAZARD
  "Warps of the odd CTA release the accumulator on a barrier that nobody waits for"
  "ptx::mapToCta(at(shared.accumulatorEmpty[accumulator.index]), kLeader)"
  "ptx::mapToCta(at(shared.accumulatorEmpty[accumulator.index]), ptx::clusterRank())")
shiftconv_mutant(pair_gemm bytes_of_one_cta HAZARD
  "A stage counts as full when as many bytes as one CTA loads have arrived"
  "kCtas * (kBytesA + kBytesHalfB));"
  "kBytesA + kBytesHalfB);")
shiftconv_mutant(pair_gemm both_ctas_multiply HAZARD
  "The odd CTA issues the multiplications, too"
  "if (ptx::clusterRank() == kLeader && ptx::electOne())"
  "if (ptx::electOne())")
shiftconv_mutant(pair_gemm odd_cta_leaves_early HAZARD
  "The odd CTA frees its columns and leaves while the even one may still multiply out of its shared memory"
  "ptx::clusterBarrierSync();  // the peer may still multiply out of this CTA's memory, or arrive here"
  "if (ptx::clusterRank() == kLeader) __syncthreads();")
shiftconv_mutant(pair_gemm one_cta_frees HAZARD
  "Only one CTA of the pair takes part in the deallocation"
  "if (warp == kMmaWarp) ptx::tensorMemoryFreeInPair(accumulators, kColumns);"
  "if (warp == kMmaWarp && ptx::clusterRank() == kLeader) ptx::tensorMemoryFreeInPair(accumulators, kColumns);")
shiftconv_mutant(pair_gemm peer_load_counts_in_the_own_cta HAZARD
  "Loads of the odd CTA count towards its own barrier, which nobody waits for"
  "const uint32_t full = ptx::mapToCta(at(shared.full[stage.index]), kLeader);"
  "const uint32_t full = ptx::mapToCta(at(shared.full[stage.index]), rank);")
shiftconv_mutant(pair_gemm odd_cta_refills_at_once HAZARD
  "The odd CTA refills a stage without waiting for the tensor core to release it"
  "ptx::mbarrierWaitInCluster(at(shared.empty[stage.index]), stage.parity ^ 1);
      if (rank == kLeader)"
  "if (rank == kLeader) ptx::mbarrierWaitInCluster(at(shared.empty[stage.index]), stage.parity ^ 1);
      if (rank == kLeader)")

# ---- shift_refill --------------------------------------------------------------------------------------------------------------
shiftconv_mutant(shift_refill missing_refill HAZARD
  "The last lane of a window keeps the stale row that the shift left"
  "ptx::tensorCopy4x256(columns + kLastLane, layout::advanceDescriptor(rows, offset));"
  "(void)rows, (void)kLastLane;")
shiftconv_mutant(shift_refill wrong_lane_refilled HAZARD
  "The refill goes to the last lane but one"
  "static_cast<uint32_t>(kWindowLanes - 1) << 16"
  "static_cast<uint32_t>(kWindowLanes - 2) << 16")
shiftconv_mutant(shift_refill refill_in_front_of_the_shift HAZARD
  "tcgen05.cp is not ordered behind the MMA, nor the shift behind tcgen05.cp"
  "        ptx::tensorShiftDown(columns);
        ptx::tensorCopy4x256(columns + kLastLane, layout::advanceDescriptor(rows, offset));"
  "        ptx::tensorCopy4x256(columns + kLastLane, layout::advanceDescriptor(rows, offset));
        ptx::tensorShiftDown(columns);")
shiftconv_mutant(shift_refill refill_without_shift HAZARD
  "tcgen05.cp.4x256b directly behind an MMA that reads the same rows is unordered"
  "        ptx::tensorShiftDown(columns);
"
  "")
shiftconv_mutant(shift_refill operand_copied_again_instead_of_shifted HAZARD
  "tcgen05.cp.128x256b behind an MMA that reads the same rows is unordered"
  "        ptx::tensorShiftDown(columns);
        ptx::tensorCopy4x256(columns + kLastLane, layout::advanceDescriptor(rows, offset));"
  "        ptx::tensorCopy128x256(columns, layout::advanceDescriptor(x, offset));
        (void)rows, (void)kLastLane;")
shiftconv_mutant(shift_refill operand_released_by_thread HAZARD
  "A thread releases A in Tensor Memory right after issuing the MMAs that read it"
  "ptx::tensorCommit(at(shared.operandFree));"
  "ptx::mbarrierArrive(at(shared.operandFree));")
shiftconv_mutant(shift_refill stage_released_behind_the_first_copies HAZARD
  "The stage is given back before the refills have read theirs"
  "    ptx::tensorCommit(at(shared.empty[stage.index]));
    ptx::tensorCommit(at(shared.operandFree));"
  "    ptx::tensorCommit(at(shared.operandFree));"
  "#pragma unroll 1
    for (int32_t s = 0; s < kTaps; ++s) {
      const uint64_t filter"
  "    ptx::tensorCommit(at(shared.empty[stage.index]));
#pragma unroll 1
    for (int32_t s = 0; s < kTaps; ++s) {
      const uint64_t filter")
shiftconv_mutant(shift_refill refills_share_a_slot HAZARD
  "Two loads go to the same shared memory at once"
  "ptx::loadTile3d(ptx::sharedAddress(shared.refill[stage.index][s])"
  "ptx::loadTile3d(ptx::sharedAddress(shared.refill[stage.index][0])")
shiftconv_mutant(shift_refill filter_bytes_of_two_taps HAZARD
  "The filter counts as loaded when one of its three taps is missing"
  "ptx::mbarrierArriveExpectBytes(at(shared.filterFull), kTaps * kFilterBytes);"
  "ptx::mbarrierArriveExpectBytes(at(shared.filterFull), (kTaps - 1) * kFilterBytes);")
shiftconv_mutant(shift_refill accumulators_overlap HAZARD
  "The second accumulator starts in the middle of the first"
  "const uint32_t target = tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN);"
  "const uint32_t target = tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN / 2);")
shiftconv_mutant(shift_refill window_of_another_warp HAZARD
  "Warps read the Tensor Memory lanes of other warps"
  "((window * kWindowLanes) << 16);"
  "(((window ^ 1) * kWindowLanes) << 16);")
shiftconv_mutant(shift_refill refill_of_the_first_tap_twice VALUE
  "The refilled row is defined and ordered, but the one of the tap before"
  "ptx::sharedAddress(shared.refill[stage.index][s]));
        ptx::tensorShiftDown"
  "ptx::sharedAddress(shared.refill[stage.index][0]));
        ptx::tensorShiftDown")

# ---- scalar_exchange -----------------------------------------------------------------------------------------------------------
shiftconv_mutant(scalar_exchange flag_without_release HAZARD
  "The flag that publishes a total is stored without release"
  "ptx::storeRelease(published + blockIdx.x, 1);"
  "*const_cast<volatile uint32_t*>(published + blockIdx.x) = 1;")
shiftconv_mutant(scalar_exchange flag_without_acquire HAZARD
  "The flag that publishes a total is polled without acquire"
  "while (ptx::loadAcquire(published + blockIdx.x - 1) == 0) {"
  "while (*const_cast<const volatile uint32_t*>(published + blockIdx.x - 1) == 0) {")
shiftconv_mutant(scalar_exchange total_stored_behind_its_flag HAZARD
  "The total is stored after the flag that publishes it"
  "    totals[blockIdx.x] = total;
    ptx::storeRelease(published + blockIdx.x, 1);"
  "    ptx::storeRelease(published + blockIdx.x, 1);
    totals[blockIdx.x] = total;")
shiftconv_mutant(scalar_exchange flag_of_another_warp HAZARD
  "A warp publishes the total that a thread of another warp stores"
  "    ptx::storeRelease(published + blockIdx.x, 1);
  }"
  "  }
  if (threadIdx.x == kLoaders + 32) ptx::storeRelease(published + blockIdx.x, 1);")
shiftconv_mutant(scalar_exchange flag_not_awaited HAZARD
  "A CTA reads the total of the CTA in front of it without looking at the flag"
  "    while (ptx::loadAcquire(published + blockIdx.x - 1) == 0) {
    }
"
  "")
shiftconv_mutant(scalar_exchange one_copy_may_be_pending HAZARD
  "The buffer is handed over while its cp.async may be under way"
  "ptx::copyAsyncWaitGroup<0>();"
  "ptx::copyAsyncWaitGroup<1>();")
shiftconv_mutant(scalar_exchange one_thread_waits_for_all_copies HAZARD
  "cp.async.wait_group of one thread says nothing about the copies of the others"
  "ptx::copyAsyncWaitGroup<0>();"
  "if (threadIdx.x % 32 == 0) ptx::copyAsyncWaitGroup<0>();
    __syncwarp();")
shiftconv_mutant(scalar_exchange barrier_of_one_warp HAZARD
  "A named barrier expects fewer threads than use it"
  "ptx::namedBarrierSync(kTotals, kScanners);"
  "ptx::namedBarrierSync(kTotals, kScanners / 2);")
shiftconv_mutant(scalar_exchange totals_in_one_slot CORRECT
  "The barrier of the next full buffer keeps a total from being overwritten before the other warp has read it"
  "shared.warpTotal[chunk % 2][warp] = scanned;"
  "shared.warpTotal[0][warp] = scanned;"
  "shared.warpTotal[chunk % 2][0], secondTotal = shared.warpTotal[chunk % 2][1];"
  "shared.warpTotal[0][0], secondTotal = shared.warpTotal[0][1];")
shiftconv_mutant(scalar_exchange buffer_released_before_it_is_read HAZARD
  "A buffer is given back to the loaders before its chunk is read"
  "    uint4 v = shared.chunk[buffer][thread];
    if (chunk + kBuffers < chunks) ptx::namedBarrierArrive(kEmpty + buffer, kThreads);"
  "    if (chunk + kBuffers < chunks) ptx::namedBarrierArrive(kEmpty + buffer, kThreads);
    uint4 v = shared.chunk[buffer][thread];")
shiftconv_mutant(scalar_exchange lanes_exchange_without_barrier HAZARD
  "Lanes read what other lanes of the warp store, without __syncwarp"
  "    const uint32_t below = __shfl_up_sync(0xffffffffu, value, distance);"
  "    __shared__ uint32_t values[kThreads];
    values[threadIdx.x] = value;
    const uint32_t below = values[lane >= distance ? threadIdx.x - distance : threadIdx.x];")
shiftconv_mutant(scalar_exchange flag_between_fences CORRECT
  "Relaxed accesses to the flag between fences order as release and acquire do"
  "ptx::storeRelease(published + blockIdx.x, 1);"
  "__threadfence();
    *const_cast<volatile uint32_t*>(published + blockIdx.x) = 1;"
  "while (ptx::loadAcquire(published + blockIdx.x - 1) == 0) {
    }"
  "while (*const_cast<const volatile uint32_t*>(published + blockIdx.x - 1) == 0) {
    }
    __threadfence();")

# ---- last_block_sum ------------------------------------------------------------------------------------------------------------
shiftconv_mutant(last_block_sum fence_of_the_cta_only HAZARD
  "The fence between partial sum and counter has the scope of the CTA"
  "    __threadfence();
    isLast"
  "    __threadfence_block();
    isLast")
shiftconv_mutant(last_block_sum counted_before_the_partial_sum HAZARD
  "A CTA counts itself as finished before it stores its partial sum"
  "    partials[blockIdx.x] = partial;
    __threadfence();
"
  "    __threadfence();
"
  "    __threadfence();
  }"
  "    partials[blockIdx.x] = partial;
    __threadfence();
  }")
shiftconv_mutant(last_block_sum counter_not_atomic HAZARD
  "CTAs count themselves with a load and a store"
  "isLast = atomicAdd(finished, 1) == gridDim.x - 1;"
  "const uint32_t before = *finished;
    *finished = before + 1;
    isLast = before == gridDim.x - 1;")
shiftconv_mutant(last_block_sum everybody_adds_up HAZARD
  "Every CTA adds up the partial sums, whether the others have stored theirs or not"
  "if (!isLast) return;"
  "if (!isLast && count == 0) return;")
shiftconv_mutant(last_block_sum sums_in_one_slot CORRECT
  "The barriers between the two uses of the warp sums order them"
  "sumOfCta(others, warpSums[1])"
  "sumOfCta(others, warpSums[0])")
# ---- tensormap_edit ------------------------------------------------------------------------------------------------------------
shiftconv_mutant(tensormap_edit map_shared_by_ctas HAZARD
  "All CTAs edit one tensor map"
  "CUtensorMap* const edited = workspace + blockIdx.x;"
  "CUtensorMap* const edited = workspace;")
shiftconv_mutant(tensormap_edit other_map_acquired HAZARD
  "The acquire fence names another tensor map than the copy uses"
  "ptx::acquireTensorMap(edited);"
  "ptx::acquireTensorMap(workspace + (blockIdx.x ^ 1));")
shiftconv_mutant(tensormap_edit map_acquired_once HAZARD
  "The map changes every round, but is acquired in the first only"
  "ptx::acquireTensorMap(edited);"
  "if (i == blockIdx.x) ptx::acquireTensorMap(edited);")
shiftconv_mutant(tensormap_edit map_acquired_by_another_thread HAZARD
  "The thread that acquires the map is not the one that uses it, and nothing orders the two"
  "      if (threadIdx.x == 0) {
        ptx::acquireTensorMap(edited);"
  "      if (threadIdx.x == 1) ptx::acquireTensorMap(edited);
      if (threadIdx.x == 0) {")
shiftconv_mutant(tensormap_edit map_acquired_by_every_lane CORRECT
  "All lanes acquire the map before one of them uses it"
  "      if (threadIdx.x == 0) {
        ptx::acquireTensorMap(edited);"
  "      ptx::acquireTensorMap(edited);
      if (threadIdx.x == 0) {")
shiftconv_mutant(tensormap_edit map_stored_by_threads HAZARD
  "The map is published with ordinary stores instead of tensormap.cp_fenceproxy"
  "ptx::publishTensorMap(edited, ptx::sharedAddress(shared.map));"
  "reinterpret_cast<uint32_t*>(edited)[threadIdx.x] = shared.map[threadIdx.x];
      __syncwarp();")
shiftconv_mutant(tensormap_edit matrix_overwritten_while_it_is_read HAZARD
  "The next matrix is loaded while other warps still read the last one"
  "    __syncthreads();  // everybody has read the matrix
"
  "")
# ---- epilogue_tile -------------------------------------------------------------------------------------------------------------
shiftconv_mutant(epilogue_tile proxy_fence_behind_the_barrier CORRECT
  "The storing thread executes the proxy fence behind the barrier: it lies on the path of causality (PTX ISA, causality order)"
  "    ptx::fenceProxyAsyncShared();
    __syncthreads();  // everybody has written the tile"
  "    __syncthreads();  // everybody has written the tile
    if (threadIdx.x == 0) ptx::fenceProxyAsyncShared();")
shiftconv_mutant(epilogue_tile one_tile_for_all_turns HAZARD
  "The next segments are staged in the tile that the last store still reads"
  "shared.tile[turn]"
  "shared.tile[0]")
shiftconv_mutant(epilogue_tile waits_for_the_wrong_number_of_stores HAZARD
  "The wait lets both stores go on that may still read"
  "bulkWaitGroupRead<kTiles - 1>"
  "bulkWaitGroupRead<kTiles>")
shiftconv_mutant(epilogue_tile leaves_while_a_store_reads HAZARD
  "The CTA is gone, and its shared memory with it, while the last store still reads"
  "if (threadIdx.x == 0) ptx::bulkWaitGroup<0>();"
  "")
shiftconv_mutant(epilogue_tile waits_until_sources_are_read CORRECT
  "The kernel's end completes the stores; the CTA only has to wait until they have read"
  "ptx::bulkWaitGroup<0>();"
  "ptx::bulkWaitGroupRead<0>();")
shiftconv_mutant(epilogue_tile largest_without_an_atomic HAZARD
  "Warps merge their maxima with a load and a store"
  "gemm::mergeLargest(p, largestBits);"
  "if (threadIdx.x % 32 == 0 && *p.largest < __uint_as_float(largestBits)) *p.largest = __uint_as_float(largestBits);")
