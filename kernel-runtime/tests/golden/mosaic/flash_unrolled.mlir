module {
  func.func @flash_unrolled(%arg0: i32, %arg1: memref<1x256x128xbf16, #tpu.memory_space<vmem>>, %arg2: memref<1x256x128xbf16, #tpu.memory_space<vmem>>, %arg3: memref<1x256x128xbf16, #tpu.memory_space<vmem>>, %arg4: memref<1x256x128xbf16, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>], iteration_bounds = array<i64: 2>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>, window_params = [{transform_indices = @flash_unrolled__window_0, window_bounds = array<i64: 1, 256, 128>}, {transform_indices = @flash_unrolled__window_1, window_bounds = array<i64: 1, 256, 128>}, {transform_indices = @flash_unrolled__window_2, window_bounds = array<i64: 1, 256, 128>}, {transform_indices = @flash_unrolled__window_3, window_bounds = array<i64: 1, 256, 128>}]} {
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<-1.000000e+30> : vector<256x1xf32>
    %cst_0 = arith.constant dense<0.000000e+00> : vector<256x1xf32>
    %cst_1 = arith.constant dense<0.000000e+00> : vector<256x128xf32>
    %c0_i32 = arith.constant 0 : i32
    %c128_i32 = arith.constant 128 : i32
    %cst_2 = arith.constant dense<-1.000000e+30> : vector<256x128xf32>
    %cst_3 = arith.constant dense<0xFF800000> : vector<256xf32>
    %cst_4 = arith.constant dense<0.000000e+00> : vector<256xf32>
    %c128 = arith.constant 128 : index
    %c1_i32 = arith.constant 1 : i32
    %0 = vector.load %arg1[%c0, %c0, %c0] : memref<1x256x128xbf16, #tpu.memory_space<vmem>>, vector<1x256x128xbf16>
    %1 = vector.shape_cast %0 : vector<1x256x128xbf16> to vector<256x128xbf16>
    %2 = "tpu.iota"() {dimensions = array<i32: 0>} : () -> vector<256x128xi32>
    %3 = "tpu.iota"() {dimensions = array<i32: 1>} : () -> vector<256x128xi32>
    %4 = vector.load %arg2[%c0, %c0, %c0] : memref<1x256x128xbf16, #tpu.memory_space<vmem>>, vector<1x128x128xbf16>
    %5 = vector.shape_cast %4 : vector<1x128x128xbf16> to vector<128x128xbf16>
    %6 = vector.load %arg3[%c0, %c0, %c0] : memref<1x256x128xbf16, #tpu.memory_space<vmem>>, vector<1x128x128xbf16>
    %7 = vector.shape_cast %6 : vector<1x128x128xbf16> to vector<128x128xbf16>
    %8 = "tpu.matmul"(%1, %5, %cst_1) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs = false, transpose_lhs_hint = false, transpose_rhs = false} : (vector<256x128xbf16>, vector<128x128xbf16>, vector<256x128xf32>) -> vector<256x128xf32>
    %9 = arith.muli %c0_i32, %c128_i32 : i32
    %10 = vector.broadcast %9 : i32 to vector<256x128xi32>
    %11 = arith.addi %3, %10 : vector<256x128xi32>
    %12 = arith.cmpi sge, %2, %11 : vector<256x128xi32>
    %13 = arith.select %12, %8, %cst_2 : vector<256x128xi1>, vector<256x128xf32>
    %14 = vector.multi_reduction <maximumf>, %13, %cst_3 [1] : vector<256x128xf32> to vector<256xf32>
    %15 = vector.shape_cast %14 : vector<256xf32> to vector<256x1xf32>
    %16 = arith.maximumf %cst, %15 : vector<256x1xf32>
    %17 = vector.broadcast %16 : vector<256x1xf32> to vector<256x128xf32>
    %18 = arith.subf %13, %17 : vector<256x128xf32>
    %19 = math.exp2 %18 : vector<256x128xf32>
    %20 = arith.subf %cst, %16 : vector<256x1xf32>
    %21 = math.exp2 %20 : vector<256x1xf32>
    %22 = vector.multi_reduction <add>, %19, %cst_4 [1] : vector<256x128xf32> to vector<256xf32>
    %23 = vector.shape_cast %22 : vector<256xf32> to vector<256x1xf32>
    %24 = arith.mulf %cst_0, %21 : vector<256x1xf32>
    %25 = arith.addf %24, %23 : vector<256x1xf32>
    %26 = arith.truncf %19 : vector<256x128xf32> to vector<256x128xbf16>
    %27 = "tpu.matmul"(%26, %7, %cst_1) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_lhs_hint = false, transpose_rhs = false} : (vector<256x128xbf16>, vector<128x128xbf16>, vector<256x128xf32>) -> vector<256x128xf32>
    %28 = vector.broadcast %21 : vector<256x1xf32> to vector<256x128xf32>
    %29 = arith.mulf %cst_1, %28 : vector<256x128xf32>
    %30 = arith.addf %29, %27 : vector<256x128xf32>
    %31 = vector.load %arg2[%c0, %c128, %c0] : memref<1x256x128xbf16, #tpu.memory_space<vmem>>, vector<1x128x128xbf16>
    %32 = vector.shape_cast %31 : vector<1x128x128xbf16> to vector<128x128xbf16>
    %33 = vector.load %arg3[%c0, %c128, %c0] : memref<1x256x128xbf16, #tpu.memory_space<vmem>>, vector<1x128x128xbf16>
    %34 = vector.shape_cast %33 : vector<1x128x128xbf16> to vector<128x128xbf16>
    %35 = "tpu.matmul"(%1, %32, %cst_1) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs = false, transpose_lhs_hint = false, transpose_rhs = false} : (vector<256x128xbf16>, vector<128x128xbf16>, vector<256x128xf32>) -> vector<256x128xf32>
    %36 = arith.muli %c1_i32, %c128_i32 : i32
    %37 = vector.broadcast %36 : i32 to vector<256x128xi32>
    %38 = arith.addi %3, %37 : vector<256x128xi32>
    %39 = arith.cmpi sge, %2, %38 : vector<256x128xi32>
    %40 = arith.select %39, %35, %cst_2 : vector<256x128xi1>, vector<256x128xf32>
    %41 = vector.multi_reduction <maximumf>, %40, %cst_3 [1] : vector<256x128xf32> to vector<256xf32>
    %42 = vector.shape_cast %41 : vector<256xf32> to vector<256x1xf32>
    %43 = arith.maximumf %16, %42 : vector<256x1xf32>
    %44 = vector.broadcast %43 : vector<256x1xf32> to vector<256x128xf32>
    %45 = arith.subf %40, %44 : vector<256x128xf32>
    %46 = math.exp2 %45 : vector<256x128xf32>
    %47 = arith.subf %16, %43 : vector<256x1xf32>
    %48 = math.exp2 %47 : vector<256x1xf32>
    %49 = vector.multi_reduction <add>, %46, %cst_4 [1] : vector<256x128xf32> to vector<256xf32>
    %50 = vector.shape_cast %49 : vector<256xf32> to vector<256x1xf32>
    %51 = arith.mulf %25, %48 : vector<256x1xf32>
    %52 = arith.addf %51, %50 : vector<256x1xf32>
    %53 = arith.truncf %46 : vector<256x128xf32> to vector<256x128xbf16>
    %54 = "tpu.matmul"(%53, %34, %cst_1) {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_lhs_hint = false, transpose_rhs = false} : (vector<256x128xbf16>, vector<128x128xbf16>, vector<256x128xf32>) -> vector<256x128xf32>
    %55 = vector.broadcast %48 : vector<256x1xf32> to vector<256x128xf32>
    %56 = arith.mulf %30, %55 : vector<256x128xf32>
    %57 = arith.addf %56, %54 : vector<256x128xf32>
    %58 = vector.broadcast %52 : vector<256x1xf32> to vector<256x128xf32>
    %59 = arith.divf %57, %58 : vector<256x128xf32>
    %60 = arith.truncf %59 : vector<256x128xf32> to vector<256x128xbf16>
    %61 = vector.shape_cast %60 : vector<256x128xbf16> to vector<1x256x128xbf16>
    "tpu.vector_store"(%61, %arg4, %c0, %c0, %c0) {add = false, operandSegmentSizes = array<i32: 1, 1, 3, 0>, strides = array<i32>} : (vector<1x256x128xbf16>, memref<1x256x128xbf16, #tpu.memory_space<vmem>>, index, index, index) -> ()
    return
  }
  func.func @flash_unrolled__window_0(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32, %c0_i32 : i32, i32, i32
  }
  func.func @flash_unrolled__window_1(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32, %c0_i32 : i32, i32, i32
  }
  func.func @flash_unrolled__window_2(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32, %c0_i32 : i32, i32, i32
  }
  func.func @flash_unrolled__window_3(%arg0: i32) -> (i32, i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32, %c0_i32 : i32, i32, i32
  }
}
