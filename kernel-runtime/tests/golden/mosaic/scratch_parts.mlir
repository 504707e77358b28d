module {
  func.func @scratch_parts(%arg0: i32, %arg1: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg3: memref<2x32x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 4>, scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @scratch_parts__window_0, window_bounds = array<i64: 16, 128>}, {transform_indices = @scratch_parts__window_1, window_bounds = array<i64: 16, 128>}]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c2_i32 = arith.constant 2 : i32
    %c16_i32 = arith.constant 16 : i32
    %0 = vector.load %arg1[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %1 = vector.shape_cast %0 : vector<16x128xf32> to vector<1x16x128xf32>
    "tpu.vector_store"(%1, %arg3, %c1, %c8, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x16x128xf32>, memref<2x32x128xf32, #tpu.memory_space<vmem>>, index, index, index) -> ()
    %2 = arith.remsi %arg0, %c2_i32 : i32
    %3 = arith.muli %2, %c16_i32 : i32
    %4 = arith.index_cast %2 : i32 to index
    %5 = "tpu.assume_multiple"(%3) {multiple = 16 : i32} : (i32) -> i32
    %6 = arith.index_cast %5 : i32 to index
    %7 = vector.shape_cast %0 : vector<16x128xf32> to vector<1x16x128xf32>
    "tpu.vector_store"(%7, %arg3, %4, %6, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x16x128xf32>, memref<2x32x128xf32, #tpu.memory_space<vmem>>, index, index, index) -> ()
    %8 = vector.load %arg3[%c1, %c8, %c0] : memref<2x32x128xf32, #tpu.memory_space<vmem>>, vector<1x16x128xf32>
    %9 = vector.shape_cast %8 : vector<1x16x128xf32> to vector<16x128xf32>
    "tpu.vector_store"(%9, %arg2, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @scratch_parts__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
  func.func @scratch_parts__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
}
