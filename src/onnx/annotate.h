#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace tare {

/// What is to be said of a node: of that name, or else the one that computes that result, under
/// this name or that of its storage values.
struct NodeTexts {
  std::string node;
  std::string result;
  std::map<std::string, std::string> texts;  ///< by key
};

/// Writes a copy of an ONNX model that has these texts as metadata_props of its nodes, which
/// viewers show and engines ignore. Texts that nodes have under these keys go. Constants stay
/// in the files that they are in. Throws as read_onnx() for what is no ONNX model, and
/// Error(kIo) where the copy would not find those files.
void annotate_onnx(const std::filesystem::path& model, const std::filesystem::path& copy,
                   std::span<const NodeTexts>);

}  // namespace tare
