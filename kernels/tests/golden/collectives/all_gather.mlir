module {
  func.func @all_gather(%arg0: i32, %arg1: memref<64x128xf32, #tpu.memory_space<hbm>>, %arg2: memref<4x64x128xf32, #tpu.memory_space<hbm>>, %arg3: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg4: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg5: memref<2x4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 3 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{}, {}]} {
    %c3_i32 = arith.constant 3 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %c32_i32 = arith.constant 32 : i32
    %0 = "tpu.sem_barrier"() : () -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %1 = "tpu.device_id"() : () -> i32
    %2 = arith.addi %1, %c3_i32 : i32
    %3 = arith.remsi %2, %c4_i32 : i32
    %4 = "tpu.device_id"() : () -> i32
    %5 = arith.addi %4, %c1_i32 : i32
    %6 = arith.remsi %5, %c4_i32 : i32
    "tpu.sem_signal"(%0, %c1_i32, %3) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    "tpu.sem_signal"(%0, %c1_i32, %6) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    "tpu.sem_wait"(%0, %c2_i32) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
    %7 = "tpu.device_id"() : () -> i32
    %8 = "tpu.memref_slice"(%arg2, %7, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %9 = "tpu.memref_squeeze"(%8) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    "tpu.enqueue_dma"(%arg1, %9, %arg3) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
    scf.for %arg6 = %c0_i32 to %c3_i32 step %c1_i32  : i32 {
      %12 = "tpu.device_id"() : () -> i32
      %13 = arith.addi %12, %c1_i32 : i32
      %14 = arith.remsi %13, %c4_i32 : i32
      %15 = arith.muli %arg6, %c3_i32 : i32
      %16 = arith.addi %7, %15 : i32
      %17 = arith.remsi %16, %c4_i32 : i32
      %18 = arith.cmpi eq, %arg6, %c0_i32 : i32
      scf.if %18 {
        %56 = "tpu.memref_slice"(%arg1, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x128xf32, #tpu.memory_space<hbm>>, i32, i32) -> memref<32x128xf32, #tpu.memory_space<hbm>>
        %57 = "tpu.memref_slice"(%arg2, %17, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
        %58 = "tpu.memref_squeeze"(%57) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
        %59 = "tpu.memref_slice"(%arg5, %c0_i32, %arg6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %60 = "tpu.memref_squeeze"(%59) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %61 = "tpu.memref_slice"(%arg4, %c0_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %62 = "tpu.memref_squeeze"(%61) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "tpu.enqueue_dma"(%56, %62, %58, %60, %14) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      } else {
        %56 = "tpu.memref_slice"(%arg2, %17, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
        %57 = "tpu.memref_squeeze"(%56) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
        %58 = "tpu.memref_slice"(%arg2, %17, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
        %59 = "tpu.memref_squeeze"(%58) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
        %60 = "tpu.memref_slice"(%arg5, %c0_i32, %arg6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %61 = "tpu.memref_squeeze"(%60) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %62 = "tpu.memref_slice"(%arg4, %c0_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %63 = "tpu.memref_squeeze"(%62) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "tpu.enqueue_dma"(%57, %63, %59, %61, %14) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      }
      %19 = "tpu.device_id"() : () -> i32
      %20 = arith.addi %19, %c3_i32 : i32
      %21 = arith.remsi %20, %c4_i32 : i32
      %22 = arith.addi %7, %arg6 : i32
      %23 = arith.remsi %22, %c4_i32 : i32
      %24 = arith.cmpi eq, %arg6, %c0_i32 : i32
      scf.if %24 {
        %56 = "tpu.memref_slice"(%arg1, %c32_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<64x128xf32, #tpu.memory_space<hbm>>, i32, i32) -> memref<32x128xf32, #tpu.memory_space<hbm>>
        %57 = "tpu.memref_slice"(%arg2, %23, %c32_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
        %58 = "tpu.memref_squeeze"(%57) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
        %59 = "tpu.memref_slice"(%arg5, %c1_i32, %arg6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %60 = "tpu.memref_squeeze"(%59) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %61 = "tpu.memref_slice"(%arg4, %c1_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %62 = "tpu.memref_squeeze"(%61) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "tpu.enqueue_dma"(%56, %62, %58, %60, %21) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      } else {
        %56 = "tpu.memref_slice"(%arg2, %23, %c32_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
        %57 = "tpu.memref_squeeze"(%56) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
        %58 = "tpu.memref_slice"(%arg2, %23, %c32_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
        %59 = "tpu.memref_squeeze"(%58) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
        %60 = "tpu.memref_slice"(%arg5, %c1_i32, %arg6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %61 = "tpu.memref_squeeze"(%60) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %62 = "tpu.memref_slice"(%arg4, %c1_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        %63 = "tpu.memref_squeeze"(%62) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
        "tpu.enqueue_dma"(%57, %63, %59, %61, %21) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<32x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      }
      %25 = arith.addi %arg6, %c1_i32 : i32
      %26 = arith.muli %25, %c3_i32 : i32
      %27 = arith.addi %7, %26 : i32
      %28 = arith.remsi %27, %c4_i32 : i32
      %29 = "tpu.memref_slice"(%arg2, %28, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
      %30 = "tpu.memref_squeeze"(%29) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
      %31 = "tpu.memref_slice"(%arg2, %28, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
      %32 = "tpu.memref_squeeze"(%31) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
      %33 = "tpu.memref_slice"(%arg4, %c0_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %34 = "tpu.memref_squeeze"(%33) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.wait_dma2"(%34, %30, %32) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xf32, #tpu.memory_space<hbm>>, memref<32x128xf32, #tpu.memory_space<hbm>>) -> ()
      %35 = "tpu.memref_slice"(%arg2, %28, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
      %36 = "tpu.memref_squeeze"(%35) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
      %37 = "tpu.memref_slice"(%arg2, %28, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
      %38 = "tpu.memref_squeeze"(%37) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
      %39 = "tpu.memref_slice"(%arg5, %c0_i32, %arg6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %40 = "tpu.memref_squeeze"(%39) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.wait_dma2"(%40, %36, %38) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xf32, #tpu.memory_space<hbm>>, memref<32x128xf32, #tpu.memory_space<hbm>>) -> ()
      %41 = arith.addi %arg6, %c1_i32 : i32
      %42 = arith.addi %7, %41 : i32
      %43 = arith.remsi %42, %c4_i32 : i32
      %44 = "tpu.memref_slice"(%arg2, %43, %c32_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
      %45 = "tpu.memref_squeeze"(%44) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
      %46 = "tpu.memref_slice"(%arg2, %43, %c32_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
      %47 = "tpu.memref_squeeze"(%46) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
      %48 = "tpu.memref_slice"(%arg4, %c1_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %49 = "tpu.memref_squeeze"(%48) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.wait_dma2"(%49, %45, %47) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xf32, #tpu.memory_space<hbm>>, memref<32x128xf32, #tpu.memory_space<hbm>>) -> ()
      %50 = "tpu.memref_slice"(%arg2, %43, %c32_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
      %51 = "tpu.memref_squeeze"(%50) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
      %52 = "tpu.memref_slice"(%arg2, %43, %c32_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x32x128xf32, #tpu.memory_space<hbm>>
      %53 = "tpu.memref_squeeze"(%52) : (memref<1x32x128xf32, #tpu.memory_space<hbm>>) -> memref<32x128xf32, #tpu.memory_space<hbm>>
      %54 = "tpu.memref_slice"(%arg5, %c1_i32, %arg6) {operandSegmentSizes = array<i32: 1, 2, 0>} : (memref<2x4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %55 = "tpu.memref_squeeze"(%54) : (memref<1x1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.wait_dma2"(%55, %51, %53) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<32x128xf32, #tpu.memory_space<hbm>>, memref<32x128xf32, #tpu.memory_space<hbm>>) -> ()
    }
    %10 = "tpu.memref_slice"(%arg2, %7, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %11 = "tpu.memref_squeeze"(%10) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    "tpu.wait_dma2"(%arg3, %arg1, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<hbm>>) -> ()
    return
  }
}
