module {
  func.func @in_out_prefetch(%arg0: i32, %arg1: memref<8xi32, #tpu.memory_space<smem>>, %arg2: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg3: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg4: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 8>, scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @in_out_prefetch__window_0, window_bounds = array<i64: 8, 128>}, {transform_indices = @in_out_prefetch__window_1, window_bounds = array<i64: 8, 128>}, {transform_indices = @in_out_prefetch__window_2, window_bounds = array<i64: 8, 128>}]} {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %true = arith.constant true
    %c7_i32 = arith.constant 7 : i32
    %c0 = arith.constant 0 : index
    %0 = arith.subi %arg0, %c1_i32 : i32
    %1 = arith.cmpi eq, %arg0, %c0_i32 : i32
    %2 = arith.select %1, %c7_i32, %0 : i32
    %3 = arith.select %true, %2, %arg0 : i32
    %4 = arith.andi %true, %1 : i1
    %5 = arith.index_cast %arg0 : i32 to index
    %6 = memref.load %arg1[%5] : memref<8xi32, #tpu.memory_space<smem>>
    %7 = arith.index_cast %3 : i32 to index
    %8 = memref.load %arg1[%7] : memref<8xi32, #tpu.memory_space<smem>>
    %9 = arith.cmpi ne, %6, %8 : i32
    %10 = arith.ori %4, %9 : i1
    %11 = arith.cmpi ne, %c0_i32, %c0_i32 : i32
    %12 = arith.ori %10, %11 : i1
    scf.if %12 {
      %16 = vector.load %arg2[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
      "tpu.vector_store"(%16, %arg4, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    } else {
    }
    %13 = vector.load %arg4[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %14 = vector.load %arg3[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    %15 = arith.addf %13, %14 : vector<8x128xf32>
    "tpu.vector_store"(%15, %arg4, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @in_out_prefetch__window_0(%arg0: i32, %arg1: memref<8xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.index_cast %arg0 : i32 to index
    %1 = memref.load %arg1[%0] : memref<8xi32, #tpu.memory_space<smem>>
    return %1, %c0_i32 : i32, i32
  }
  func.func @in_out_prefetch__window_1(%arg0: i32, %arg1: memref<8xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
  func.func @in_out_prefetch__window_2(%arg0: i32, %arg1: memref<8xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.index_cast %arg0 : i32 to index
    %1 = memref.load %arg1[%0] : memref<8xi32, #tpu.memory_space<smem>>
    return %1, %c0_i32 : i32, i32
  }
}
