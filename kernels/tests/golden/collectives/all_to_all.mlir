module {
  func.func @all_to_all(%arg0: i32, %arg1: memref<4x64x128xf32, #tpu.memory_space<hbm>>, %arg2: memref<4x64x128xf32, #tpu.memory_space<hbm>>, %arg3: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg4: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg5: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 3 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{}, {}]} {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c4_i32 = arith.constant 4 : i32
    %c3_i32 = arith.constant 3 : i32
    %0 = "tpu.sem_barrier"() : () -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %1 = "tpu.device_id"() : () -> i32
    %2 = "tpu.memref_slice"(%arg1, %1, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %3 = "tpu.memref_squeeze"(%2) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    %4 = "tpu.memref_slice"(%arg2, %1, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %5 = "tpu.memref_squeeze"(%4) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    "tpu.enqueue_dma"(%3, %5, %arg3) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
    scf.for %arg6 = %c1_i32 to %c4_i32 step %c1_i32  : i32 {
      %10 = arith.addi %1, %arg6 : i32
      %11 = arith.remsi %10, %c4_i32 : i32
      "tpu.sem_signal"(%0, %c1_i32, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
    }
    "tpu.sem_wait"(%0, %c3_i32) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
    scf.for %arg6 = %c1_i32 to %c4_i32 step %c1_i32  : i32 {
      %10 = arith.addi %1, %arg6 : i32
      %11 = arith.remsi %10, %c4_i32 : i32
      %12 = "tpu.memref_slice"(%arg1, %11, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
      %13 = "tpu.memref_squeeze"(%12) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
      %14 = "tpu.memref_slice"(%arg2, %1, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
      %15 = "tpu.memref_squeeze"(%14) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
      "tpu.enqueue_dma"(%13, %arg4, %15, %arg5, %11) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<64x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
    }
    scf.for %arg6 = %c1_i32 to %c4_i32 step %c1_i32  : i32 {
      %10 = arith.addi %1, %arg6 : i32
      %11 = arith.remsi %10, %c4_i32 : i32
      %12 = "tpu.memref_slice"(%arg1, %11, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
      %13 = "tpu.memref_squeeze"(%12) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
      %14 = "tpu.memref_slice"(%arg2, %11, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
      %15 = "tpu.memref_squeeze"(%14) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
      "tpu.wait_dma2"(%arg4, %13, %15) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<hbm>>) -> ()
    }
    scf.for %arg6 = %c1_i32 to %c4_i32 step %c1_i32  : i32 {
      %10 = arith.addi %1, %arg6 : i32
      %11 = arith.remsi %10, %c4_i32 : i32
      %12 = "tpu.memref_slice"(%arg1, %11, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
      %13 = "tpu.memref_squeeze"(%12) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
      %14 = "tpu.memref_slice"(%arg2, %11, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
      %15 = "tpu.memref_squeeze"(%14) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
      "tpu.wait_dma2"(%arg5, %13, %15) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<hbm>>) -> ()
    }
    %6 = "tpu.memref_slice"(%arg1, %1, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %7 = "tpu.memref_squeeze"(%6) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    %8 = "tpu.memref_slice"(%arg2, %1, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %9 = "tpu.memref_squeeze"(%8) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    "tpu.wait_dma2"(%arg3, %7, %9) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<hbm>>) -> ()
    return
  }
}
