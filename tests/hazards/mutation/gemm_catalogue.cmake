# Hand-made mutants of the GEMM kernels; see catalogue.cmake.

# ---- Stages --------------------------------------------------------------------------------------------------------------------
shiftconv_mutant(gemm_sm100_single parity_never_changes HAZARD
  "The multiplying thread goes around the ring without changing the parity that it waits for"
  "Group::commitRelease(control_->operands.empty(stage));
        stage.advance(p_.stages);"
  "Group::commitRelease(control_->operands.empty(stage));
        stage.index = (stage.index + 1) % p_.stages;")
shiftconv_mutant(gemm_sm100_single stage_released_before_multiply HAZARD
  "A thread releases the stage right after issuing the MMAs that read it"
  "Group::commitRelease(control_->operands.empty(stage));"
  "ptx::mbarrierArrive(control_->operands.empty(stage));")
shiftconv_mutant(gemm_sm100_single resident_weights_of_the_first_chunk HAZARD
  "The barrier of resident weights counts the bytes of one chunk"
  "ptx::mbarrierArriveExpectBytes(control_->weights.full(once), p_.residentBytes);"
  "ptx::mbarrierArriveExpectBytes(control_->weights.full(once), p_.residentBytes / static_cast<uint32_t>(p_.chunks));")
shiftconv_mutant(gemm_sm100_single one_warp_of_builders_counts HAZARD
  "A stage counts as full when one of four warps has built its scale factors"
  "const uint32_t building = p_.buildScales ? kScaleWarpCount : 0;"
  "const uint32_t building = p_.buildScales ? kScaleWarpCount / 4 : 0;"
  "if (thread % 32 == 0) Group::arriveAtLeader(control_->operands.full(stage));"
  "if (thread == 0) Group::arriveAtLeader(control_->operands.full(stage));")
shiftconv_mutant(gemm_sm100_pair bytes_of_one_cta HAZARD
  "The barrier of the leading CTA counts the bytes that one of the two loads"
  "ptx::mbarrierArriveExpectBytes(control_->operands.full(stage), p_.loadedBytes);"
  "ptx::mbarrierArriveExpectBytes(control_->operands.full(stage), p_.loadedBytes / 2);")
shiftconv_mutant(gemm_sm100_pair stage_released_in_the_leader_only HAZARD
  "The commit of a stage does not reach the other CTA of the pair"
  "Group::commitRelease(control_->operands.empty(stage));"
  "ptx::tensorCommit<2>(control_->operands.empty(stage));")
shiftconv_mutant(gemm_sm100_sharing stage_released_by_one_of_two HAZARD
  "A stage whose B comes from the other CTA counts as empty when one of the two has multiplied"
  "control_->operands.initialise(p_.stages, 1 + Group::kCtaGroup * building, Group::kCtas / Group::kCtaGroup);"
  "control_->operands.initialise(p_.stages, 1 + Group::kCtaGroup * building, 1);")

# ---- Accumulators --------------------------------------------------------------------------------------------------------------
shiftconv_mutant(gemm_sm100_single accumulator_released_before_it_is_read HAZARD
  "The accumulator is given back to the multiplying thread before tcgen05.ld"
  "      if (p_.splits == 1) release(accumulator);
"
  ""
  "      bool finishes = true;
"
  "      bool finishes = true;
      if (p_.splits == 1) release(accumulator);
")
shiftconv_mutant(gemm_sm100_single no_fences_around_the_release HAZARD
  "Neither side of the release of an accumulator has its tcgen05.fence"
  "    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();"
  "    __syncwarp();"
  "        ptx::tensorFenceAfterThreadSync();  // behind the accumulator's readers, and the MMAs that read this stage's columns
"
  "")
shiftconv_mutant(gemm_sm100_single first_chunk_accumulates HAZARD
  "The first chunk of a tile is added to what the accumulator happens to hold"
  "chunk.accumulates = number != work.firstChunk;"
  "chunk.accumulates = true;")
shiftconv_mutant(gemm_sm100_pair accumulator_released_by_one_cta HAZARD
  "The accumulator of a pair counts as empty when one CTA has read its part"
  "constexpr uint32_t kDraining = Group::kCtaGroup * kEpilogueWarpCount;"
  "constexpr uint32_t kDraining = kEpilogueWarpCount;")
shiftconv_mutant(gemm_sm100_single columns_freed_before_the_barrier HAZARD
  "Tensor Memory is freed while the epilogue still reads it"
  "leave<Group>(tensorMemory_, p_.allocatedColumns, warp == kMmaWarp);"
  "if (warp == kMmaWarp) ptx::tensorMemoryFree<Group::kCtaGroup>(tensorMemory_, p_.allocatedColumns);
    Group::synchronise();")

# ---- Tiles ---------------------------------------------------------------------------------------------------------------------
shiftconv_mutant(gemm_sm100_single answer_overwritten HAZARD
  "The next answer of cluster launch control is asked for when one role has read the present one"
  "const uint32_t queueReaders = Group::kCtas * (1 + kEpilogueWarpCount + building) + Group::kCtas / Group::kCtaGroup;"
  "const uint32_t queueReaders = 1;")
shiftconv_mutant(gemm_sm100_single part_counted_before_it_is_there HAZARD
  "A part of a split reduction is counted before its sums are stored"
  "        leavePart(work, window, source);
        release(accumulator);  // with a barrier of the warp, behind which one lane counts for all
        finishes = isLastPart(work, index);"
  "        finishes = isLastPart(work, index);
        leavePart(work, window, source);
        release(accumulator);")
shiftconv_mutant(gemm_sm100_single one_counter_for_four_warps HAZARD
  "The warps of the epilogue count the parts of their windows in one counter"
  "p_.counters + place * kEpilogueWarpCount + window;"
  "p_.counters + place * kEpilogueWarpCount;")

# ---- Outputs -------------------------------------------------------------------------------------------------------------------
shiftconv_mutant(gemm_sm100_single staging_tile_overwritten HAZARD
  "A staging tile is filled again while a TMA store still reads it"
  "ptx::bulkWaitGroupRead<kStagingTiles - 1>();"
  "ptx::bulkWaitGroupRead<kStagingTiles>();")
shiftconv_mutant(gemm_sm100_single outputs_stored_before_the_warp_is_there HAZARD
  "One lane stores the staging tile without waiting for the others"
  "      ptx::fenceProxyAsyncShared();
      __syncwarp();
      if (lane == 0) {
        if (p_.groupTiles"
  "      ptx::fenceProxyAsyncShared();
      if (lane == 0) {
        if (p_.groupTiles")
