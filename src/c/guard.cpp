// The border between C and C++: what is thrown becomes a value, and who may not enter is told.
#include "c/guard.h"

#include "tare/process.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include <unistd.h>

struct tare_error {
  int32_t code;
  std::string message;
};

namespace tare::c {
namespace {

/// What is said where there is no memory to say anything.
tare_error& no_memory() {
  static tare_error error{TARE_OUT_OF_MEMORY, "not enough memory"};
  return error;
}

tare_error* made(int32_t code, const std::string& message) noexcept {
  try {
    return new tare_error{code, message};
  } catch (...) {
    return &no_memory();
  }
}

tare_error* lacks_memory() {
  return made(TARE_OUT_OF_MEMORY,
              "not enough memory: this process may have " +
                  memory_text(static_cast<double>(available_memory())) +
                  "\n  hint: fewer threads need less, as do smaller inputs");
}

int32_t code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidModel:
      return TARE_INVALID_MODEL;
    case ErrorCode::kUnsupported:
      return TARE_UNSUPPORTED;
    case ErrorCode::kInvalidConfig:
      return TARE_INVALID_CONFIG;
    case ErrorCode::kInvalidData:
      return TARE_INVALID_DATA;
    case ErrorCode::kIo:
      return TARE_IO;
    case ErrorCode::kInternal:
      break;
  }
  return TARE_INTERNAL;
}

void require_processor() {
#ifdef TARE_NEEDS_AVX2
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    throw Error(ErrorCode::kUnsupported, "this processor", "has no AVX2 and FMA instructions")
        .expected("x86-64-v3, for which this library was compiled")
        .hint("compile it with -DTARE_MARCH=x86-64");
  }
#endif
}

/// The threads of the libraries below do not survive a fork, and a child would wait for them.
void require_no_fork() {
  static std::atomic<pid_t> user = 0;
  pid_t first = 0;
  if (!user.compare_exchange_strong(first, getpid()) && first != getpid()) {
    throw Error(ErrorCode::kUnsupported, "this process",
                "is a fork of one that has used the library, whose threads it does not have")
        .hint(
            "start processes anew instead, in Python by the start method 'spawn', or fork "
            "before the first call");
  }
}

}  // namespace

tare_error* guarded(const std::function<void()>& call) noexcept {
  try {
    require_processor();
    require_no_fork();
    call();
    return nullptr;
  } catch (const Cancelled&) {
    return made(TARE_CANCELLED, "cancelled");
  } catch (const CallbackFailed& failed) {
    return made(TARE_CALLBACK, std::string("callback '") + failed.callback + "' failed");
  } catch (const Error& error) {
    return made(code_of(error.code()), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return made(TARE_IO, printable(error.path1().string() + ": " + error.code().message()));
  } catch (const std::system_error& error) {
    return made(TARE_IO, printable(error.what()));
  } catch (const std::bad_alloc&) {
    return lacks_memory();
  } catch (const std::length_error&) {  // of a vector with more elements than there are bytes
    return lacks_memory();
  } catch (const std::exception& error) {
    return made(TARE_INTERNAL, printable(error.what()));
  } catch (...) {
    return made(TARE_INTERNAL, "unknown exception");
  }
}

tare_error* guarded(const std::string& activity, const std::function<void()>& call) noexcept {
  return guarded([&] {
    try {
      call();
    } catch (Error& error) {
      error.during(activity);
      throw;
    }
  });
}

void require(const void* argument, const char* name) {
  if (argument == nullptr) {
    throw Error(ErrorCode::kInvalidConfig, std::string("argument '") + name + "'", "is NULL");
  }
}

char* text_for_caller(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

Work::Work(const tare_job* job) {
  if (job == nullptr) {
    job_.size = sizeof(job_);
    return;
  }
  if (job->size < sizeof(job->size)) {
    throw Error(ErrorCode::kInvalidConfig, "argument 'job'",
                "has the size " + std::to_string(job->size))
        .expected("'size' set to sizeof(tare_job)");
  }
  std::memcpy(&job_, job, std::min(job->size, sizeof(job_)));
}

std::function<void(std::size_t, std::size_t)> Work::progress(const char* activity) const {
  if (job_.progress == nullptr) {
    return {};
  }
  return [job = job_, activity](std::size_t done, std::size_t total) {
    if (job.progress(job.context, activity, done, total) != 0) {
      throw Cancelled{};
    }
  };
}

void Work::warn(const std::vector<Warning>& warnings) const {
  if (job_.warning == nullptr) {
    return;
  }
  for (const Warning& warning : warnings) {
    job_.warning(job_.context, warning.kind.c_str(), printable(warning.where).c_str(),
                 printable(warning.what).c_str());
  }
}

extern "C" {

int32_t tare_error_code(const tare_error* error) {
  return error->code;
}

const char* tare_error_message(const tare_error* error) {
  return error->message.c_str();
}

void tare_error_free(tare_error* error) {
  if (error != &no_memory()) {
    delete error;
  }
}

void tare_free(char* text) {
  std::free(text);
}

}  // extern "C"

}  // namespace tare::c
