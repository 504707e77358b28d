module {
  func.func @reduce_scatter(%arg0: i32, %arg1: memref<4x64x128xf32, #tpu.memory_space<hbm>>, %arg2: memref<64x128xf32, #tpu.memory_space<vmem>>, %arg3: memref<2x64x128xf32, #tpu.memory_space<vmem>>, %arg4: memref<2x64x128xf32, #tpu.memory_space<vmem>>, %arg5: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg6: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %arg7: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 5 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @reduce_scatter__window_1, window_bounds = array<i64: 64, 128>}]} {
    %c3_i32 = arith.constant 3 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c6_i32 = arith.constant 6 : i32
    %c9_i32 = arith.constant 9 : i32
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
    %8 = arith.addi %7, %c3_i32 : i32
    %9 = arith.remsi %8, %c4_i32 : i32
    %10 = "tpu.memref_slice"(%arg1, %9, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %11 = "tpu.memref_squeeze"(%10) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    %12 = "tpu.memref_slice"(%arg3, %c0_i32, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
    %13 = "tpu.memref_squeeze"(%12) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
    %14 = "tpu.memref_slice"(%arg5, %c0_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %15 = "tpu.memref_squeeze"(%14) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "tpu.enqueue_dma"(%11, %13, %15) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
    %16 = "tpu.memref_slice"(%arg1, %c0_i32, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %17 = "tpu.memref_squeeze"(%16) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    %18 = "tpu.memref_slice"(%arg3, %c0_i32, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
    %19 = "tpu.memref_squeeze"(%18) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
    %20 = "tpu.memref_slice"(%arg5, %c0_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %21 = "tpu.memref_squeeze"(%20) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "tpu.wait_dma2"(%21, %17, %19) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<vmem>>) -> ()
    %22 = vector.load %arg3[%c0, %c0, %c0] : memref<2x64x128xf32, #tpu.memory_space<vmem>>, vector<1x64x128xf32>
    %23 = vector.shape_cast %22 : vector<1x64x128xf32> to vector<64x128xf32>
    %24 = vector.shape_cast %23 : vector<64x128xf32> to vector<1x64x128xf32>
    "tpu.vector_store"(%24, %arg4, %c0, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x64x128xf32>, memref<2x64x128xf32, #tpu.memory_space<vmem>>, index, index, index) -> ()
    %25 = arith.addi %7, %c6_i32 : i32
    %26 = arith.remsi %25, %c4_i32 : i32
    %27 = "tpu.memref_slice"(%arg1, %26, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %28 = "tpu.memref_squeeze"(%27) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    %29 = "tpu.memref_slice"(%arg3, %c1_i32, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
    %30 = "tpu.memref_squeeze"(%29) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
    %31 = "tpu.memref_slice"(%arg5, %c1_i32) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %32 = "tpu.memref_squeeze"(%31) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "tpu.enqueue_dma"(%28, %30, %32) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
    %33:4 = scf.for %arg8 = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%arg9 = %c0_i32, %arg10 = %c1_i32, %arg11 = %c1_i32, %arg12 = %c0_i32) -> (i32, i32, i32, i32)  : i32 {
      %43 = "tpu.device_id"() : () -> i32
      %44 = arith.addi %43, %c3_i32 : i32
      %45 = arith.remsi %44, %c4_i32 : i32
      "tpu.sem_signal"(%arg7, %c1_i32, %45) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
      "tpu.sem_wait"(%arg7, %c1_i32) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      %46 = "tpu.device_id"() : () -> i32
      %47 = arith.addi %46, %c1_i32 : i32
      %48 = arith.remsi %47, %c4_i32 : i32
      %49 = "tpu.memref_slice"(%arg4, %arg9, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
      %50 = "tpu.memref_squeeze"(%49) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
      %51 = "tpu.memref_slice"(%arg4, %arg10, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
      %52 = "tpu.memref_squeeze"(%51) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
      %53 = "tpu.memref_slice"(%arg6, %arg10) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %54 = "tpu.memref_squeeze"(%53) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %55 = "tpu.memref_slice"(%arg6, %arg9) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %56 = "tpu.memref_squeeze"(%55) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.enqueue_dma"(%50, %56, %52, %54, %48) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, priority = 0 : i32, strict_ordering = false} : (memref<64x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      %57 = "tpu.memref_slice"(%arg1, %c0_i32, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
      %58 = "tpu.memref_squeeze"(%57) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
      %59 = "tpu.memref_slice"(%arg3, %arg11, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
      %60 = "tpu.memref_squeeze"(%59) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
      %61 = "tpu.memref_slice"(%arg5, %arg11) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %62 = "tpu.memref_squeeze"(%61) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.wait_dma2"(%62, %58, %60) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<vmem>>) -> ()
      %63 = arith.addi %7, %c9_i32 : i32
      %64 = arith.subi %63, %arg8 : i32
      %65 = arith.remsi %64, %c4_i32 : i32
      %66 = "tpu.memref_slice"(%arg1, %65, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
      %67 = "tpu.memref_squeeze"(%66) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
      %68 = "tpu.memref_slice"(%arg3, %arg12, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
      %69 = "tpu.memref_squeeze"(%68) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
      %70 = "tpu.memref_slice"(%arg5, %arg12) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %71 = "tpu.memref_squeeze"(%70) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.enqueue_dma"(%67, %69, %71) {operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false} : (memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
      %72 = "tpu.memref_slice"(%arg4, %arg9, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
      %73 = "tpu.memref_squeeze"(%72) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
      %74 = "tpu.memref_slice"(%arg4, %arg10, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
      %75 = "tpu.memref_squeeze"(%74) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
      %76 = "tpu.memref_slice"(%arg6, %arg9) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %77 = "tpu.memref_squeeze"(%76) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.wait_dma2"(%77, %73, %75) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<vmem>>, memref<64x128xf32, #tpu.memory_space<vmem>>) -> ()
      %78 = "tpu.memref_slice"(%arg4, %arg9, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
      %79 = "tpu.memref_squeeze"(%78) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
      %80 = "tpu.memref_slice"(%arg4, %arg10, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
      %81 = "tpu.memref_squeeze"(%80) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
      %82 = "tpu.memref_slice"(%arg6, %arg10) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      %83 = "tpu.memref_squeeze"(%82) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
      "tpu.wait_dma2"(%83, %79, %81) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<vmem>>, memref<64x128xf32, #tpu.memory_space<vmem>>) -> ()
      %84 = arith.index_cast %arg11 : i32 to index
      %85 = vector.load %arg3[%84, %c0, %c0] : memref<2x64x128xf32, #tpu.memory_space<vmem>>, vector<1x64x128xf32>
      %86 = vector.shape_cast %85 : vector<1x64x128xf32> to vector<64x128xf32>
      %87 = arith.index_cast %arg10 : i32 to index
      %88 = vector.load %arg4[%87, %c0, %c0] : memref<2x64x128xf32, #tpu.memory_space<vmem>>, vector<1x64x128xf32>
      %89 = vector.shape_cast %88 : vector<1x64x128xf32> to vector<64x128xf32>
      %90 = arith.addf %89, %86 : vector<64x128xf32>
      %91 = arith.index_cast %arg10 : i32 to index
      %92 = vector.shape_cast %90 : vector<64x128xf32> to vector<1x64x128xf32>
      "tpu.vector_store"(%92, %arg4, %91, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x64x128xf32>, memref<2x64x128xf32, #tpu.memory_space<vmem>>, index, index, index) -> ()
      scf.yield %arg10, %arg9, %arg12, %arg11 : i32, i32, i32, i32
    }
    %34 = "tpu.memref_slice"(%arg1, %c0_i32, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<4x64x128xf32, #tpu.memory_space<hbm>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<hbm>>
    %35 = "tpu.memref_squeeze"(%34) : (memref<1x64x128xf32, #tpu.memory_space<hbm>>) -> memref<64x128xf32, #tpu.memory_space<hbm>>
    %36 = "tpu.memref_slice"(%arg3, %33#2, %c0_i32, %c0_i32) {operandSegmentSizes = array<i32: 1, 3, 0>} : (memref<2x64x128xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<1x64x128xf32, #tpu.memory_space<vmem>>
    %37 = "tpu.memref_squeeze"(%36) : (memref<1x64x128xf32, #tpu.memory_space<vmem>>) -> memref<64x128xf32, #tpu.memory_space<vmem>>
    %38 = "tpu.memref_slice"(%arg5, %33#2) {operandSegmentSizes = array<i32: 1, 1, 0>} : (memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    %39 = "tpu.memref_squeeze"(%38) : (memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "tpu.wait_dma2"(%39, %35, %37) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, strict_ordering = false} : (memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<64x128xf32, #tpu.memory_space<hbm>>, memref<64x128xf32, #tpu.memory_space<vmem>>) -> ()
    %40 = arith.index_cast %33#0 : i32 to index
    %41 = vector.load %arg4[%40, %c0, %c0] : memref<2x64x128xf32, #tpu.memory_space<vmem>>, vector<1x64x128xf32>
    %42 = vector.shape_cast %41 : vector<1x64x128xf32> to vector<64x128xf32>
    "tpu.vector_store"(%42, %arg2, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<64x128xf32>, memref<64x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @reduce_scatter__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
}
