#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tare::cli {

/// Suffix of the checkpoint beside an output.
inline constexpr const char* kCheckpoint = ".checkpoint";

/// What is written to a file; its name may not say that it is something else.
enum class Content { kModel, kArrays, kTable, kReport };

/// All files that a command reads and writes, so that it loses none: no output may be an input
/// or another output, by whatever name, nor may what is kept beside an output, such as a
/// checkpoint. Empty paths are left out.
class CommandFiles {
 public:
  void reads(const std::filesystem::path&);
  void reads(const std::vector<std::string>&);
  /// And the files beside it that hold its constants.
  void reads_model(const std::filesystem::path&);

  /// And, of a model, the file for its constants.
  void writes(const std::filesystem::path&, Content);
  /// What is kept under `output` + `suffix` meanwhile.
  void keeps_beside(const std::filesystem::path& output, const std::string& suffix);

  /// Throws Error with all that is wrong, also where an output cannot be written. To be called
  /// before long work starts.
  void check() const;

 private:
  struct Output {
    std::filesystem::path path;
    std::filesystem::path beside{};  ///< the output that it is kept beside, or empty
    Content content{};
  };

  std::vector<std::filesystem::path> inputs_;
  std::vector<Output> outputs_;
};

}  // namespace tare::cli
