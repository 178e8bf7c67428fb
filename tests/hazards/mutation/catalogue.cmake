# Variants of kernels' sources: mistakes that people make, on top of the mechanical mutants. They are compiled for the nightly tests.
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
  "Group::kCtaGroup * kOperandStageBytes);"
  "Group::kCtaGroup * kOperandStageBytes - kWindowBytes);")
shiftconv_mutant(shift_window accumulator_offered_before_it_is_drained HAZARD
  "The epilogue zeroes and releases the accumulator, then reads it"
  "offerEmptyAccumulator(accumulator, window);
      accumulator.advance(kAccumulators);"
  "accumulator.advance(kAccumulators);"
  "const int32_t anchor = firstAnchor(tile, Group::rank()) + static_cast<int32_t>(window) * anchorsPerWindow_ + lane;"
  "const int32_t anchor = firstAnchor(tile, Group::rank()) + static_cast<int32_t>(window) * anchorsPerWindow_ + lane;
      offerEmptyAccumulator(accumulator, window);")
shiftconv_mutant(shift_window stale_lanes_enabled HAZARD
  "The mask lets through the lanes whose rows a shift left stale"
  "const bool hasAnchor = lane < anchorsPerWindow_ && anchor < p_.anchors;
        const PixelPosition"
  "const bool hasAnchor = anchor < p_.anchors;
        const PixelPosition")
shiftconv_mutant(shift_window masks_released_before_they_are_read HAZARD
  "The mask stage is given back at the start of the tile"
  "ptx::mbarrierArrive(control_->masksOfTiles.empty(maskStage));
      filterLoaded"
  "filterLoaded"
  "tap.accumulator = accumulatorAddress(accumulator.index);"
  "tap.accumulator = accumulatorAddress(accumulator.index);
      ptx::mbarrierArrive(control_->masksOfTiles.empty(maskStage));")
shiftconv_mutant(shift_window columns_freed_before_the_barrier HAZARD
  "Tensor Memory is freed while other warps still use it"
  "gemm::sm100::leave<Group>(accumulators_, allocatedColumns(), warp == kMaskWarp);"
  "if (warp == kMaskWarp) ptx::tensorMemoryFree(accumulators_, allocatedColumns());
    Group::synchronise();")
shiftconv_mutant(shift_window too_few_columns_allocated HAZARD
  "The allocation forgets the operand slots"
  "return needed <= 256 ? 256 : 512;"
  "return needed <= 512 ? 64 : 512;")

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
