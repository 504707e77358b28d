module @softmax {
  func.func public @main(%0: tensor<100x256xbf16>) -> (tensor<100x256xbf16>) {
    %c0 = stablehlo.constant dense<0.0e0> : tensor<bf16>
    %c1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c2 = stablehlo.constant dense<0.0e0> : tensor<f32>
    %c3 = stablehlo.constant dense<0.0e0> : tensor<112x256xbf16>
    %c4 = stablehlo.constant dense<0> : tensor<i32>
    %c5 = stablehlo.constant dense<16> : tensor<i32>
    %c6 = stablehlo.constant dense<32> : tensor<i32>
    %c7 = stablehlo.constant dense<48> : tensor<i32>
    %c8 = stablehlo.constant dense<64> : tensor<i32>
    %c9 = stablehlo.constant dense<80> : tensor<i32>
    %c10 = stablehlo.constant dense<96> : tensor<i32>
    %1 = stablehlo.pad %0, %c0, low = [0, 0], high = [12, 0], interior = [0, 0] : (tensor<100x256xbf16>, tensor<bf16>) -> tensor<112x256xbf16>
    %2 = stablehlo.slice %1 [0:16, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %3 = stablehlo.convert %2 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %4 = stablehlo.reduce(%3 init: %c1) applies stablehlo.maximum across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %5 = stablehlo.reshape %4 : (tensor<16xf32>) -> tensor<16x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %7 = stablehlo.subtract %3, %6 : tensor<16x256xf32>
    %8 = stablehlo.exponential %7 : tensor<16x256xf32>
    %9 = stablehlo.reduce(%8 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %10 = stablehlo.reshape %9 : (tensor<16xf32>) -> tensor<16x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %12 = stablehlo.divide %8, %11 : tensor<16x256xf32>
    %13 = stablehlo.reduce_precision %12, format = e8m7 : tensor<16x256xf32>
    %14 = stablehlo.convert %13 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %15 = stablehlo.dynamic_update_slice %c3, %14, %c4, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %16 = stablehlo.slice %1 [16:32, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %17 = stablehlo.slice %15 [16:32, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %18 = stablehlo.convert %16 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %19 = stablehlo.reduce(%18 init: %c1) applies stablehlo.maximum across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %20 = stablehlo.reshape %19 : (tensor<16xf32>) -> tensor<16x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %22 = stablehlo.subtract %18, %21 : tensor<16x256xf32>
    %23 = stablehlo.exponential %22 : tensor<16x256xf32>
    %24 = stablehlo.reduce(%23 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %25 = stablehlo.reshape %24 : (tensor<16xf32>) -> tensor<16x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %27 = stablehlo.divide %23, %26 : tensor<16x256xf32>
    %28 = stablehlo.reduce_precision %27, format = e8m7 : tensor<16x256xf32>
    %29 = stablehlo.convert %28 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %30 = stablehlo.dynamic_update_slice %15, %29, %c5, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %31 = stablehlo.slice %1 [32:48, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %32 = stablehlo.slice %30 [32:48, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %33 = stablehlo.convert %31 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %34 = stablehlo.reduce(%33 init: %c1) applies stablehlo.maximum across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %35 = stablehlo.reshape %34 : (tensor<16xf32>) -> tensor<16x1xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %37 = stablehlo.subtract %33, %36 : tensor<16x256xf32>
    %38 = stablehlo.exponential %37 : tensor<16x256xf32>
    %39 = stablehlo.reduce(%38 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %40 = stablehlo.reshape %39 : (tensor<16xf32>) -> tensor<16x1xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %42 = stablehlo.divide %38, %41 : tensor<16x256xf32>
    %43 = stablehlo.reduce_precision %42, format = e8m7 : tensor<16x256xf32>
    %44 = stablehlo.convert %43 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %45 = stablehlo.dynamic_update_slice %30, %44, %c6, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %46 = stablehlo.slice %1 [48:64, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %47 = stablehlo.slice %45 [48:64, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %48 = stablehlo.convert %46 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %49 = stablehlo.reduce(%48 init: %c1) applies stablehlo.maximum across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %50 = stablehlo.reshape %49 : (tensor<16xf32>) -> tensor<16x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %52 = stablehlo.subtract %48, %51 : tensor<16x256xf32>
    %53 = stablehlo.exponential %52 : tensor<16x256xf32>
    %54 = stablehlo.reduce(%53 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %55 = stablehlo.reshape %54 : (tensor<16xf32>) -> tensor<16x1xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %57 = stablehlo.divide %53, %56 : tensor<16x256xf32>
    %58 = stablehlo.reduce_precision %57, format = e8m7 : tensor<16x256xf32>
    %59 = stablehlo.convert %58 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %60 = stablehlo.dynamic_update_slice %45, %59, %c7, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %61 = stablehlo.slice %1 [64:80, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %62 = stablehlo.slice %60 [64:80, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %63 = stablehlo.convert %61 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %64 = stablehlo.reduce(%63 init: %c1) applies stablehlo.maximum across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %65 = stablehlo.reshape %64 : (tensor<16xf32>) -> tensor<16x1xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %67 = stablehlo.subtract %63, %66 : tensor<16x256xf32>
    %68 = stablehlo.exponential %67 : tensor<16x256xf32>
    %69 = stablehlo.reduce(%68 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %70 = stablehlo.reshape %69 : (tensor<16xf32>) -> tensor<16x1xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %72 = stablehlo.divide %68, %71 : tensor<16x256xf32>
    %73 = stablehlo.reduce_precision %72, format = e8m7 : tensor<16x256xf32>
    %74 = stablehlo.convert %73 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %75 = stablehlo.dynamic_update_slice %60, %74, %c8, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %76 = stablehlo.slice %1 [80:96, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %77 = stablehlo.slice %75 [80:96, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %78 = stablehlo.convert %76 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %79 = stablehlo.reduce(%78 init: %c1) applies stablehlo.maximum across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %80 = stablehlo.reshape %79 : (tensor<16xf32>) -> tensor<16x1xf32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %82 = stablehlo.subtract %78, %81 : tensor<16x256xf32>
    %83 = stablehlo.exponential %82 : tensor<16x256xf32>
    %84 = stablehlo.reduce(%83 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %85 = stablehlo.reshape %84 : (tensor<16xf32>) -> tensor<16x1xf32>
    %86 = stablehlo.broadcast_in_dim %85, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %87 = stablehlo.divide %83, %86 : tensor<16x256xf32>
    %88 = stablehlo.reduce_precision %87, format = e8m7 : tensor<16x256xf32>
    %89 = stablehlo.convert %88 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %90 = stablehlo.dynamic_update_slice %75, %89, %c9, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %91 = stablehlo.slice %1 [96:112, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %92 = stablehlo.slice %90 [96:112, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %93 = stablehlo.convert %91 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %94 = stablehlo.reduce(%93 init: %c1) applies stablehlo.maximum across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %95 = stablehlo.reshape %94 : (tensor<16xf32>) -> tensor<16x1xf32>
    %96 = stablehlo.broadcast_in_dim %95, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %97 = stablehlo.subtract %93, %96 : tensor<16x256xf32>
    %98 = stablehlo.exponential %97 : tensor<16x256xf32>
    %99 = stablehlo.reduce(%98 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %100 = stablehlo.reshape %99 : (tensor<16xf32>) -> tensor<16x1xf32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %102 = stablehlo.divide %98, %101 : tensor<16x256xf32>
    %103 = stablehlo.reduce_precision %102, format = e8m7 : tensor<16x256xf32>
    %104 = stablehlo.convert %103 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %105 = stablehlo.dynamic_update_slice %90, %104, %c10, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %106 = stablehlo.slice %105 [0:100, 0:256] : (tensor<112x256xbf16>) -> tensor<100x256xbf16>
    return %106 : tensor<100x256xbf16>
  }
}
