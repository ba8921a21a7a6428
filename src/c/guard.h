#pragma once

#include "tare/c.h"
#include "tare/error.h"
#include "tare/quant_table.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tare::c {

/// Thrown where a callback asked to end the work, or failed. Neither is an Error, so that no
/// stage takes it for something about the model.
struct Cancelled {};
struct CallbackFailed {
  const char* callback;
};

/// Runs `call` and returns what it throws as a value; null where it throws nothing. Refuses to
/// run on a processor without what the library was compiled for, and in a child of a process
/// that has used it.
tare_error* guarded(const std::function<void()>& call) noexcept;

/// The same; an Error says that it happened while `activity`.
tare_error* guarded(const std::string& activity, const std::function<void()>& call) noexcept;

/// Throws Error(kInvalidConfig) for null.
void require(const void* argument, const char* name);

/// A copy for the caller, who frees it with tare_free().
char* text_for_caller(const std::string& text);

/// The job of a call; a null one asks for nothing.
class Work {
 public:
  explicit Work(const tare_job* job);

  int threads() const { return job_.threads; }
  std::size_t samples() const { return job_.samples; }
  /// For the passes that are this activity. Throws Cancelled where the caller asks for it.
  std::function<void(std::size_t done, std::size_t total)> progress(const char* activity) const;
  void warn(const std::vector<Warning>& warnings) const;

 private:
  tare_job job_{};
};

}  // namespace tare::c
