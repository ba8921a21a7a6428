// What libFuzzer calls. `fuzz_<target> --seeds=FOLDER` writes the files to begin with.
#include "fuzz/target.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

/// Readers of HDF5 try a file in a copy of this process, where faults of the library are
/// expected and those of ours must not be taken for them. Shared with the copies.
volatile bool* fault_in_copy = nullptr;

void die_in_copy() {
  // Without instructions of instrumented code it is a free() by the library.
  if (__asan_report_present() == 0 || __asan_get_report_pc() != nullptr) {
    *fault_in_copy = true;
  }
  _exit(1);
}

void begin_copy() {
  __sanitizer_set_death_callback(die_in_copy);
  __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<std::intptr_t>(dup(2))));
}

void watch_copies() {
  void* shared =
      mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || pthread_atfork(nullptr, nullptr, begin_copy) != 0) {
    std::abort();
  }
  fault_in_copy = static_cast<volatile bool*>(shared);
}

const tare::fuzz::FuzzTarget& target() {
  static const tare::fuzz::FuzzTarget chosen = tare::fuzz::TARE_FUZZ_TARGET();
  return chosen;
}

void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const tare::fuzz::File& seed : target().seeds()) {
    std::ofstream(folder / ("seed" + std::to_string(number++)), std::ios::binary)
        .write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::string_view flag = "--seeds=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (argument.substr(0, flag.size()) == flag) {
      write_seeds(argument.substr(flag.size()));
      std::exit(0);
    }
  }
  watch_copies();
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t, std::size_t);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed) {
  if (target().change != nullptr && seed % 4 != 0) {
    const tare::fuzz::File changed =
        target().change({reinterpret_cast<const std::byte*>(data), size}, seed / 4);
    if (changed.size() <= room) {
      std::memcpy(data, changed.data(), changed.size());
      return changed.size();
    }
  }
  return LLVMFuzzerMutate(data, size, room);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    tare::fuzz::is_taken(target(), {reinterpret_cast<const std::byte*>(data), size});
    tare::fuzz::require(!*fault_in_copy, "a fault of ours in a copy of the process");
  } catch (const tare::fuzz::Finding& finding) {
    std::fprintf(stderr, "finding: %s\n", finding.what());
    std::abort();
  }
  return 0;
}
