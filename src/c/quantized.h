#pragma once

#include "tare/quantize.h"

#include "c/handles.h"

#include <filesystem>
#include <memory>
#include <string>

struct tare_quantized {
  std::shared_ptr<const tare::c::ReadConfig> settings;
  tare::QuantizeResult result;
  std::filesystem::path model{};  ///< that nothing may be written over
  std::string name{};
};
