// Tells kinds of processors apart by the instructions that decide how fast engines compute on
// floats and on integers.
#include "tare/config.h"

#include <algorithm>
#include <cstdlib>

namespace tare {
namespace {

std::string detected_processor() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) {
    if (__builtin_cpu_supports("avx512vnni") == 0) {
      return "avx512";
    }
    return __builtin_cpu_is("intel") != 0 ? "avx512_vnni_intel" : "avx512_vnni";
  }
  return __builtin_cpu_supports("avx2") != 0 ? "avx2" : "any";
#elif defined(__aarch64__)
  return "neon";
#else
  return "any";
#endif
}

}  // namespace

std::vector<std::string> processor_names() {
  return {"avx512_vnni_intel", "avx512_vnni", "avx512", "avx2", "neon"};
}

std::string this_processor() {
  const char* named = std::getenv("TARE_PROCESSOR");  // NOLINT(concurrency-mt-unsafe)
  const std::string name = named != nullptr ? named : detected_processor();
  const std::vector<std::string> names = processor_names();
  return std::find(names.begin(), names.end(), name) == names.end() ? "any" : name;
}

std::string processor_of(const Config& config) {
  return config.processor.empty() ? this_processor() : config.processor;
}

}  // namespace tare
