#pragma once

#include "tare/error.h"

#include <exception>
#include <string>

namespace tare {

/// What a library threw at the node `where`: too little memory, which users can do something
/// about, or a bug.
Error failure(const std::string& where, const std::exception&);

}  // namespace tare
