# Hand-made mutants of the test kernels that multiply matrices; see catalogue.cmake.

# ---- pipelined_gemm ------------------------------------------------------------------------------------------------------------
shiftconv_mutant(pipelined_gemm output_stored_after_one_warp HAZARD
  "The TMA store waits for one warp's rows of the tile instead of four warps'"
  "ptx::namedBarrierSync(kEpilogueBarrier, kEpilogueThreads);  // the output tile is complete"
  "ptx::namedBarrierSync(kEpilogueBarrier + 1 + window, 32);")
shiftconv_mutant(pipelined_gemm accumulator_released_before_it_is_read HAZARD
  "The accumulator is given back to the MMA thread before tcgen05.ld"
  "    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive(shared.accumulators.empty(accumulator));
"
  ""
  "if (isStorer) ptx::bulkWaitGroupRead<0>();"
  "if (lane == 0) ptx::mbarrierArrive(shared.accumulators.empty(accumulator));
    if (isStorer) ptx::bulkWaitGroupRead<0>();")
shiftconv_mutant(pipelined_gemm one_warp_releases_the_accumulator HAZARD
  "The mbarrier of an empty accumulator expects one warp instead of four"
  "shared.accumulators.initialise(kAccumulators, 1, kEpilogueThreads / 32);"
  "shared.accumulators.initialise(kAccumulators, 1, 1);")
shiftconv_mutant(pipelined_gemm commit_on_the_full_barrier HAZARD
  "The commit of a stage arrives on its full barrier"
  "ptx::tensorCommit(shared.operands.empty(stage));"
  "ptx::tensorCommit(shared.operands.full(stage));")
shiftconv_mutant(pipelined_gemm commit_in_front_of_the_multiplication HAZARD
  "The commit of the accumulator comes before the MMAs of the last chunk"
  "    ptx::tensorCommit(shared.accumulators.full(accumulator));
    accumulator.advance(kAccumulators);"
  "    accumulator.advance(kAccumulators);"
  "const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));"
  "if (chunk + 1 == problem.chunks) ptx::tensorCommit(shared.accumulators.full(accumulator));
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));")
shiftconv_mutant(pipelined_gemm stage_released_before_multiply HAZARD
  "A thread releases the stage right after issuing the MMAs that read it"
  "ptx::tensorCommit(shared.operands.empty(stage));"
  "ptx::mbarrierArrive(shared.operands.empty(stage));")
shiftconv_mutant(pipelined_gemm barriers_initialised_twice HAZARD
  "Two threads initialise the barriers"
  "if (threadIdx.x == 0) {"
  "if (threadIdx.x == 0 || threadIdx.x == 64) {")
shiftconv_mutant(pipelined_gemm barrier_initialised_in_use HAZARD
  "A barrier is initialised again when its users are running"
  "  gemm::RingPosition stage;
"
  "  gemm::RingPosition stage;
  ptx::mbarrierInit(shared.operands.full({1, 0}), 1);
")
shiftconv_mutant(pipelined_gemm barriers_used_before_the_barrier HAZARD
  "The load thread starts before the initialisation is known to be done"
  "  const uint32_t tensorMemory = gemm::sm100::enter<Group>(shared.tensorMemory, kColumns, warp == kMmaWarp);
"
  "  if (warp == kMmaWarp) {
    ptx::tensorMemoryAllocate(ptx::sharedAddress(&shared.tensorMemory), kColumns);
    ptx::tensorMemoryRelinquish();
  }
  if (warp != kLoadWarp) ptx::namedBarrierSync(2, 160);
  const uint32_t tensorMemory = warp == kLoadWarp ? 0 : shared.tensorMemory;
"
  "if (threadIdx.x == 0) {"
  "if (threadIdx.x == 160) {")
shiftconv_mutant(pipelined_gemm half_of_the_columns_allocated HAZARD
  "The second accumulator lies behind the allocated columns"
  "constexpr uint32_t kColumns = kAccumulators * kTileN;"
  "constexpr uint32_t kColumns = kAccumulators * kTileN / 2;")
shiftconv_mutant(pipelined_gemm columns_freed_by_the_mma_warp HAZARD
  "The MMA warp frees Tensor Memory when it is done, while the epilogue still reads it"
  "  gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);"
  "  Group::synchronise();"
  "    if (ptx::electOne()) multiply(shared, problem, tensorMemory);"
  "    if (ptx::electOne()) multiply(shared, problem, tensorMemory);
    __syncwarp();
    ptx::tensorMemoryFree(tensorMemory, kColumns);")
shiftconv_mutant(pipelined_gemm columns_never_freed HAZARD
  "Tensor Memory is not freed"
  "  gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);"
  "  Group::synchronise();")
shiftconv_mutant(pipelined_gemm columns_freed_twice HAZARD
  "Two warps free the same columns"
  "  gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);"
  "  gemm::sm100::leave<Group>(tensorMemory, kColumns, warp <= kMmaWarp);")
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
  "stageRow(shared, tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN)"
  "stageRow(shared, tensorMemory + static_cast<uint32_t>((accumulator.index ^ 1) * kTileN)")
