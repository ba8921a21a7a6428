#include "execute/libraries.h"

#include "execute/products/onednn.h"

#include <string>
#include <utility>

#include <Eigen/Core>
#include <dnnl.hpp>

namespace tare {
namespace {

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// The last one that the library may use; newer ones are named by what is known here.
std::string instructions() {
  using dnnl::cpu_isa;
  constexpr std::pair<cpu_isa, const char*> kNames[] = {
      {cpu_isa::sse41, "SSE4.1"},
      {cpu_isa::avx, "AVX"},
      {cpu_isa::avx2, "AVX2"},
      {cpu_isa::avx2_vnni, "AVX2 with VNNI"},
      {cpu_isa::avx512_core, "AVX-512"},
      {cpu_isa::avx512_core_vnni, "AVX-512 with VNNI"},
      {cpu_isa::avx512_core_bf16, "AVX-512 with VNNI and bf16"},
      {cpu_isa::avx512_core_amx, "AVX-512 with VNNI, bf16 and AMX"}};
  std::string name;
  for (const auto& [isa, its_name] : kNames) {
    if (onednn::may_use(isa)) {
      name = its_name;
    }
  }
  return name;
}

}  // namespace

std::vector<Library> execute_libraries() {
  const dnnl_version_t& onednn = *dnnl::version();
  return {{"Eigen", dotted(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
          {"oneDNN", dotted(onednn.major, onednn.minor, onednn.patch), instructions()}};
}

}  // namespace tare
