module {
  func.func @streams(%arg0: i32, %arg1: memref<32x256xbf16, #tpu.memory_space<vmem>>, %arg2: memref<32x256xbf16, #tpu.memory_space<vmem>>, %arg3: memref<32x256xbf16, #tpu.memory_space<vmem>>, %arg4: memref<32x256xbf16, #tpu.memory_space<vmem>>, %arg5: memref<128x256xbf16, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>], iteration_bounds = array<i64: 2>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @streams__window_0, window_bounds = array<i64: 32, 256>}, {transform_indices = @streams__window_1, window_bounds = array<i64: 32, 256>}, {transform_indices = @streams__window_2, window_bounds = array<i64: 32, 256>}, {transform_indices = @streams__window_3, window_bounds = array<i64: 32, 256>}, {transform_indices = @streams__window_4, window_bounds = array<i64: 128, 256>}]} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %0 = vector.load %arg1[%c0, %c0] : memref<32x256xbf16, #tpu.memory_space<vmem>>, vector<32x256xbf16>
    %1 = vector.load %arg2[%c0, %c0] : memref<32x256xbf16, #tpu.memory_space<vmem>>, vector<32x256xbf16>
    %2 = vector.load %arg3[%c0, %c0] : memref<32x256xbf16, #tpu.memory_space<vmem>>, vector<32x256xbf16>
    %3 = vector.load %arg4[%c0, %c0] : memref<32x256xbf16, #tpu.memory_space<vmem>>, vector<32x256xbf16>
    %4 = "tpu.concatenate"(%0, %1, %2, %3) {dimension = 0 : i32} : (vector<32x256xbf16>, vector<32x256xbf16>, vector<32x256xbf16>, vector<32x256xbf16>) -> vector<128x256xbf16>
    "tpu.vector_store"(%4, %arg5, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<128x256xbf16>, memref<128x256xbf16, #tpu.memory_space<vmem>>, index, index) -> ()
    %5 = vector.load %arg1[%c16, %c0] : memref<32x256xbf16, #tpu.memory_space<vmem>>, vector<16x256xbf16>
    %6 = vector.load %arg2[%c0, %c0] : memref<32x256xbf16, #tpu.memory_space<vmem>>, vector<16x256xbf16>
    %7 = "tpu.concatenate"(%5, %6) {dimension = 0 : i32} : (vector<16x256xbf16>, vector<16x256xbf16>) -> vector<32x256xbf16>
    "tpu.vector_store"(%7, %arg5, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<32x256xbf16>, memref<128x256xbf16, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @streams__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
    %0 = arith.muli %arg0, %c4_i32 : i32
    return %0, %c0_i32 : i32, i32
  }
  func.func @streams__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
    %c1_i32 = arith.constant 1 : i32
    %0 = arith.muli %arg0, %c4_i32 : i32
    %1 = arith.addi %0, %c1_i32 : i32
    return %1, %c0_i32 : i32, i32
  }
  func.func @streams__window_2(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
    %c2_i32 = arith.constant 2 : i32
    %0 = arith.muli %arg0, %c4_i32 : i32
    %1 = arith.addi %0, %c2_i32 : i32
    return %1, %c0_i32 : i32, i32
  }
  func.func @streams__window_3(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %c4_i32 = arith.constant 4 : i32
    %c3_i32 = arith.constant 3 : i32
    %0 = arith.muli %arg0, %c4_i32 : i32
    %1 = arith.addi %0, %c3_i32 : i32
    return %1, %c0_i32 : i32, i32
  }
  func.func @streams__window_4(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
}
