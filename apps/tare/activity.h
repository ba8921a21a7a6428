#pragma once

#include "tare/error.h"

#include <string>
#include <utility>

namespace tare::cli {

/// Runs `call`; an Error from it says that it happened while `activity`.
template <class Call>
auto during(const std::string& activity, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (Error& error) {
    error.during(activity);
    throw;
  }
}

}  // namespace tare::cli
