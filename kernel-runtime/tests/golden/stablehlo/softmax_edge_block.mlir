module @softmax {
  func.func public @main(%0: tensor<100x256xbf16>) -> (tensor<100x256xbf16>) {
    %c0 = stablehlo.constant dense<0.0e0> : tensor<bf16>
    %c1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c2 = stablehlo.constant dense<0.0e0> : tensor<f32>
    %1 = stablehlo.pad %0, %c0, low = [0, 0], high = [12, 0], interior = [0, 0] : (tensor<100x256xbf16>, tensor<bf16>) -> tensor<112x256xbf16>
    %2 = stablehlo.iota dim = 0 : tensor<7xi32>
    %3 = stablehlo.reshape %1 : (tensor<112x256xbf16>) -> tensor<7x16x256xbf16>
    %4 = stablehlo.convert %3 : (tensor<7x16x256xbf16>) -> tensor<7x16x256xf32>
    %5 = stablehlo.reduce(%4 init: %c1) across dimensions = [2] : (tensor<7x16x256xf32>, tensor<f32>) -> tensor<7x16xf32>
      reducer(%6: tensor<f32>, %7: tensor<f32>) {
        %8 = stablehlo.compare GT, %6, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %9 = stablehlo.compare NE, %6, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %10 = stablehlo.or %8, %9 : tensor<i1>
        %11 = stablehlo.select %10, %6, %7 : tensor<i1>, tensor<f32>
        stablehlo.return %11 : tensor<f32>
      }
    %12 = stablehlo.reshape %5 : (tensor<7x16xf32>) -> tensor<7x16x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<7x16x1xf32>) -> tensor<7x16x256xf32>
    %14 = stablehlo.subtract %4, %13 : tensor<7x16x256xf32>
    %15 = stablehlo.exponential %14 : tensor<7x16x256xf32>
    %16 = stablehlo.reduce(%15 init: %c2) applies stablehlo.add across dimensions = [2] : (tensor<7x16x256xf32>, tensor<f32>) -> tensor<7x16xf32>
    %17 = stablehlo.reshape %16 : (tensor<7x16xf32>) -> tensor<7x16x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<7x16x1xf32>) -> tensor<7x16x256xf32>
    %19 = stablehlo.divide %15, %18 : tensor<7x16x256xf32>
    %20 = stablehlo.reduce_precision %19, format = e8m7 : tensor<7x16x256xf32>
    %21 = stablehlo.convert %20 : (tensor<7x16x256xf32>) -> tensor<7x16x256xbf16>
    %22 = stablehlo.reshape %21 : (tensor<7x16x256xbf16>) -> tensor<112x256xbf16>
    %23 = stablehlo.slice %22 [0:100, 0:256] : (tensor<112x256xbf16>) -> tensor<100x256xbf16>
    return %23 : tensor<100x256xbf16>
  }
}
