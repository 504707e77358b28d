module @matmul {
  func.func public @main(%0: tensor<128x1024xf32>, %1: tensor<1024x1024xf32>) -> (tensor<128x1024xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<0.0e0> : tensor<128x1024xf32>
    %c2 = stablehlo.constant dense<0.0e0> : tensor<16x128xf32>
    %c3 = stablehlo.constant dense<8> : tensor<i32>
    %c4 = stablehlo.constant dense<1> : tensor<i32>
    %c5 = stablehlo.constant dense<16> : tensor<i32>
    %c6 = stablehlo.constant dense<128> : tensor<i32>
    %c7 = stablehlo.constant dense<0.0e0> : tensor<128x128xf32>
    %c8 = stablehlo.constant dense<256> : tensor<i32>
    %c9 = stablehlo.constant dense<384> : tensor<i32>
    %c10 = stablehlo.constant dense<512> : tensor<i32>
    %c11 = stablehlo.constant dense<640> : tensor<i32>
    %c12 = stablehlo.constant dense<768> : tensor<i32>
    %c13 = stablehlo.constant dense<896> : tensor<i32>
    %2:3 = stablehlo.while(%3 = %c0, %4 = %c1, %5 = %c2) : tensor<i32>, tensor<128x1024xf32>, tensor<16x128xf32> cond {
      %6 = stablehlo.compare LT, %3, %c3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %7:3 = stablehlo.while(%8 = %c0, %9 = %4, %10 = %5) : tensor<i32>, tensor<128x1024xf32>, tensor<16x128xf32> cond {
        %11 = stablehlo.compare LT, %8, %c3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %11 : tensor<i1>
      } do {
        %12 = stablehlo.multiply %3, %c5 : tensor<i32>
        %13 = stablehlo.multiply %8, %c6 : tensor<i32>
        %14 = stablehlo.dynamic_slice %9, %12, %13, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %15 = stablehlo.multiply %3, %c5 : tensor<i32>
        %16 = stablehlo.dynamic_slice %0, %15, %c0, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %17 = stablehlo.multiply %8, %c6 : tensor<i32>
        %18 = stablehlo.dynamic_slice %1, %c0, %17, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %19 = stablehlo.reduce_precision %16, format = e8m7 : tensor<16x128xf32>
        %20 = stablehlo.convert %19 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %21 = stablehlo.subtract %16, %19 : tensor<16x128xf32>
        %22 = stablehlo.is_finite %19 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %23 = stablehlo.select %22, %21, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %24 = stablehlo.reduce_precision %23, format = e8m7 : tensor<16x128xf32>
        %25 = stablehlo.convert %24 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %26 = stablehlo.subtract %23, %24 : tensor<16x128xf32>
        %27 = stablehlo.is_finite %24 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %28 = stablehlo.select %27, %26, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %29 = stablehlo.reduce_precision %28, format = e8m7 : tensor<16x128xf32>
        %30 = stablehlo.convert %29 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %31 = stablehlo.reduce_precision %18, format = e8m7 : tensor<128x128xf32>
        %32 = stablehlo.convert %31 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %33 = stablehlo.subtract %18, %31 : tensor<128x128xf32>
        %34 = stablehlo.is_finite %31 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %35 = stablehlo.select %34, %33, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %36 = stablehlo.reduce_precision %35, format = e8m7 : tensor<128x128xf32>
        %37 = stablehlo.convert %36 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %38 = stablehlo.subtract %35, %36 : tensor<128x128xf32>
        %39 = stablehlo.is_finite %36 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %40 = stablehlo.select %39, %38, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %41 = stablehlo.reduce_precision %40, format = e8m7 : tensor<128x128xf32>
        %42 = stablehlo.convert %41 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %43 = stablehlo.dot_general %20, %42, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %44 = stablehlo.dot_general %25, %37, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %45 = stablehlo.add %43, %44 : tensor<16x128xf32>
        %46 = stablehlo.dot_general %30, %32, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %47 = stablehlo.add %45, %46 : tensor<16x128xf32>
        %48 = stablehlo.dot_general %20, %37, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %49 = stablehlo.add %47, %48 : tensor<16x128xf32>
        %50 = stablehlo.dot_general %25, %32, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %51 = stablehlo.add %49, %50 : tensor<16x128xf32>
        %52 = stablehlo.dot_general %20, %32, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %53 = stablehlo.add %51, %52 : tensor<16x128xf32>
        %54 = stablehlo.add %c2, %53 : tensor<16x128xf32>
        %55 = stablehlo.multiply %3, %c5 : tensor<i32>
        %56 = stablehlo.dynamic_slice %0, %55, %c6, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %57 = stablehlo.multiply %8, %c6 : tensor<i32>
        %58 = stablehlo.dynamic_slice %1, %c6, %57, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %59 = stablehlo.reduce_precision %56, format = e8m7 : tensor<16x128xf32>
        %60 = stablehlo.convert %59 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %61 = stablehlo.subtract %56, %59 : tensor<16x128xf32>
        %62 = stablehlo.is_finite %59 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %63 = stablehlo.select %62, %61, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %64 = stablehlo.reduce_precision %63, format = e8m7 : tensor<16x128xf32>
        %65 = stablehlo.convert %64 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %66 = stablehlo.subtract %63, %64 : tensor<16x128xf32>
        %67 = stablehlo.is_finite %64 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %68 = stablehlo.select %67, %66, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %69 = stablehlo.reduce_precision %68, format = e8m7 : tensor<16x128xf32>
        %70 = stablehlo.convert %69 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %71 = stablehlo.reduce_precision %58, format = e8m7 : tensor<128x128xf32>
        %72 = stablehlo.convert %71 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %73 = stablehlo.subtract %58, %71 : tensor<128x128xf32>
        %74 = stablehlo.is_finite %71 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %75 = stablehlo.select %74, %73, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %76 = stablehlo.reduce_precision %75, format = e8m7 : tensor<128x128xf32>
        %77 = stablehlo.convert %76 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %78 = stablehlo.subtract %75, %76 : tensor<128x128xf32>
        %79 = stablehlo.is_finite %76 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %80 = stablehlo.select %79, %78, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %81 = stablehlo.reduce_precision %80, format = e8m7 : tensor<128x128xf32>
        %82 = stablehlo.convert %81 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %83 = stablehlo.dot_general %60, %82, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %84 = stablehlo.dot_general %65, %77, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %85 = stablehlo.add %83, %84 : tensor<16x128xf32>
        %86 = stablehlo.dot_general %70, %72, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %87 = stablehlo.add %85, %86 : tensor<16x128xf32>
        %88 = stablehlo.dot_general %60, %77, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %89 = stablehlo.add %87, %88 : tensor<16x128xf32>
        %90 = stablehlo.dot_general %65, %72, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %91 = stablehlo.add %89, %90 : tensor<16x128xf32>
        %92 = stablehlo.dot_general %60, %72, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %93 = stablehlo.add %91, %92 : tensor<16x128xf32>
        %94 = stablehlo.add %54, %93 : tensor<16x128xf32>
        %95 = stablehlo.multiply %3, %c5 : tensor<i32>
        %96 = stablehlo.dynamic_slice %0, %95, %c8, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %97 = stablehlo.multiply %8, %c6 : tensor<i32>
        %98 = stablehlo.dynamic_slice %1, %c8, %97, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %99 = stablehlo.reduce_precision %96, format = e8m7 : tensor<16x128xf32>
        %100 = stablehlo.convert %99 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %101 = stablehlo.subtract %96, %99 : tensor<16x128xf32>
        %102 = stablehlo.is_finite %99 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %103 = stablehlo.select %102, %101, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %104 = stablehlo.reduce_precision %103, format = e8m7 : tensor<16x128xf32>
        %105 = stablehlo.convert %104 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %106 = stablehlo.subtract %103, %104 : tensor<16x128xf32>
        %107 = stablehlo.is_finite %104 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %108 = stablehlo.select %107, %106, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %109 = stablehlo.reduce_precision %108, format = e8m7 : tensor<16x128xf32>
        %110 = stablehlo.convert %109 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %111 = stablehlo.reduce_precision %98, format = e8m7 : tensor<128x128xf32>
        %112 = stablehlo.convert %111 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %113 = stablehlo.subtract %98, %111 : tensor<128x128xf32>
        %114 = stablehlo.is_finite %111 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %115 = stablehlo.select %114, %113, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %116 = stablehlo.reduce_precision %115, format = e8m7 : tensor<128x128xf32>
        %117 = stablehlo.convert %116 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %118 = stablehlo.subtract %115, %116 : tensor<128x128xf32>
        %119 = stablehlo.is_finite %116 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %120 = stablehlo.select %119, %118, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %121 = stablehlo.reduce_precision %120, format = e8m7 : tensor<128x128xf32>
        %122 = stablehlo.convert %121 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %123 = stablehlo.dot_general %100, %122, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %124 = stablehlo.dot_general %105, %117, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %125 = stablehlo.add %123, %124 : tensor<16x128xf32>
        %126 = stablehlo.dot_general %110, %112, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %127 = stablehlo.add %125, %126 : tensor<16x128xf32>
        %128 = stablehlo.dot_general %100, %117, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %129 = stablehlo.add %127, %128 : tensor<16x128xf32>
        %130 = stablehlo.dot_general %105, %112, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %131 = stablehlo.add %129, %130 : tensor<16x128xf32>
        %132 = stablehlo.dot_general %100, %112, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %133 = stablehlo.add %131, %132 : tensor<16x128xf32>
        %134 = stablehlo.add %94, %133 : tensor<16x128xf32>
        %135 = stablehlo.multiply %3, %c5 : tensor<i32>
        %136 = stablehlo.dynamic_slice %0, %135, %c9, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %137 = stablehlo.multiply %8, %c6 : tensor<i32>
        %138 = stablehlo.dynamic_slice %1, %c9, %137, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %139 = stablehlo.reduce_precision %136, format = e8m7 : tensor<16x128xf32>
        %140 = stablehlo.convert %139 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %141 = stablehlo.subtract %136, %139 : tensor<16x128xf32>
        %142 = stablehlo.is_finite %139 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %143 = stablehlo.select %142, %141, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %144 = stablehlo.reduce_precision %143, format = e8m7 : tensor<16x128xf32>
        %145 = stablehlo.convert %144 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %146 = stablehlo.subtract %143, %144 : tensor<16x128xf32>
        %147 = stablehlo.is_finite %144 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %148 = stablehlo.select %147, %146, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %149 = stablehlo.reduce_precision %148, format = e8m7 : tensor<16x128xf32>
        %150 = stablehlo.convert %149 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %151 = stablehlo.reduce_precision %138, format = e8m7 : tensor<128x128xf32>
        %152 = stablehlo.convert %151 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %153 = stablehlo.subtract %138, %151 : tensor<128x128xf32>
        %154 = stablehlo.is_finite %151 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %155 = stablehlo.select %154, %153, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %156 = stablehlo.reduce_precision %155, format = e8m7 : tensor<128x128xf32>
        %157 = stablehlo.convert %156 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %158 = stablehlo.subtract %155, %156 : tensor<128x128xf32>
        %159 = stablehlo.is_finite %156 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %160 = stablehlo.select %159, %158, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %161 = stablehlo.reduce_precision %160, format = e8m7 : tensor<128x128xf32>
        %162 = stablehlo.convert %161 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %163 = stablehlo.dot_general %140, %162, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %164 = stablehlo.dot_general %145, %157, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %165 = stablehlo.add %163, %164 : tensor<16x128xf32>
        %166 = stablehlo.dot_general %150, %152, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %167 = stablehlo.add %165, %166 : tensor<16x128xf32>
        %168 = stablehlo.dot_general %140, %157, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %169 = stablehlo.add %167, %168 : tensor<16x128xf32>
        %170 = stablehlo.dot_general %145, %152, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %171 = stablehlo.add %169, %170 : tensor<16x128xf32>
        %172 = stablehlo.dot_general %140, %152, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %173 = stablehlo.add %171, %172 : tensor<16x128xf32>
        %174 = stablehlo.add %134, %173 : tensor<16x128xf32>
        %175 = stablehlo.multiply %3, %c5 : tensor<i32>
        %176 = stablehlo.dynamic_slice %0, %175, %c10, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %177 = stablehlo.multiply %8, %c6 : tensor<i32>
        %178 = stablehlo.dynamic_slice %1, %c10, %177, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %179 = stablehlo.reduce_precision %176, format = e8m7 : tensor<16x128xf32>
        %180 = stablehlo.convert %179 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %181 = stablehlo.subtract %176, %179 : tensor<16x128xf32>
        %182 = stablehlo.is_finite %179 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %183 = stablehlo.select %182, %181, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %184 = stablehlo.reduce_precision %183, format = e8m7 : tensor<16x128xf32>
        %185 = stablehlo.convert %184 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %186 = stablehlo.subtract %183, %184 : tensor<16x128xf32>
        %187 = stablehlo.is_finite %184 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %188 = stablehlo.select %187, %186, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %189 = stablehlo.reduce_precision %188, format = e8m7 : tensor<16x128xf32>
        %190 = stablehlo.convert %189 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %191 = stablehlo.reduce_precision %178, format = e8m7 : tensor<128x128xf32>
        %192 = stablehlo.convert %191 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %193 = stablehlo.subtract %178, %191 : tensor<128x128xf32>
        %194 = stablehlo.is_finite %191 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %195 = stablehlo.select %194, %193, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %196 = stablehlo.reduce_precision %195, format = e8m7 : tensor<128x128xf32>
        %197 = stablehlo.convert %196 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %198 = stablehlo.subtract %195, %196 : tensor<128x128xf32>
        %199 = stablehlo.is_finite %196 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %200 = stablehlo.select %199, %198, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %201 = stablehlo.reduce_precision %200, format = e8m7 : tensor<128x128xf32>
        %202 = stablehlo.convert %201 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %203 = stablehlo.dot_general %180, %202, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %204 = stablehlo.dot_general %185, %197, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %205 = stablehlo.add %203, %204 : tensor<16x128xf32>
        %206 = stablehlo.dot_general %190, %192, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %207 = stablehlo.add %205, %206 : tensor<16x128xf32>
        %208 = stablehlo.dot_general %180, %197, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %209 = stablehlo.add %207, %208 : tensor<16x128xf32>
        %210 = stablehlo.dot_general %185, %192, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %211 = stablehlo.add %209, %210 : tensor<16x128xf32>
        %212 = stablehlo.dot_general %180, %192, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %213 = stablehlo.add %211, %212 : tensor<16x128xf32>
        %214 = stablehlo.add %174, %213 : tensor<16x128xf32>
        %215 = stablehlo.multiply %3, %c5 : tensor<i32>
        %216 = stablehlo.dynamic_slice %0, %215, %c11, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %217 = stablehlo.multiply %8, %c6 : tensor<i32>
        %218 = stablehlo.dynamic_slice %1, %c11, %217, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %219 = stablehlo.reduce_precision %216, format = e8m7 : tensor<16x128xf32>
        %220 = stablehlo.convert %219 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %221 = stablehlo.subtract %216, %219 : tensor<16x128xf32>
        %222 = stablehlo.is_finite %219 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %223 = stablehlo.select %222, %221, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %224 = stablehlo.reduce_precision %223, format = e8m7 : tensor<16x128xf32>
        %225 = stablehlo.convert %224 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %226 = stablehlo.subtract %223, %224 : tensor<16x128xf32>
        %227 = stablehlo.is_finite %224 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %228 = stablehlo.select %227, %226, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %229 = stablehlo.reduce_precision %228, format = e8m7 : tensor<16x128xf32>
        %230 = stablehlo.convert %229 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %231 = stablehlo.reduce_precision %218, format = e8m7 : tensor<128x128xf32>
        %232 = stablehlo.convert %231 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %233 = stablehlo.subtract %218, %231 : tensor<128x128xf32>
        %234 = stablehlo.is_finite %231 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %235 = stablehlo.select %234, %233, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %236 = stablehlo.reduce_precision %235, format = e8m7 : tensor<128x128xf32>
        %237 = stablehlo.convert %236 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %238 = stablehlo.subtract %235, %236 : tensor<128x128xf32>
        %239 = stablehlo.is_finite %236 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %240 = stablehlo.select %239, %238, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %241 = stablehlo.reduce_precision %240, format = e8m7 : tensor<128x128xf32>
        %242 = stablehlo.convert %241 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %243 = stablehlo.dot_general %220, %242, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %244 = stablehlo.dot_general %225, %237, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %245 = stablehlo.add %243, %244 : tensor<16x128xf32>
        %246 = stablehlo.dot_general %230, %232, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %247 = stablehlo.add %245, %246 : tensor<16x128xf32>
        %248 = stablehlo.dot_general %220, %237, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %249 = stablehlo.add %247, %248 : tensor<16x128xf32>
        %250 = stablehlo.dot_general %225, %232, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %251 = stablehlo.add %249, %250 : tensor<16x128xf32>
        %252 = stablehlo.dot_general %220, %232, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %253 = stablehlo.add %251, %252 : tensor<16x128xf32>
        %254 = stablehlo.add %214, %253 : tensor<16x128xf32>
        %255 = stablehlo.multiply %3, %c5 : tensor<i32>
        %256 = stablehlo.dynamic_slice %0, %255, %c12, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %257 = stablehlo.multiply %8, %c6 : tensor<i32>
        %258 = stablehlo.dynamic_slice %1, %c12, %257, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %259 = stablehlo.reduce_precision %256, format = e8m7 : tensor<16x128xf32>
        %260 = stablehlo.convert %259 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %261 = stablehlo.subtract %256, %259 : tensor<16x128xf32>
        %262 = stablehlo.is_finite %259 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %263 = stablehlo.select %262, %261, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %264 = stablehlo.reduce_precision %263, format = e8m7 : tensor<16x128xf32>
        %265 = stablehlo.convert %264 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %266 = stablehlo.subtract %263, %264 : tensor<16x128xf32>
        %267 = stablehlo.is_finite %264 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %268 = stablehlo.select %267, %266, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %269 = stablehlo.reduce_precision %268, format = e8m7 : tensor<16x128xf32>
        %270 = stablehlo.convert %269 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %271 = stablehlo.reduce_precision %258, format = e8m7 : tensor<128x128xf32>
        %272 = stablehlo.convert %271 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %273 = stablehlo.subtract %258, %271 : tensor<128x128xf32>
        %274 = stablehlo.is_finite %271 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %275 = stablehlo.select %274, %273, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %276 = stablehlo.reduce_precision %275, format = e8m7 : tensor<128x128xf32>
        %277 = stablehlo.convert %276 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %278 = stablehlo.subtract %275, %276 : tensor<128x128xf32>
        %279 = stablehlo.is_finite %276 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %280 = stablehlo.select %279, %278, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %281 = stablehlo.reduce_precision %280, format = e8m7 : tensor<128x128xf32>
        %282 = stablehlo.convert %281 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %283 = stablehlo.dot_general %260, %282, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %284 = stablehlo.dot_general %265, %277, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %285 = stablehlo.add %283, %284 : tensor<16x128xf32>
        %286 = stablehlo.dot_general %270, %272, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %287 = stablehlo.add %285, %286 : tensor<16x128xf32>
        %288 = stablehlo.dot_general %260, %277, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %289 = stablehlo.add %287, %288 : tensor<16x128xf32>
        %290 = stablehlo.dot_general %265, %272, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %291 = stablehlo.add %289, %290 : tensor<16x128xf32>
        %292 = stablehlo.dot_general %260, %272, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %293 = stablehlo.add %291, %292 : tensor<16x128xf32>
        %294 = stablehlo.add %254, %293 : tensor<16x128xf32>
        %295 = stablehlo.multiply %3, %c5 : tensor<i32>
        %296 = stablehlo.dynamic_slice %0, %295, %c13, sizes = [16, 128] : (tensor<128x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<16x128xf32>
        %297 = stablehlo.multiply %8, %c6 : tensor<i32>
        %298 = stablehlo.dynamic_slice %1, %c13, %297, sizes = [128, 128] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<128x128xf32>
        %299 = stablehlo.reduce_precision %296, format = e8m7 : tensor<16x128xf32>
        %300 = stablehlo.convert %299 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %301 = stablehlo.subtract %296, %299 : tensor<16x128xf32>
        %302 = stablehlo.is_finite %299 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %303 = stablehlo.select %302, %301, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %304 = stablehlo.reduce_precision %303, format = e8m7 : tensor<16x128xf32>
        %305 = stablehlo.convert %304 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %306 = stablehlo.subtract %303, %304 : tensor<16x128xf32>
        %307 = stablehlo.is_finite %304 : (tensor<16x128xf32>) -> tensor<16x128xi1>
        %308 = stablehlo.select %307, %306, %c2 : tensor<16x128xi1>, tensor<16x128xf32>
        %309 = stablehlo.reduce_precision %308, format = e8m7 : tensor<16x128xf32>
        %310 = stablehlo.convert %309 : (tensor<16x128xf32>) -> tensor<16x128xbf16>
        %311 = stablehlo.reduce_precision %298, format = e8m7 : tensor<128x128xf32>
        %312 = stablehlo.convert %311 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %313 = stablehlo.subtract %298, %311 : tensor<128x128xf32>
        %314 = stablehlo.is_finite %311 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %315 = stablehlo.select %314, %313, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %316 = stablehlo.reduce_precision %315, format = e8m7 : tensor<128x128xf32>
        %317 = stablehlo.convert %316 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %318 = stablehlo.subtract %315, %316 : tensor<128x128xf32>
        %319 = stablehlo.is_finite %316 : (tensor<128x128xf32>) -> tensor<128x128xi1>
        %320 = stablehlo.select %319, %318, %c7 : tensor<128x128xi1>, tensor<128x128xf32>
        %321 = stablehlo.reduce_precision %320, format = e8m7 : tensor<128x128xf32>
        %322 = stablehlo.convert %321 : (tensor<128x128xf32>) -> tensor<128x128xbf16>
        %323 = stablehlo.dot_general %300, %322, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %324 = stablehlo.dot_general %305, %317, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %325 = stablehlo.add %323, %324 : tensor<16x128xf32>
        %326 = stablehlo.dot_general %310, %312, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %327 = stablehlo.add %325, %326 : tensor<16x128xf32>
        %328 = stablehlo.dot_general %300, %317, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %329 = stablehlo.add %327, %328 : tensor<16x128xf32>
        %330 = stablehlo.dot_general %305, %312, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %331 = stablehlo.add %329, %330 : tensor<16x128xf32>
        %332 = stablehlo.dot_general %300, %312, contracting_dims = [1] x [0] : (tensor<16x128xbf16>, tensor<128x128xbf16>) -> tensor<16x128xf32>
        %333 = stablehlo.add %331, %332 : tensor<16x128xf32>
        %334 = stablehlo.add %294, %333 : tensor<16x128xf32>
        %335 = stablehlo.dynamic_update_slice %9, %334, %12, %13 : (tensor<128x1024xf32>, tensor<16x128xf32>, tensor<i32>, tensor<i32>) -> tensor<128x1024xf32>
        %336 = stablehlo.add %8, %c4 : tensor<i32>
        stablehlo.return %336, %335, %334 : tensor<i32>, tensor<128x1024xf32>, tensor<16x128xf32>
      }
      %337 = stablehlo.add %3, %c4 : tensor<i32>
      stablehlo.return %337, %7#1, %7#2 : tensor<i32>, tensor<128x1024xf32>, tensor<16x128xf32>
    }
    return %2#1 : tensor<128x1024xf32>
  }
}
