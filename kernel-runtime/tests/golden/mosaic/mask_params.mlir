module {
  func.func @mask_params(%arg0: i32, %arg1: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg2: memref<16x128xi32, #tpu.memory_space<vmem>>, %arg3: memref<16x128xf32, #tpu.memory_space<vmem>>, %arg4: memref<16x128xi32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @mask_params__window_0, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @mask_params__window_1, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @mask_params__window_2, window_bounds = array<i64: 16, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @mask_params__window_3, window_bounds = array<i64: 16, 128>}]} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0> : vector<16x128xi32>
    %cst_0 = arith.constant dense<0.000000e+00> : vector<16x128xf32>
    %0 = arith.cmpi eq, %cst, %cst : vector<16x128xi32>
    %1 = vector.load %arg1[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<16x128xf32>
    %2 = vector.load %arg2[%c0, %c0] : memref<16x128xi32, #tpu.memory_space<vmem>>, vector<16x128xi32>
    %3 = arith.cmpi ne, %2, %cst : vector<16x128xi32>
    %4 = arith.select %3, %1, %cst_0 : vector<16x128xi1>, vector<16x128xf32>
    "tpu.vector_store"(%4, %arg3, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xf32>, memref<16x128xf32, #tpu.memory_space<vmem>>, index, index) -> ()
    %5 = arith.cmpf oeq, %1, %cst_0 : vector<16x128xf32>
    %6 = arith.xori %5, %0 : vector<16x128xi1>
    %7 = arith.andi %3, %6 : vector<16x128xi1>
    %8 = arith.xori %7, %0 : vector<16x128xi1>
    %9 = arith.xori %8, %0 : vector<16x128xi1>
    %10 = arith.xori %3, %0 : vector<16x128xi1>
    %11 = arith.andi %3, %9 : vector<16x128xi1>
    %12 = arith.andi %10, %7 : vector<16x128xi1>
    %13 = arith.ori %11, %12 : vector<16x128xi1>
    %14 = arith.extui %13 : vector<16x128xi1> to vector<16x128xi32>
    "tpu.vector_store"(%14, %arg4, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<16x128xi32>, memref<16x128xi32, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @mask_params__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @mask_params__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @mask_params__window_2(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @mask_params__window_3(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
