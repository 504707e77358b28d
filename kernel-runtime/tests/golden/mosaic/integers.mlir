module {
  func.func @integers(%arg0: i32, %arg1: memref<32x128xi8, #tpu.memory_space<vmem>>, %arg2: memref<32x128xi16, #tpu.memory_space<vmem>>, %arg3: memref<32x128xi8, #tpu.memory_space<vmem>>, %arg4: memref<32x128xi16, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 1>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @integers__window_0, window_bounds = array<i64: 32, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @integers__window_1, window_bounds = array<i64: 32, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @integers__window_2, window_bounds = array<i64: 32, 128>}, {pipeline_mode = #tpu.pipeline_mode<synchronous>, transform_indices = @integers__window_3, window_bounds = array<i64: 32, 128>}]} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<0> : vector<32x128xi32>
    %cst_0 = arith.constant dense<1> : vector<32x128xi32>
    %cst_1 = arith.constant dense<-1> : vector<32x128xi32>
    %cst_2 = arith.constant dense<-2147483648> : vector<32x128xi32>
    %cst_3 = arith.constant dense<31> : vector<32x128xi32>
    %0 = vector.load %arg1[%c0, %c0] : memref<32x128xi8, #tpu.memory_space<vmem>>, vector<32x128xi8>
    %1 = vector.load %arg2[%c0, %c0] : memref<32x128xi16, #tpu.memory_space<vmem>>, vector<32x128xi16>
    %2 = arith.extsi %0 : vector<32x128xi8> to vector<32x128xi32>
    %3 = arith.extsi %0 : vector<32x128xi8> to vector<32x128xi32>
    %4 = arith.cmpi eq, %3, %cst : vector<32x128xi32>
    %5 = arith.cmpi eq, %2, %cst_2 : vector<32x128xi32>
    %6 = arith.cmpi eq, %3, %cst_1 : vector<32x128xi32>
    %7 = arith.andi %5, %6 : vector<32x128xi1>
    %8 = arith.ori %4, %7 : vector<32x128xi1>
    %9 = arith.select %8, %cst_0, %3 : vector<32x128xi1>, vector<32x128xi32>
    %10 = arith.divsi %2, %9 : vector<32x128xi32>
    %11 = arith.select %4, %cst_1, %10 : vector<32x128xi1>, vector<32x128xi32>
    %12 = arith.trunci %11 : vector<32x128xi32> to vector<32x128xi8>
    "tpu.vector_store"(%12, %arg3, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<32x128xi8>, memref<32x128xi8, #tpu.memory_space<vmem>>, index, index) -> ()
    %13 = arith.extui %1 : vector<32x128xi16> to vector<32x128xi32>
    %14 = arith.extui %1 : vector<32x128xi16> to vector<32x128xi32>
    %15 = arith.minui %14, %cst_3 : vector<32x128xi32>
    %16 = arith.shrui %13, %15 : vector<32x128xi32>
    %17 = arith.cmpi ule, %14, %cst_3 : vector<32x128xi32>
    %18 = arith.select %17, %16, %cst : vector<32x128xi1>, vector<32x128xi32>
    %19 = arith.trunci %18 : vector<32x128xi32> to vector<32x128xi16>
    "tpu.vector_store"(%19, %arg4, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>} : (vector<32x128xi16>, memref<32x128xi16, #tpu.memory_space<vmem>>, index, index) -> ()
    return
  }
  func.func @integers__window_0(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @integers__window_1(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @integers__window_2(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
  func.func @integers__window_3(%arg0: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %c0_i32, %c0_i32 : i32, i32
  }
}
