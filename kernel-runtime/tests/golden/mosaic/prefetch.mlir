module {
  func.func @prefetch(%arg0: i32, %arg1: memref<8xi32, #tpu.memory_space<smem>>, %arg2: memref<8x256xf32, #tpu.memory_space<vmem>>, %arg3: memref<8x256xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 8>, scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @prefetch__window_0, window_bounds = array<i64: 8, 256>}, {transform_indices = @prefetch__window_1, window_bounds = array<i64: 8, 256>}]} {
    %c0 = arith.constant 0 : index
    %0 = arith.index_cast %arg0 : i32 to index
    %1 = memref.load %arg1[%0] : memref<8xi32, #tpu.memory_space<smem>>
    %2 = arith.sitofp %1 : i32 to f32
    %3 = vector.broadcast %2 : f32 to vector<8x256xf32>
    %4 = vector.load %arg2[%c0, %c0] : memref<8x256xf32, #tpu.memory_space<vmem>>, vector<8x256xf32>
    %5 = arith.mulf %4, %3 : vector<8x256xf32>
    "tpu.vector_store"(%5, %arg3, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<8x256xf32>, memref<8x256xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @prefetch__window_0(%arg0: i32, %arg1: memref<8xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %0 = arith.index_cast %arg0 : i32 to index
    %1 = memref.load %arg1[%0] : memref<8xi32, #tpu.memory_space<smem>>
    return %1, %c0_i32 : i32, i32
  }
  func.func @prefetch__window_1(%arg0: i32, %arg1: memref<8xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
}
