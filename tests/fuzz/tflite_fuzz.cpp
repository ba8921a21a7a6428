// libFuzzer: the importer gives a graph or an error, whatever the bytes.
#include "tare/error.h"

#include "tflite/import.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  try {
    (void)tare::tflite::import_model(tare::tflite::ModelFile({bytes, bytes + size}));
  } catch (const tare::Error& error) {
    if (error.code() == tare::ErrorCode::kInternal) {
      std::abort();
    }
  }
  return 0;
}