shiftconv_mutant(pipelined_gemm accumulator_not_overwritten HAZARD
  "The first MMA of a tile adds to what the accumulator holds"
  "chunk != 0 || slice != 0);"
  "true);")
shiftconv_mutant(pipelined_gemm proxy_fence_behind_the_barrier CORRECT
  "The storing thread executes the proxy fence behind the barrier: it lies on the path of causality (PTX ISA, causality order)"
  "ptx::fenceProxyAsyncShared();"
  ""
  "ptx::storeTile2d(&mapC,"
  "ptx::fenceProxyAsyncShared();
      ptx::storeTile2d(&mapC,")
shiftconv_mutant(pipelined_gemm every_lane_releases_the_accumulator CORRECT
  "All lanes arrive instead of one lane behind __syncwarp"
  "    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive"
  "    ptx::mbarrierArrive"
  "shared.accumulators.initialise(kAccumulators, 1, kEpilogueThreads / 32);"
  "shared.accumulators.initialise(kAccumulators, 1, kEpilogueThreads);")
shiftconv_mutant(pipelined_gemm bytes_expected_behind_the_loads CORRECT
  "The phase cannot end before the arrival, so the bytes may be expected after the loads were issued"
  "      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);
"
  ""
  "&mapB, chunk * kTileK, problem.columnOf(tile), full);"
  "&mapB, chunk * kTileK, problem.columnOf(tile), full);
      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);")

# ---- scaled_gemm ---------------------------------------------------------------------------------------------------------------
shiftconv_mutant(scaled_gemm scale_columns_shared_by_stages HAZARD
  "tcgen05.cp overwrites scale factors that MMAs in flight still read"
  "const uint32_t scaleA = tensorMemory + kTileN + static_cast<uint32_t>(stage.index) * 2 * kScaleColumns;"
  "const uint32_t scaleA = tensorMemory + kTileN;")
shiftconv_mutant(scaled_gemm stage_released_after_the_copies HAZARD
  "The commit of a stage comes before the MMAs that read A and B from it"
  "      ptx::tensorCommit(shared.operands.empty(stage));
      stage.advance(kStages);"
  "      stage.advance(kStages);"
  "const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));"
  "ptx::tensorCommit(shared.operands.empty(stage));
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));")
shiftconv_mutant(scaled_gemm scale_bytes_not_expected HAZARD
  "A stage counts as full when the scale factors of one operand are missing"
  "ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB + 2 * kScaleBytes);"
  "ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB + kScaleBytes);")
shiftconv_mutant(scaled_gemm scales_signal_the_first_stage HAZARD
  "The scale factors count towards the barrier of another stage"
  "scaleB + chunk * kScaleBytes, kScaleBytes, full);"
  "scaleB + chunk * kScaleBytes, kScaleBytes, shared.operands.full({}));")
shiftconv_mutant(scaled_gemm scales_into_the_first_stage HAZARD
  "Scale factors are loaded into a stage that may be in use"
  "ptx::loadBytes(ptx::sharedAddress(shared.scaleA[stage.index])"
  "ptx::loadBytes(ptx::sharedAddress(shared.scaleA[0])")
shiftconv_mutant(scaled_gemm accumulator_not_initialised HAZARD
  "The first MMA adds to columns that nothing has written"
  "chunk != 0 || slice != 0);"
  "true);")
shiftconv_mutant(scaled_gemm scales_overlap_the_accumulator HAZARD
  "Scale factors are copied into columns of the accumulator"
  "const uint32_t scaleA = tensorMemory + kTileN + static_cast<uint32_t>(stage.index) * 2 * kScaleColumns;"
  "const uint32_t scaleA = tensorMemory + kTileN - 8 + static_cast<uint32_t>(stage.index) * 2 * kScaleColumns;")
shiftconv_mutant(scaled_gemm one_warp_waits_for_the_accumulator HAZARD
  "Three of the four epilogue warps read the accumulator without waiting for it"
  "shared.accumulator.awaitFull(accumulator);"
  "if (window == 0) shared.accumulator.awaitFull(accumulator);")
shiftconv_mutant(scaled_gemm accumulator_released_after_the_first_columns HAZARD
  "The accumulator is given back after the first of four loads"
  "    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive(shared.accumulator.empty(accumulator));
"
  ""
  "      ptx::tensorLoadWait(bits);
"
  "      ptx::tensorLoadWait(bits);
      if (column == 0) {
        ptx::tensorFenceBeforeThreadSync();
        __syncwarp();
        if (lane == 0) ptx::mbarrierArrive(shared.accumulator.empty(accumulator));
      }
")
shiftconv_mutant(scaled_gemm first_scales_of_b_kept VALUE
  "The scale factors that MMAs read are defined and ordered, but those of another chunk"
  "scaleB + chunk * kScaleBytes, kScaleBytes, full);"
  "scaleB, kScaleBytes, full);")
shiftconv_mutant(scaled_gemm wrong_scale_byte VALUE
  "The instruction descriptor selects another written byte of the scale factors"
  "layout::selectScaleByte(kInstruction, slice)"
  "layout::selectScaleByte(kInstruction, slice ^ 1)")

# ---- cluster_pair --------------------------------------------------------------------------------------------------------------
shiftconv_mutant(cluster_pair halves_to_the_first_cta_only HAZARD
  "The multicast mask names one CTA"
  "static_cast<int32_t>(rank * kHalfRows), full, kBothCtas);"
  "static_cast<int32_t>(rank * kHalfRows), full, 0b01);")
shiftconv_mutant(cluster_pair release_to_the_first_cta_only HAZARD
  "The mask of the multicast commit names one CTA"
  "ptx::tensorCommitMulticast(shared.operands.empty(stage), kBothCtas);"
  "ptx::tensorCommitMulticast(shared.operands.empty(stage), 0b01);")
shiftconv_mutant(cluster_pair one_cta_releases_the_stage HAZARD
  "A stage is refilled in both CTAs when the tensor core of one has released it"
  "shared.operands.initialise(kStages, 1, kCtas);"
  "shared.operands.initialise(kStages, 1, 1);")
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
  "shared.accumulators.initialise(kAccumulators, 1, kCtas * kEpilogueWarpCount);"
  "shared.accumulators.initialise(kAccumulators, 1, kEpilogueWarpCount);")
shiftconv_mutant(pair_gemm peer_not_told_of_the_accumulator HAZARD
  "The commit of an accumulator arrives in the even CTA only"
  "Group::commitResult(shared.accumulators.full(accumulator));"
  "ptx::tensorCommitMulticast<2>(shared.accumulators.full(accumulator), 0b01);")
shiftconv_mutant(pair_gemm release_in_the_own_cta HAZARD
  "Warps of the odd CTA release the accumulator on a barrier that nobody waits for"
  "Group::arriveAtLeader(shared.accumulators.empty(accumulator));"
  "ptx::mbarrierArriveInCluster(ptx::mapToCta(shared.accumulators.empty(accumulator), Group::rank()));")
shiftconv_mutant(pair_gemm bytes_of_one_cta HAZARD
  "A stage counts as full when as many bytes as one CTA loads have arrived"
  "kCtas * (kBytesA + kBytesHalfB));"
  "kBytesA + kBytesHalfB);")
shiftconv_mutant(pair_gemm both_ctas_multiply HAZARD
  "The odd CTA issues the multiplications, too"
  "if (Group::isLeader() && ptx::electOne())"
  "if (ptx::electOne())")
shiftconv_mutant(pair_gemm odd_cta_leaves_early HAZARD
  "The odd CTA frees its columns and leaves while the even one may still multiply out of its shared memory"
  "gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);"
  "if (Group::isLeader()) __syncthreads();
  if (warp == kMmaWarp) ptx::tensorMemoryFree<2>(tensorMemory, kColumns);")
shiftconv_mutant(pair_gemm one_cta_frees HAZARD
  "Only one CTA of the pair takes part in the deallocation"
  "gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);"
  "gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp && Group::isLeader());")
shiftconv_mutant(pair_gemm peer_load_counts_in_the_own_cta HAZARD
  "Loads of the odd CTA count towards its own barrier, which nobody waits for"
  "const uint32_t full = Group::atLeader(shared.operands.full(stage));"
  "const uint32_t full = ptx::mapToCta(shared.operands.full(stage), rank);")
shiftconv_mutant(pair_gemm odd_cta_refills_at_once HAZARD
  "The odd CTA refills a stage without waiting for the tensor core to release it"
  "shared.operands.awaitEmpty(stage);"
  "if (Group::isLeader()) shared.operands.awaitEmpty(stage);")

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
  "ptx::tensorCommit(shared.operand.empty(operandUse));"
  "ptx::mbarrierArrive(shared.operand.empty(operandUse));")
shiftconv_mutant(shift_refill stage_released_behind_the_first_copies HAZARD
  "The stage is given back before the refills have read theirs"
  "    ptx::tensorCommit(shared.stages.empty(stage));
    ptx::tensorCommit(shared.operand.empty(operandUse));"
  "    ptx::tensorCommit(shared.operand.empty(operandUse));"
  "#pragma unroll 1
    for (int32_t s = 0; s < kTaps; ++s) {
      const uint64_t filter"
  "    ptx::tensorCommit(shared.stages.empty(stage));
#pragma unroll 1
    for (int32_t s = 0; s < kTaps; ++s) {
      const uint64_t filter")
shiftconv_mutant(shift_refill refills_share_a_slot HAZARD
  "Two loads go to the same shared memory at once"
  "ptx::loadTile3d(ptx::sharedAddress(shared.refill[stage.index][s])"
  "ptx::loadTile3d(ptx::sharedAddress(shared.refill[stage.index][0])")
shiftconv_mutant(shift_refill filter_bytes_of_two_taps HAZARD
  "The filter counts as loaded when one of its three taps is missing"
  "ptx::mbarrierArriveExpectBytes(filterFull, kTaps * kFilterBytes);"
  "ptx::mbarrierArriveExpectBytes(filterFull, (kTaps - 1) * kFilterBytes);")
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
