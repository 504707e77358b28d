module @matmul {
  func.func public @main(%0: tensor<32x256xbf16>, %1: tensor<256x256xbf16>) -> (tensor<32x256xbf16>) {
    %c0 = stablehlo.constant dense<0.0e0> : tensor<16x128xf32>
    %c1 = stablehlo.constant dense<0.0e0> : tensor<32x256xbf16>
    %c2 = stablehlo.constant dense<0> : tensor<i32>
    %c3 = stablehlo.constant dense<128> : tensor<i32>
    %c4 = stablehlo.constant dense<16> : tensor<i32>
    %2 = stablehlo.slice %0 [0:16, 0:128] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %3 = stablehlo.slice %1 [0:128, 0:128] : (tensor<256x256xbf16>) -> tensor<128x128xbf16>
    %4 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
    %5 = stablehlo.add %c0, %4 : tensor<16x128xf32>
    %6 = stablehlo.slice %0 [0:16, 128:256] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %7 = stablehlo.slice %1 [128:256, 0:128] : (tensor<256x256xbf16>) -> tensor<128x128xbf16>
    %8 = stablehlo.dot_general %6, %7, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
    %9 = stablehlo.add %5, %8 : tensor<16x128xf32>
    %10 = stablehlo.reduce_precision %9, format = e8m7 : tensor<16x128xf32>
    %11 = stablehlo.convert %10 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
    %12 = stablehlo.dynamic_update_slice %c1, %11, %c2, %c2 : (tensor<32x256xbf16>, tensor<16x128xbf16>, tensor<i32>, tensor<i32>) -> tensor<32x256xbf16>
    %13 = stablehlo.slice %12 [0:16, 128:256] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %14 = stablehlo.slice %0 [0:16, 0:128] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %15 = stablehlo.slice %1 [0:128, 128:256] : (tensor<256x256xbf16>) -> tensor<128x128xbf16>
    %16 = stablehlo.dot_general %14, %15, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
    %17 = stablehlo.add %c0, %16 : tensor<16x128xf32>
    %18 = stablehlo.slice %0 [0:16, 128:256] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %19 = stablehlo.slice %1 [128:256, 128:256] : (tensor<256x256xbf16>) -> tensor<128x128xbf16>
    %20 = stablehlo.dot_general %18, %19, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
    %21 = stablehlo.add %17, %20 : tensor<16x128xf32>
    %22 = stablehlo.reduce_precision %21, format = e8m7 : tensor<16x128xf32>
    %23 = stablehlo.convert %22 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
    %24 = stablehlo.dynamic_update_slice %12, %23, %c2, %c3 : (tensor<32x256xbf16>, tensor<16x128xbf16>, tensor<i32>, tensor<i32>) -> tensor<32x256xbf16>
    %25 = stablehlo.slice %24 [16:32, 0:128] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %26 = stablehlo.slice %0 [16:32, 0:128] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %27 = stablehlo.slice %1 [0:128, 0:128] : (tensor<256x256xbf16>) -> tensor<128x128xbf16>
    %28 = stablehlo.dot_general %26, %27, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
    %29 = stablehlo.add %c0, %28 : tensor<16x128xf32>
    %30 = stablehlo.slice %0 [16:32, 128:256] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %31 = stablehlo.slice %1 [128:256, 0:128] : (tensor<256x256xbf16>) -> tensor<128x128xbf16>
    %32 = stablehlo.dot_general %30, %31, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
    %33 = stablehlo.add %29, %32 : tensor<16x128xf32>
    %34 = stablehlo.reduce_precision %33, format = e8m7 : tensor<16x128xf32>
    %35 = stablehlo.convert %34 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
    %36 = stablehlo.dynamic_update_slice %24, %35, %c4, %c2 : (tensor<32x256xbf16>, tensor<16x128xbf16>, tensor<i32>, tensor<i32>) -> tensor<32x256xbf16>
    %37 = stablehlo.slice %36 [16:32, 128:256] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %38 = stablehlo.slice %0 [16:32, 0:128] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %39 = stablehlo.slice %1 [0:128, 128:256] : (tensor<256x256xbf16>) -> tensor<128x128xbf16>
    %40 = stablehlo.dot_general %38, %39, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
    %41 = stablehlo.add %c0, %40 : tensor<16x128xf32>
    %42 = stablehlo.slice %0 [16:32, 128:256] : (tensor<32x256xbf16>) -> tensor<16x128xbf16>
    %43 = stablehlo.slice %1 [128:256, 128:256] : (tensor<256x256xbf16>) -> tensor<128x128xbf16>
    %44 = stablehlo.dot_general %42, %43, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
    %45 = stablehlo.add %41, %44 : tensor<16x128xf32>
    %46 = stablehlo.reduce_precision %45, format = e8m7 : tensor<16x128xf32>
    %47 = stablehlo.convert %46 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
    %48 = stablehlo.dynamic_update_slice %36, %47, %c4, %c3 : (tensor<32x256xbf16>, tensor<16x128xbf16>, tensor<i32>, tensor<i32>) -> tensor<32x256xbf16>
    return %48 : tensor<32x256xbf16>
  }
}
