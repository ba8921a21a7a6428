#include "execute/failure.h"

#include <new>
#include <stdexcept>

#include <dnnl.hpp>

namespace tare {

Error failure(const std::string& where, const std::exception& error) {
  const auto* of_onednn = dynamic_cast<const dnnl::error*>(&error);
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                         dynamic_cast<const std::length_error*>(&error) != nullptr ||
                         (of_onednn != nullptr && of_onednn->status == dnnl_out_of_memory);
  return is_memory ? Error(ErrorCode::kUnsupported, where, "there is not enough memory for it")
                   : Error(ErrorCode::kInternal, where, error.what());
}

}  // namespace tare
