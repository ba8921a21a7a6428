#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tare {

/// Objects keep the order in which their members were added.
using Json = nlohmann::ordered_json;

/// A report that was written before. Throws Error(kInvalidData) when the text is none, or not
/// of this version; `where` is the file.
Json parse_report(const std::string& text, const std::string& where);

/// As text of a file. Names from models need not be valid UTF-8.
std::string to_text(const Json&);

}  // namespace tare
