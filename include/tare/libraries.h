#pragma once

#include <string>
#include <vector>

namespace tare {

/// A library of somebody else that the toolkit computes, reads or writes with.
struct Library {
  std::string name;     ///< "oneDNN"
  std::string version;  ///< of the loaded one if it tells, otherwise of the one compiled with
  std::string features{};  ///< what it uses of this processor, "AVX2"; empty: it does not say
};

/// All of them, sorted by name without regard to case.
std::vector<Library> libraries();

}  // namespace tare
