module {
  func.func @dynamic_grid(%arg0: i32, %arg1: i32, %arg2: memref<8x128xf32, #tpu.memory_space<vmem>>, %arg3: memref<8x128xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: -9223372036854775808, -9223372036854775808>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @dynamic_grid__window_0, window_bounds = array<i64: 8, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @dynamic_grid__window_1, window_bounds = array<i64: 8, 128>}]} {
    %c1_i32 = arith.constant 1 : i32
    %c0 = arith.constant 0 : index
    %0 = "tpu.iteration_bound"() {dim = 0 : i32} : () -> i32
    %1 = arith.subi %0, %c1_i32 : i32
    %2 = arith.cmpi eq, %arg0, %1 : i32
    %3 = vector.load %arg2[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32>
    scf.if %2 {
      "tpu.vector_store"(%3, %arg3, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<8x128xf32>, memref<8x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    } else {
    }
    return
  }
  func.func @dynamic_grid__window_0(%arg0: i32, %arg1: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    %0 = "tpu.iteration_bound"() {dim = 1 : i32} : () -> i32
    %1 = arith.muli %arg0, %0 : i32
    %2 = arith.addi %1, %arg1 : i32
    return %2, %c0_i32 : i32, i32
  }
  func.func @dynamic_grid__window_1(%arg0: i32, %arg1: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
