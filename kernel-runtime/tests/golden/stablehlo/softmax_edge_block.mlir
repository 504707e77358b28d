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
    %4 = stablehlo.reduce(%3 init: %c1) across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
      reducer(%5: tensor<f32>, %6: tensor<f32>) {
        %7 = stablehlo.compare GT, %5, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %8 = stablehlo.compare NE, %5, %5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %9 = stablehlo.or %7, %8 : tensor<i1>
        %10 = stablehlo.select %9, %5, %6 : tensor<i1>, tensor<f32>
        stablehlo.return %10 : tensor<f32>
      }
    %11 = stablehlo.reshape %4 : (tensor<16xf32>) -> tensor<16x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %13 = stablehlo.subtract %3, %12 : tensor<16x256xf32>
    %14 = stablehlo.exponential %13 : tensor<16x256xf32>
    %15 = stablehlo.reduce(%14 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %16 = stablehlo.reshape %15 : (tensor<16xf32>) -> tensor<16x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %18 = stablehlo.divide %14, %17 : tensor<16x256xf32>
    %19 = stablehlo.reduce_precision %18, format = e8m7 : tensor<16x256xf32>
    %20 = stablehlo.convert %19 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %21 = stablehlo.dynamic_update_slice %c3, %20, %c4, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %22 = stablehlo.slice %1 [16:32, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %23 = stablehlo.slice %21 [16:32, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %24 = stablehlo.convert %22 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %25 = stablehlo.reduce(%24 init: %c1) across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
      reducer(%26: tensor<f32>, %27: tensor<f32>) {
        %28 = stablehlo.compare GT, %26, %27, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %29 = stablehlo.compare NE, %26, %26, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %30 = stablehlo.or %28, %29 : tensor<i1>
        %31 = stablehlo.select %30, %26, %27 : tensor<i1>, tensor<f32>
        stablehlo.return %31 : tensor<f32>
      }
    %32 = stablehlo.reshape %25 : (tensor<16xf32>) -> tensor<16x1xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %34 = stablehlo.subtract %24, %33 : tensor<16x256xf32>
    %35 = stablehlo.exponential %34 : tensor<16x256xf32>
    %36 = stablehlo.reduce(%35 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %37 = stablehlo.reshape %36 : (tensor<16xf32>) -> tensor<16x1xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %39 = stablehlo.divide %35, %38 : tensor<16x256xf32>
    %40 = stablehlo.reduce_precision %39, format = e8m7 : tensor<16x256xf32>
    %41 = stablehlo.convert %40 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %42 = stablehlo.dynamic_update_slice %21, %41, %c5, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %43 = stablehlo.slice %1 [32:48, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %44 = stablehlo.slice %42 [32:48, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %45 = stablehlo.convert %43 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %46 = stablehlo.reduce(%45 init: %c1) across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
      reducer(%47: tensor<f32>, %48: tensor<f32>) {
        %49 = stablehlo.compare GT, %47, %48, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %50 = stablehlo.compare NE, %47, %47, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %51 = stablehlo.or %49, %50 : tensor<i1>
        %52 = stablehlo.select %51, %47, %48 : tensor<i1>, tensor<f32>
        stablehlo.return %52 : tensor<f32>
      }
    %53 = stablehlo.reshape %46 : (tensor<16xf32>) -> tensor<16x1xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %55 = stablehlo.subtract %45, %54 : tensor<16x256xf32>
    %56 = stablehlo.exponential %55 : tensor<16x256xf32>
    %57 = stablehlo.reduce(%56 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %58 = stablehlo.reshape %57 : (tensor<16xf32>) -> tensor<16x1xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %60 = stablehlo.divide %56, %59 : tensor<16x256xf32>
    %61 = stablehlo.reduce_precision %60, format = e8m7 : tensor<16x256xf32>
    %62 = stablehlo.convert %61 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %63 = stablehlo.dynamic_update_slice %42, %62, %c6, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %64 = stablehlo.slice %1 [48:64, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %65 = stablehlo.slice %63 [48:64, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %66 = stablehlo.convert %64 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %67 = stablehlo.reduce(%66 init: %c1) across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
      reducer(%68: tensor<f32>, %69: tensor<f32>) {
        %70 = stablehlo.compare GT, %68, %69, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %71 = stablehlo.compare NE, %68, %68, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %72 = stablehlo.or %70, %71 : tensor<i1>
        %73 = stablehlo.select %72, %68, %69 : tensor<i1>, tensor<f32>
        stablehlo.return %73 : tensor<f32>
      }
    %74 = stablehlo.reshape %67 : (tensor<16xf32>) -> tensor<16x1xf32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %76 = stablehlo.subtract %66, %75 : tensor<16x256xf32>
    %77 = stablehlo.exponential %76 : tensor<16x256xf32>
    %78 = stablehlo.reduce(%77 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %79 = stablehlo.reshape %78 : (tensor<16xf32>) -> tensor<16x1xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %81 = stablehlo.divide %77, %80 : tensor<16x256xf32>
    %82 = stablehlo.reduce_precision %81, format = e8m7 : tensor<16x256xf32>
    %83 = stablehlo.convert %82 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %84 = stablehlo.dynamic_update_slice %63, %83, %c7, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %85 = stablehlo.slice %1 [64:80, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %86 = stablehlo.slice %84 [64:80, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %87 = stablehlo.convert %85 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %88 = stablehlo.reduce(%87 init: %c1) across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
      reducer(%89: tensor<f32>, %90: tensor<f32>) {
        %91 = stablehlo.compare GT, %89, %90, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %92 = stablehlo.compare NE, %89, %89, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %93 = stablehlo.or %91, %92 : tensor<i1>
        %94 = stablehlo.select %93, %89, %90 : tensor<i1>, tensor<f32>
        stablehlo.return %94 : tensor<f32>
      }
    %95 = stablehlo.reshape %88 : (tensor<16xf32>) -> tensor<16x1xf32>
    %96 = stablehlo.broadcast_in_dim %95, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %97 = stablehlo.subtract %87, %96 : tensor<16x256xf32>
    %98 = stablehlo.exponential %97 : tensor<16x256xf32>
    %99 = stablehlo.reduce(%98 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %100 = stablehlo.reshape %99 : (tensor<16xf32>) -> tensor<16x1xf32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %102 = stablehlo.divide %98, %101 : tensor<16x256xf32>
    %103 = stablehlo.reduce_precision %102, format = e8m7 : tensor<16x256xf32>
    %104 = stablehlo.convert %103 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %105 = stablehlo.dynamic_update_slice %84, %104, %c8, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %106 = stablehlo.slice %1 [80:96, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %107 = stablehlo.slice %105 [80:96, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %108 = stablehlo.convert %106 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %109 = stablehlo.reduce(%108 init: %c1) across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
      reducer(%110: tensor<f32>, %111: tensor<f32>) {
        %112 = stablehlo.compare GT, %110, %111, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %113 = stablehlo.compare NE, %110, %110, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %114 = stablehlo.or %112, %113 : tensor<i1>
        %115 = stablehlo.select %114, %110, %111 : tensor<i1>, tensor<f32>
        stablehlo.return %115 : tensor<f32>
      }
    %116 = stablehlo.reshape %109 : (tensor<16xf32>) -> tensor<16x1xf32>
    %117 = stablehlo.broadcast_in_dim %116, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %118 = stablehlo.subtract %108, %117 : tensor<16x256xf32>
    %119 = stablehlo.exponential %118 : tensor<16x256xf32>
    %120 = stablehlo.reduce(%119 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %121 = stablehlo.reshape %120 : (tensor<16xf32>) -> tensor<16x1xf32>
    %122 = stablehlo.broadcast_in_dim %121, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %123 = stablehlo.divide %119, %122 : tensor<16x256xf32>
    %124 = stablehlo.reduce_precision %123, format = e8m7 : tensor<16x256xf32>
    %125 = stablehlo.convert %124 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %126 = stablehlo.dynamic_update_slice %105, %125, %c9, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %127 = stablehlo.slice %1 [96:112, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %128 = stablehlo.slice %126 [96:112, 0:256] : (tensor<112x256xbf16>) -> tensor<16x256xbf16>
    %129 = stablehlo.convert %127 : (tensor<16x256xbf16>) -> tensor<16x256xf32>
    %130 = stablehlo.reduce(%129 init: %c1) across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
      reducer(%131: tensor<f32>, %132: tensor<f32>) {
        %133 = stablehlo.compare GT, %131, %132, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %134 = stablehlo.compare NE, %131, %131, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %135 = stablehlo.or %133, %134 : tensor<i1>
        %136 = stablehlo.select %135, %131, %132 : tensor<i1>, tensor<f32>
        stablehlo.return %136 : tensor<f32>
      }
    %137 = stablehlo.reshape %130 : (tensor<16xf32>) -> tensor<16x1xf32>
    %138 = stablehlo.broadcast_in_dim %137, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %139 = stablehlo.subtract %129, %138 : tensor<16x256xf32>
    %140 = stablehlo.exponential %139 : tensor<16x256xf32>
    %141 = stablehlo.reduce(%140 init: %c2) applies stablehlo.add across dimensions = [1] : (tensor<16x256xf32>, tensor<f32>) -> tensor<16xf32>
    %142 = stablehlo.reshape %141 : (tensor<16xf32>) -> tensor<16x1xf32>
    %143 = stablehlo.broadcast_in_dim %142, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x256xf32>
    %144 = stablehlo.divide %140, %143 : tensor<16x256xf32>
    %145 = stablehlo.reduce_precision %144, format = e8m7 : tensor<16x256xf32>
    %146 = stablehlo.convert %145 : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %147 = stablehlo.dynamic_update_slice %126, %146, %c10, %c4 : (tensor<112x256xbf16>, tensor<16x256xbf16>, tensor<i32>, tensor<i32>) -> tensor<112x256xbf16>
    %148 = stablehlo.slice %147 [0:100, 0:256] : (tensor<112x256xbf16>) -> tensor<100x256xbf16>
    return %148 : tensor<100x256xbf16>
  }
}
