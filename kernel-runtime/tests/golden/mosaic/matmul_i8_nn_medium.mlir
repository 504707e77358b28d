module {
  func.func @matmul_i8_nn_medium(%arg0: i32, %arg1: i32, %arg2: i32, %arg3: memref<128x128xi8, #tpu.memory_space<vmem>>, %arg4: memref<128x128xi8, #tpu.memory_space<vmem>>, %arg5: memref<128x128xi32, #tpu.memory_space<vmem>>, %arg6: memref<128x128xi32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2, 2, 2>, scalar_prefetch = 0 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @matmul_i8_nn_medium__window_0, window_bounds = array<i64: 128, 128>}, {transform_indices = @matmul_i8_nn_medium__window_1, window_bounds = array<i64: 128, 128>}, {transform_indices = @matmul_i8_nn_medium__window_2, window_bounds = array<i64: 128, 128>}]} {
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<0> : vector<128x128xi32>
    %c0 = arith.constant 0 : index
    %c1_i32 = arith.constant 1 : i32
    %0 = arith.cmpi eq, %arg2, %c0_i32 : i32
    scf.if %0 {
      "tpu.vector_store"(%cst, %arg6, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<128x128xi32>, memref<128x128xi32, #tpu.memory_space<vmem>>, index, index) -> ()
    } else {
    }
    %1 = vector.load %arg3[%c0, %c0] : memref<128x128xi8, #tpu.memory_space<vmem>>, vector<128x128xi8>
    %2 = vector.load %arg4[%c0, %c0] : memref<128x128xi8, #tpu.memory_space<vmem>>, vector<128x128xi8>
    %3 = vector.load %arg6[%c0, %c0] : memref<128x128xi32, #tpu.memory_space<vmem>>, vector<128x128xi32>
    %4 = "tpu.matmul"(%1, %2, %cst) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_lhs_hint = false, transpose_rhs = false} : (vector<128x128xi8>, vector<128x128xi8>, vector<128x128xi32>) -> vector<128x128xi32>
    %5 = arith.addi %3, %4 : vector<128x128xi32>
    "tpu.vector_store"(%5, %arg6, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<128x128xi32>, memref<128x128xi32, #tpu.memory_space<vmem>>, index, index) -> ()
    %6 = arith.cmpi eq, %arg2, %c1_i32 : i32
    scf.if %6 {
      %7 = vector.load %arg6[%c0, %c0] : memref<128x128xi32, #tpu.memory_space<vmem>>, vector<128x128xi32>
      "tpu.vector_store"(%7, %arg5, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<128x128xi32>, memref<128x128xi32, #tpu.memory_space<vmem>>, index, index) -> ()
    } else {
    }
    return
  }
  func.func @matmul_i8_nn_medium__window_0(%arg0: i32, %arg1: i32, %arg2: i32) -> (i32, i32) {
    return %arg0, %arg2 : i32, i32
  }
  func.func @matmul_i8_nn_medium__window_1(%arg0: i32, %arg1: i32, %arg2: i32) -> (i32, i32) {
    return %arg2, %arg1 : i32, i32
  }
  func.func @matmul_i8_nn_medium__window_2(%arg0: i32, %arg1: i32, %arg2: i32) -> (i32, i32) {
    return %arg0, %arg1 : i32, i32
  }
}
