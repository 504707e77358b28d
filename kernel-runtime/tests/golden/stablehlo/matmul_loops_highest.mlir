module @matmul {
  func.func public @main(%0: tensor<128x1024xf32>, %1: tensor<1024x1024xf32>) -> (tensor<128x1024xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<0.0e0> : tensor<128x1024xf32>
    %c2 = stablehlo.constant dense<0.0e0> : tensor<8x16x128xf32>
    %c3 = stablehlo.constant dense<8> : tensor<i32>
    %c4 = stablehlo.constant dense<1> : tensor<i32>
    %c5 = stablehlo.constant dense<16> : tensor<i32>
    %c6 = stablehlo.constant dense<0.0e0> : tensor<16x128xf32>
    %c7 = stablehlo.constant dense<0.0e0> : tensor<8x128x128xf32>
    %c8 = stablehlo.constant dense<128> : tensor<i32>
    %c9 = stablehlo.constant dense<256> : tensor<i32>
    %c10 = stablehlo.constant dense<384> : tensor<i32>
    %c11 = stablehlo.constant dense<512> : tensor<i32>
    %c12 = stablehlo.constant dense<640> : tensor<i32>
    %c13 = stablehlo.constant dense<768> : tensor<i32>
    %c14 = stablehlo.constant dense<896> : tensor<i32>
    %2:3 = stablehlo.while(%3 = %c0, %4 = %c1, %5 = %c2) : tensor<i32>, tensor<128x1024xf32>, tensor<8x16x128xf32> cond {
      %6 = stablehlo.compare LT, %3, %c3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %7 = stablehlo.iota dim = 0 : tensor<8xi32>
      %8 = stablehlo.multiply %3, %c5 : tensor<i32>
      %9 = stablehlo.dynamic_slice %4, %8, %c0, sizes = [16, 1024] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x1024xf32>
      %10 = stablehlo.reshape %9 : (tensor<16x1024xf32>) -> tensor<16x8x128xf32>
      %11 = stablehlo.transpose %10, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %12 = stablehlo.multiply %3, %c5 : tensor<i32>
      %13 = stablehlo.dynamic_slice %0, %12, %c0, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
      %14 = stablehlo.slice %1 [0:128, 0:1024] : (tensor<1024x1024xf32>) -> tensor<128x1024xf32>
      %15 = stablehlo.reshape %14 : (tensor<128x1024xf32>) -> tensor<128x8x128xf32>
      %16 = stablehlo.transpose %15, dims = [1, 0, 2] : (tensor<128x8x128xf32>) -> tensor<8x128x128xf32>
      %17 = stablehlo.reduce_precision %13, format = e8m7 : tensor<16x128xf32>
      %18 = stablehlo.convert %17 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %19 = stablehlo.subtract %13, %17 : tensor<16x128xf32>
      %20 = stablehlo.is_finite %17 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %21 = stablehlo.select %20, %19, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %22 = stablehlo.reduce_precision %21, format = e8m7 : tensor<16x128xf32>
      %23 = stablehlo.convert %22 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %24 = stablehlo.subtract %21, %22 : tensor<16x128xf32>
      %25 = stablehlo.is_finite %22 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %26 = stablehlo.select %25, %24, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %27 = stablehlo.reduce_precision %26, format = e8m7 : tensor<16x128xf32>
      %28 = stablehlo.convert %27 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %29 = stablehlo.reduce_precision %16, format = e8m7 : tensor<8x128x128xf32>
      %30 = stablehlo.convert %29 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %31 = stablehlo.subtract %16, %29 : tensor<8x128x128xf32>
      %32 = stablehlo.is_finite %29 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %33 = stablehlo.select %32, %31, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %34 = stablehlo.reduce_precision %33, format = e8m7 : tensor<8x128x128xf32>
      %35 = stablehlo.convert %34 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %36 = stablehlo.subtract %33, %34 : tensor<8x128x128xf32>
      %37 = stablehlo.is_finite %34 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %38 = stablehlo.select %37, %36, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %39 = stablehlo.reduce_precision %38, format = e8m7 : tensor<8x128x128xf32>
      %40 = stablehlo.convert %39 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %41 = stablehlo.dot_general %18, %40, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %42 = stablehlo.dot_general %23, %35, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %43 = stablehlo.add %41, %42 : tensor<16x8x128xf32>
      %44 = stablehlo.dot_general %28, %30, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %45 = stablehlo.add %43, %44 : tensor<16x8x128xf32>
      %46 = stablehlo.dot_general %18, %35, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %47 = stablehlo.add %45, %46 : tensor<16x8x128xf32>
      %48 = stablehlo.dot_general %23, %30, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %49 = stablehlo.add %47, %48 : tensor<16x8x128xf32>
      %50 = stablehlo.dot_general %18, %30, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %51 = stablehlo.add %49, %50 : tensor<16x8x128xf32>
      %52 = stablehlo.transpose %51, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %53 = stablehlo.broadcast_in_dim %c6, dims = [1, 2] : (tensor<16x128xf32>) -> tensor<8x16x128xf32>
      %54 = stablehlo.add %53, %52 : tensor<8x16x128xf32>
      %55 = stablehlo.multiply %3, %c5 : tensor<i32>
      %56 = stablehlo.dynamic_slice %0, %55, %c8, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
      %57 = stablehlo.slice %1 [128:256, 0:1024] : (tensor<1024x1024xf32>) -> tensor<128x1024xf32>
      %58 = stablehlo.reshape %57 : (tensor<128x1024xf32>) -> tensor<128x8x128xf32>
      %59 = stablehlo.transpose %58, dims = [1, 0, 2] : (tensor<128x8x128xf32>) -> tensor<8x128x128xf32>
      %60 = stablehlo.reduce_precision %56, format = e8m7 : tensor<16x128xf32>
      %61 = stablehlo.convert %60 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %62 = stablehlo.subtract %56, %60 : tensor<16x128xf32>
      %63 = stablehlo.is_finite %60 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %64 = stablehlo.select %63, %62, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %65 = stablehlo.reduce_precision %64, format = e8m7 : tensor<16x128xf32>
      %66 = stablehlo.convert %65 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %67 = stablehlo.subtract %64, %65 : tensor<16x128xf32>
      %68 = stablehlo.is_finite %65 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %69 = stablehlo.select %68, %67, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %70 = stablehlo.reduce_precision %69, format = e8m7 : tensor<16x128xf32>
      %71 = stablehlo.convert %70 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %72 = stablehlo.reduce_precision %59, format = e8m7 : tensor<8x128x128xf32>
      %73 = stablehlo.convert %72 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %74 = stablehlo.subtract %59, %72 : tensor<8x128x128xf32>
      %75 = stablehlo.is_finite %72 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %76 = stablehlo.select %75, %74, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %77 = stablehlo.reduce_precision %76, format = e8m7 : tensor<8x128x128xf32>
      %78 = stablehlo.convert %77 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %79 = stablehlo.subtract %76, %77 : tensor<8x128x128xf32>
      %80 = stablehlo.is_finite %77 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %81 = stablehlo.select %80, %79, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %82 = stablehlo.reduce_precision %81, format = e8m7 : tensor<8x128x128xf32>
      %83 = stablehlo.convert %82 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %84 = stablehlo.dot_general %61, %83, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %85 = stablehlo.dot_general %66, %78, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %86 = stablehlo.add %84, %85 : tensor<16x8x128xf32>
      %87 = stablehlo.dot_general %71, %73, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %88 = stablehlo.add %86, %87 : tensor<16x8x128xf32>
      %89 = stablehlo.dot_general %61, %78, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %90 = stablehlo.add %88, %89 : tensor<16x8x128xf32>
      %91 = stablehlo.dot_general %66, %73, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %92 = stablehlo.add %90, %91 : tensor<16x8x128xf32>
      %93 = stablehlo.dot_general %61, %73, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %94 = stablehlo.add %92, %93 : tensor<16x8x128xf32>
      %95 = stablehlo.transpose %94, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %96 = stablehlo.add %54, %95 : tensor<8x16x128xf32>
      %97 = stablehlo.multiply %3, %c5 : tensor<i32>
      %98 = stablehlo.dynamic_slice %0, %97, %c9, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
      %99 = stablehlo.slice %1 [256:384, 0:1024] : (tensor<1024x1024xf32>) -> tensor<128x1024xf32>
      %100 = stablehlo.reshape %99 : (tensor<128x1024xf32>) -> tensor<128x8x128xf32>
      %101 = stablehlo.transpose %100, dims = [1, 0, 2] : (tensor<128x8x128xf32>) -> tensor<8x128x128xf32>
      %102 = stablehlo.reduce_precision %98, format = e8m7 : tensor<16x128xf32>
      %103 = stablehlo.convert %102 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %104 = stablehlo.subtract %98, %102 : tensor<16x128xf32>
      %105 = stablehlo.is_finite %102 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %106 = stablehlo.select %105, %104, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %107 = stablehlo.reduce_precision %106, format = e8m7 : tensor<16x128xf32>
      %108 = stablehlo.convert %107 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %109 = stablehlo.subtract %106, %107 : tensor<16x128xf32>
      %110 = stablehlo.is_finite %107 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %111 = stablehlo.select %110, %109, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %112 = stablehlo.reduce_precision %111, format = e8m7 : tensor<16x128xf32>
      %113 = stablehlo.convert %112 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %114 = stablehlo.reduce_precision %101, format = e8m7 : tensor<8x128x128xf32>
      %115 = stablehlo.convert %114 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %116 = stablehlo.subtract %101, %114 : tensor<8x128x128xf32>
      %117 = stablehlo.is_finite %114 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %118 = stablehlo.select %117, %116, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %119 = stablehlo.reduce_precision %118, format = e8m7 : tensor<8x128x128xf32>
      %120 = stablehlo.convert %119 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %121 = stablehlo.subtract %118, %119 : tensor<8x128x128xf32>
      %122 = stablehlo.is_finite %119 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %123 = stablehlo.select %122, %121, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %124 = stablehlo.reduce_precision %123, format = e8m7 : tensor<8x128x128xf32>
      %125 = stablehlo.convert %124 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %126 = stablehlo.dot_general %103, %125, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %127 = stablehlo.dot_general %108, %120, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %128 = stablehlo.add %126, %127 : tensor<16x8x128xf32>
      %129 = stablehlo.dot_general %113, %115, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %130 = stablehlo.add %128, %129 : tensor<16x8x128xf32>
      %131 = stablehlo.dot_general %103, %120, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %132 = stablehlo.add %130, %131 : tensor<16x8x128xf32>
      %133 = stablehlo.dot_general %108, %115, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %134 = stablehlo.add %132, %133 : tensor<16x8x128xf32>
      %135 = stablehlo.dot_general %103, %115, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %136 = stablehlo.add %134, %135 : tensor<16x8x128xf32>
      %137 = stablehlo.transpose %136, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %138 = stablehlo.add %96, %137 : tensor<8x16x128xf32>
      %139 = stablehlo.multiply %3, %c5 : tensor<i32>
      %140 = stablehlo.dynamic_slice %0, %139, %c10, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
      %141 = stablehlo.slice %1 [384:512, 0:1024] : (tensor<1024x1024xf32>) -> tensor<128x1024xf32>
      %142 = stablehlo.reshape %141 : (tensor<128x1024xf32>) -> tensor<128x8x128xf32>
      %143 = stablehlo.transpose %142, dims = [1, 0, 2] : (tensor<128x8x128xf32>) -> tensor<8x128x128xf32>
      %144 = stablehlo.reduce_precision %140, format = e8m7 : tensor<16x128xf32>
      %145 = stablehlo.convert %144 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %146 = stablehlo.subtract %140, %144 : tensor<16x128xf32>
      %147 = stablehlo.is_finite %144 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %148 = stablehlo.select %147, %146, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %149 = stablehlo.reduce_precision %148, format = e8m7 : tensor<16x128xf32>
      %150 = stablehlo.convert %149 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %151 = stablehlo.subtract %148, %149 : tensor<16x128xf32>
      %152 = stablehlo.is_finite %149 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %153 = stablehlo.select %152, %151, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %154 = stablehlo.reduce_precision %153, format = e8m7 : tensor<16x128xf32>
      %155 = stablehlo.convert %154 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %156 = stablehlo.reduce_precision %143, format = e8m7 : tensor<8x128x128xf32>
      %157 = stablehlo.convert %156 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %158 = stablehlo.subtract %143, %156 : tensor<8x128x128xf32>
      %159 = stablehlo.is_finite %156 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %160 = stablehlo.select %159, %158, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %161 = stablehlo.reduce_precision %160, format = e8m7 : tensor<8x128x128xf32>
      %162 = stablehlo.convert %161 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %163 = stablehlo.subtract %160, %161 : tensor<8x128x128xf32>
      %164 = stablehlo.is_finite %161 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %165 = stablehlo.select %164, %163, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %166 = stablehlo.reduce_precision %165, format = e8m7 : tensor<8x128x128xf32>
      %167 = stablehlo.convert %166 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %168 = stablehlo.dot_general %145, %167, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %169 = stablehlo.dot_general %150, %162, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %170 = stablehlo.add %168, %169 : tensor<16x8x128xf32>
      %171 = stablehlo.dot_general %155, %157, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %172 = stablehlo.add %170, %171 : tensor<16x8x128xf32>
      %173 = stablehlo.dot_general %145, %162, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %174 = stablehlo.add %172, %173 : tensor<16x8x128xf32>
      %175 = stablehlo.dot_general %150, %157, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %176 = stablehlo.add %174, %175 : tensor<16x8x128xf32>
      %177 = stablehlo.dot_general %145, %157, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %178 = stablehlo.add %176, %177 : tensor<16x8x128xf32>
      %179 = stablehlo.transpose %178, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %180 = stablehlo.add %138, %179 : tensor<8x16x128xf32>
      %181 = stablehlo.multiply %3, %c5 : tensor<i32>
      %182 = stablehlo.dynamic_slice %0, %181, %c11, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
      %183 = stablehlo.slice %1 [512:640, 0:1024] : (tensor<1024x1024xf32>) -> tensor<128x1024xf32>
      %184 = stablehlo.reshape %183 : (tensor<128x1024xf32>) -> tensor<128x8x128xf32>
      %185 = stablehlo.transpose %184, dims = [1, 0, 2] : (tensor<128x8x128xf32>) -> tensor<8x128x128xf32>
      %186 = stablehlo.reduce_precision %182, format = e8m7 : tensor<16x128xf32>
      %187 = stablehlo.convert %186 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %188 = stablehlo.subtract %182, %186 : tensor<16x128xf32>
      %189 = stablehlo.is_finite %186 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %190 = stablehlo.select %189, %188, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %191 = stablehlo.reduce_precision %190, format = e8m7 : tensor<16x128xf32>
      %192 = stablehlo.convert %191 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %193 = stablehlo.subtract %190, %191 : tensor<16x128xf32>
      %194 = stablehlo.is_finite %191 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %195 = stablehlo.select %194, %193, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %196 = stablehlo.reduce_precision %195, format = e8m7 : tensor<16x128xf32>
      %197 = stablehlo.convert %196 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %198 = stablehlo.reduce_precision %185, format = e8m7 : tensor<8x128x128xf32>
      %199 = stablehlo.convert %198 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %200 = stablehlo.subtract %185, %198 : tensor<8x128x128xf32>
      %201 = stablehlo.is_finite %198 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %202 = stablehlo.select %201, %200, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %203 = stablehlo.reduce_precision %202, format = e8m7 : tensor<8x128x128xf32>
      %204 = stablehlo.convert %203 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %205 = stablehlo.subtract %202, %203 : tensor<8x128x128xf32>
      %206 = stablehlo.is_finite %203 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %207 = stablehlo.select %206, %205, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %208 = stablehlo.reduce_precision %207, format = e8m7 : tensor<8x128x128xf32>
      %209 = stablehlo.convert %208 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %210 = stablehlo.dot_general %187, %209, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %211 = stablehlo.dot_general %192, %204, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %212 = stablehlo.add %210, %211 : tensor<16x8x128xf32>
      %213 = stablehlo.dot_general %197, %199, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %214 = stablehlo.add %212, %213 : tensor<16x8x128xf32>
      %215 = stablehlo.dot_general %187, %204, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %216 = stablehlo.add %214, %215 : tensor<16x8x128xf32>
      %217 = stablehlo.dot_general %192, %199, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %218 = stablehlo.add %216, %217 : tensor<16x8x128xf32>
      %219 = stablehlo.dot_general %187, %199, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %220 = stablehlo.add %218, %219 : tensor<16x8x128xf32>
      %221 = stablehlo.transpose %220, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %222 = stablehlo.add %180, %221 : tensor<8x16x128xf32>
      %223 = stablehlo.multiply %3, %c5 : tensor<i32>
      %224 = stablehlo.dynamic_slice %0, %223, %c12, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
      %225 = stablehlo.slice %1 [640:768, 0:1024] : (tensor<1024x1024xf32>) -> tensor<128x1024xf32>
      %226 = stablehlo.reshape %225 : (tensor<128x1024xf32>) -> tensor<128x8x128xf32>
      %227 = stablehlo.transpose %226, dims = [1, 0, 2] : (tensor<128x8x128xf32>) -> tensor<8x128x128xf32>
      %228 = stablehlo.reduce_precision %224, format = e8m7 : tensor<16x128xf32>
      %229 = stablehlo.convert %228 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %230 = stablehlo.subtract %224, %228 : tensor<16x128xf32>
      %231 = stablehlo.is_finite %228 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %232 = stablehlo.select %231, %230, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %233 = stablehlo.reduce_precision %232, format = e8m7 : tensor<16x128xf32>
      %234 = stablehlo.convert %233 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %235 = stablehlo.subtract %232, %233 : tensor<16x128xf32>
      %236 = stablehlo.is_finite %233 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %237 = stablehlo.select %236, %235, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %238 = stablehlo.reduce_precision %237, format = e8m7 : tensor<16x128xf32>
      %239 = stablehlo.convert %238 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %240 = stablehlo.reduce_precision %227, format = e8m7 : tensor<8x128x128xf32>
      %241 = stablehlo.convert %240 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %242 = stablehlo.subtract %227, %240 : tensor<8x128x128xf32>
      %243 = stablehlo.is_finite %240 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %244 = stablehlo.select %243, %242, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %245 = stablehlo.reduce_precision %244, format = e8m7 : tensor<8x128x128xf32>
      %246 = stablehlo.convert %245 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %247 = stablehlo.subtract %244, %245 : tensor<8x128x128xf32>
      %248 = stablehlo.is_finite %245 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %249 = stablehlo.select %248, %247, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %250 = stablehlo.reduce_precision %249, format = e8m7 : tensor<8x128x128xf32>
      %251 = stablehlo.convert %250 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %252 = stablehlo.dot_general %229, %251, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %253 = stablehlo.dot_general %234, %246, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %254 = stablehlo.add %252, %253 : tensor<16x8x128xf32>
      %255 = stablehlo.dot_general %239, %241, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %256 = stablehlo.add %254, %255 : tensor<16x8x128xf32>
      %257 = stablehlo.dot_general %229, %246, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %258 = stablehlo.add %256, %257 : tensor<16x8x128xf32>
      %259 = stablehlo.dot_general %234, %241, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %260 = stablehlo.add %258, %259 : tensor<16x8x128xf32>
      %261 = stablehlo.dot_general %229, %241, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %262 = stablehlo.add %260, %261 : tensor<16x8x128xf32>
      %263 = stablehlo.transpose %262, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %264 = stablehlo.add %222, %263 : tensor<8x16x128xf32>
      %265 = stablehlo.multiply %3, %c5 : tensor<i32>
      %266 = stablehlo.dynamic_slice %0, %265, %c13, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
      %267 = stablehlo.slice %1 [768:896, 0:1024] : (tensor<1024x1024xf32>) -> tensor<128x1024xf32>
      %268 = stablehlo.reshape %267 : (tensor<128x1024xf32>) -> tensor<128x8x128xf32>
      %269 = stablehlo.transpose %268, dims = [1, 0, 2] : (tensor<128x8x128xf32>) -> tensor<8x128x128xf32>
      %270 = stablehlo.reduce_precision %266, format = e8m7 : tensor<16x128xf32>
      %271 = stablehlo.convert %270 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %272 = stablehlo.subtract %266, %270 : tensor<16x128xf32>
      %273 = stablehlo.is_finite %270 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %274 = stablehlo.select %273, %272, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %275 = stablehlo.reduce_precision %274, format = e8m7 : tensor<16x128xf32>
      %276 = stablehlo.convert %275 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %277 = stablehlo.subtract %274, %275 : tensor<16x128xf32>
      %278 = stablehlo.is_finite %275 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %279 = stablehlo.select %278, %277, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %280 = stablehlo.reduce_precision %279, format = e8m7 : tensor<16x128xf32>
      %281 = stablehlo.convert %280 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %282 = stablehlo.reduce_precision %269, format = e8m7 : tensor<8x128x128xf32>
      %283 = stablehlo.convert %282 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %284 = stablehlo.subtract %269, %282 : tensor<8x128x128xf32>
      %285 = stablehlo.is_finite %282 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %286 = stablehlo.select %285, %284, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %287 = stablehlo.reduce_precision %286, format = e8m7 : tensor<8x128x128xf32>
      %288 = stablehlo.convert %287 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %289 = stablehlo.subtract %286, %287 : tensor<8x128x128xf32>
      %290 = stablehlo.is_finite %287 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %291 = stablehlo.select %290, %289, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %292 = stablehlo.reduce_precision %291, format = e8m7 : tensor<8x128x128xf32>
      %293 = stablehlo.convert %292 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %294 = stablehlo.dot_general %271, %293, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %295 = stablehlo.dot_general %276, %288, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %296 = stablehlo.add %294, %295 : tensor<16x8x128xf32>
      %297 = stablehlo.dot_general %281, %283, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %298 = stablehlo.add %296, %297 : tensor<16x8x128xf32>
      %299 = stablehlo.dot_general %271, %288, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %300 = stablehlo.add %298, %299 : tensor<16x8x128xf32>
      %301 = stablehlo.dot_general %276, %283, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %302 = stablehlo.add %300, %301 : tensor<16x8x128xf32>
      %303 = stablehlo.dot_general %271, %283, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %304 = stablehlo.add %302, %303 : tensor<16x8x128xf32>
      %305 = stablehlo.transpose %304, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %306 = stablehlo.add %264, %305 : tensor<8x16x128xf32>
      %307 = stablehlo.multiply %3, %c5 : tensor<i32>
      %308 = stablehlo.dynamic_slice %0, %307, %c14, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
      %309 = stablehlo.slice %1 [896:1024, 0:1024] : (tensor<1024x1024xf32>) -> tensor<128x1024xf32>
      %310 = stablehlo.reshape %309 : (tensor<128x1024xf32>) -> tensor<128x8x128xf32>
      %311 = stablehlo.transpose %310, dims = [1, 0, 2] : (tensor<128x8x128xf32>) -> tensor<8x128x128xf32>
      %312 = stablehlo.reduce_precision %308, format = e8m7 : tensor<16x128xf32>
      %313 = stablehlo.convert %312 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %314 = stablehlo.subtract %308, %312 : tensor<16x128xf32>
      %315 = stablehlo.is_finite %312 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %316 = stablehlo.select %315, %314, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %317 = stablehlo.reduce_precision %316, format = e8m7 : tensor<16x128xf32>
      %318 = stablehlo.convert %317 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %319 = stablehlo.subtract %316, %317 : tensor<16x128xf32>
      %320 = stablehlo.is_finite %317 : (tensor<16x128xf32>) -> tensor<16x128xi1>
      %321 = stablehlo.select %320, %319, %c6 : tensor<16x128xi1>, tensor<16x128xf32>
      %322 = stablehlo.reduce_precision %321, format = e8m7 : tensor<16x128xf32>
      %323 = stablehlo.convert %322 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
      %324 = stablehlo.reduce_precision %311, format = e8m7 : tensor<8x128x128xf32>
      %325 = stablehlo.convert %324 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %326 = stablehlo.subtract %311, %324 : tensor<8x128x128xf32>
      %327 = stablehlo.is_finite %324 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %328 = stablehlo.select %327, %326, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %329 = stablehlo.reduce_precision %328, format = e8m7 : tensor<8x128x128xf32>
      %330 = stablehlo.convert %329 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %331 = stablehlo.subtract %328, %329 : tensor<8x128x128xf32>
      %332 = stablehlo.is_finite %329 : (tensor<8x128x128xf32>) -> tensor<8x128x128xi1>
      %333 = stablehlo.select %332, %331, %c7 : tensor<8x128x128xi1>, tensor<8x128x128xf32>
      %334 = stablehlo.reduce_precision %333, format = e8m7 : tensor<8x128x128xf32>
      %335 = stablehlo.convert %334 : (tensor<8x128x128xf32>) -> tensor<8x128x128xbf16>
      %336 = stablehlo.dot_general %313, %335, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %337 = stablehlo.dot_general %318, %330, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %338 = stablehlo.add %336, %337 : tensor<16x8x128xf32>
      %339 = stablehlo.dot_general %323, %325, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %340 = stablehlo.add %338, %339 : tensor<16x8x128xf32>
      %341 = stablehlo.dot_general %313, %330, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %342 = stablehlo.add %340, %341 : tensor<16x8x128xf32>
      %343 = stablehlo.dot_general %318, %325, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %344 = stablehlo.add %342, %343 : tensor<16x8x128xf32>
      %345 = stablehlo.dot_general %313, %325, contracting_dims = [1] x [1] : (tensor<16x128xbf16>, tensor<8x128x128xbf16>) -> tensor<16x8x128xf32>
      %346 = stablehlo.add %344, %345 : tensor<16x8x128xf32>
      %347 = stablehlo.transpose %346, dims = [1, 0, 2] : (tensor<16x8x128xf32>) -> tensor<8x16x128xf32>
      %348 = stablehlo.add %306, %347 : tensor<8x16x128xf32>
      %349 = stablehlo.transpose %348, dims = [1, 0, 2] : (tensor<8x16x128xf32>) -> tensor<16x8x128xf32>
      %350 = stablehlo.reshape %349 : (tensor<16x8x128xf32>) -> tensor<16x1024xf32>
      %351 = stablehlo.dynamic_update_slice %4, %350, %8, %c0 : (tensor<128x1024xf32>, tensor<16x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x1024xf32>
      %352 = stablehlo.add %3, %c4 : tensor<i32>
      stablehlo.return %352, %351, %348 : tensor<i32>, tensor<128x1024xf32>, tensor<8x16x128xf32>
    }
    return %2#1 : tensor<128x1024xf32>
  }
}
