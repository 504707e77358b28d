module @matmul {
  func.func public @main(%0: tensor<32x256xbf16>, %1: tensor<256x256xbf16>) -> (tensor<32x256xbf16>) {
    %c0 = stablehlo.constant dense<0.0e0> : tensor<16x128xf32>
    %c1 = stablehlo.constant dense<0.0e0> : tensor<32x256xbf16>
    %c2 = stablehlo.constant dense<0> : tensor<i32>
    %c3 = stablehlo.constant dense<16> : tensor<i32>
    %2 = stablehlo.iota dim = 0 : tensor<2xi32>
    %3 = stablehlo.slice %0 [0:16, 0:128] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %4 = stablehlo.slice %1 [0:128, 0:256] : (tensor<256x256xbf16>) -> tensor<128x256xbf16>
    %5 = stablehlo.reshape %4 : (tensor<128x256xbf16>) -> tensor<128x2x128xbf16>
    %6 = stablehlo.transpose %5, dims = [1, 0, 2] : (tensor<128x2x128xbf16>) -> tensor<2x128x128xbf16>
    %7 = stablehlo.dot_general %3, %6, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<2x128x128xbf16>) -> tensor<16x2x128xf32>
    %8 = stablehlo.transpose %7, dims = [1, 0, 2] : (tensor<16x2x128xf32>) -> tensor<2x16x128xf32>
    %9 = stablehlo.broadcast_in_dim %c0, dims = [1, 2] : (tensor<16x128xf32>) -> tensor<2x16x128xf32>
    %10 = stablehlo.add %9, %8 : tensor<2x16x128xf32>
    %11 = stablehlo.slice %0 [0:16, 128:256] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %12 = stablehlo.slice %1 [128:256, 0:256] : (tensor<256x256xbf16>) -> tensor<128x256xbf16>
    %13 = stablehlo.reshape %12 : (tensor<128x256xbf16>) -> tensor<128x2x128xbf16>
    %14 = stablehlo.transpose %13, dims = [1, 0, 2] : (tensor<128x2x128xbf16>) -> tensor<2x128x128xbf16>
    %15 = stablehlo.dot_general %11, %14, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<2x128x128xbf16>) -> tensor<16x2x128xf32>
    %16 = stablehlo.transpose %15, dims = [1, 0, 2] : (tensor<16x2x128xf32>) -> tensor<2x16x128xf32>
    %17 = stablehlo.add %10, %16 : tensor<2x16x128xf32>
    %18 = stablehlo.reduce_precision %17, format = e8m7 : tensor<2x16x128xf32>
    %19 = stablehlo.convert %18 : (tensor<2x16x128xf32>) -> tensor<2x16x128xbf16>
    %20 = stablehlo.transpose %19, dims = [1, 0, 2] : (tensor<2x16x128xbf16>) -> tensor<16x2x128xbf16>
    %21 = stablehlo.reshape %20 : (tensor<16x2x128xbf16>) -> tensor<16x256xbf16>
    %22 = stablehlo.dynamic_update_slice %c1, %21, %c2, %c2 : (tensor<32x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<32x256xbf16>
    %23 = stablehlo.iota dim = 0 : tensor<2xi32>
    %24 = stablehlo.slice %22 [16:32, 0:256] : (tensor<32x256xbf16>) -> tensor<16x256xbf16>
    %25 = stablehlo.reshape %24 : (tensor<16x256xbf16>) -> tensor<16x2x128xbf16>
    %26 = stablehlo.transpose %25, dims = [1, 0, 2] : (tensor<16x2x128xbf16>) -> tensor<2x16x128xbf16>
    %27 = stablehlo.slice %0 [16:32, 0:128] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %28 = stablehlo.slice %1 [0:128, 0:256] : (tensor<256x256xbf16>) -> tensor<128x256xbf16>
    %29 = stablehlo.reshape %28 : (tensor<128x256xbf16>) -> tensor<128x2x128xbf16>
    %30 = stablehlo.transpose %29, dims = [1, 0, 2] : (tensor<128x2x128xbf16>) -> tensor<2x128x128xbf16>
    %31 = stablehlo.dot_general %27, %30, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<2x128x128xbf16>) -> tensor<16x2x128xf32>
    %32 = stablehlo.transpose %31, dims = [1, 0, 2] : (tensor<16x2x128xf32>) -> tensor<2x16x128xf32>
    %33 = stablehlo.broadcast_in_dim %c0, dims = [1, 2] : (tensor<16x128xf32>) -> tensor<2x16x128xf32>
    %34 = stablehlo.add %33, %32 : tensor<2x16x128xf32>
    %35 = stablehlo.slice %0 [16:32, 128:256] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %36 = stablehlo.slice %1 [128:256, 0:256] : (tensor<256x256xbf16>) -> tensor<128x256xbf16>
    %37 = stablehlo.reshape %36 : (tensor<128x256xbf16>) -> tensor<128x2x128xbf16>
    %38 = stablehlo.transpose %37, dims = [1, 0, 2] : (tensor<128x2x128xbf16>) -> tensor<2x128x128xbf16>
    %39 = stablehlo.dot_general %35, %38, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<2x128x128xbf16>) -> tensor<16x2x128xf32>
    %40 = stablehlo.transpose %39, dims = [1, 0, 2] : (tensor<16x2x128xf32>) -> tensor<2x16x128xf32>
    %41 = stablehlo.add %34, %40 : tensor<2x16x128xf32>
    %42 = stablehlo.reduce_precision %41, format = e8m7 : tensor<2x16x128xf32>
    %43 = stablehlo.convert %42 : (tensor<2x16x128xf32>) -> tensor<2x16x128xbf16>
    %44 = stablehlo.transpose %43, dims = [1, 0, 2] : (tensor<2x16x128xbf16>) -> tensor<16x2x128xbf16>
    %45 = stablehlo.reshape %44 : (tensor<16x2x128xbf16>) -> tensor<16x256xbf16>
    %46 = stablehlo.dynamic_update_slice %22, %45, %c3, %c2 : (tensor<32x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<32x256xbf16>
    return %46 : tensor<32x256xbf16>
  }
}
