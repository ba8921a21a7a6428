#include "execute/products/gemm.h"

#include "execute/products/onednn.h"

#include <algorithm>

namespace tare {
namespace {

template <class T>
char letter(const GemmFactor<T>& factor) {
  return factor.transposed ? 'T' : 'N';
}

}  // namespace

void gemm(float alpha, const GemmFactor<float>& a, const GemmFactor<float>& b, float beta,
          float* c, std::int64_t stride, const MatrixExtents& extents) {
  if (extents.depth == 0) {  // of which oneDNN says nothing
    for (std::int64_t row = 0; row < extents.rows; ++row) {
      std::transform(c + row * stride, c + row * stride + extents.columns, c + row * stride,
                     [&](float sum) { return beta == 0 ? 0 : beta * sum; });
    }
    return;
  }
  dnnl::error::wrap_c_api(
      dnnl_sgemm(letter(a), letter(b), extents.rows, extents.columns, extents.depth, alpha,
                 a.data, a.stride, b.data, b.stride, beta, c, stride),
      "cannot multiply");
}

bool has_exact_byte_products() {
  // Without VNNI, and by its kernels for AVX2, pairs of products saturate at 16 bits.
  static const bool has = onednn::may_use(dnnl::cpu_isa::avx512_core_vnni);
  return has;
}

void gemm(const GemmFactor<std::uint8_t>& a, const GemmFactor<std::int8_t>& b, std::int32_t* c,
          std::int64_t stride, const MatrixExtents& extents) {
  const std::int32_t offset = 0;
  dnnl::error::wrap_c_api(
      dnnl_gemm_u8s8s32(letter(a), letter(b), 'F', extents.rows, extents.columns, extents.depth,
                        1, a.data, a.stride, 0, b.data, b.stride, 0, 0, c, stride, &offset),
      "cannot multiply");
}

}  // namespace tare
