#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tare::test {

using Row = std::vector<std::string>;

/// A Markdown table.
std::string table(const Row& head, const std::vector<Row>& rows);

/// The beginning of a page of docs/reference that `writer`, a file of the tests, writes.
std::string reference_page(std::string_view writer, const std::string& title,
                           const std::string& introduction);

/// Expects docs/reference/NAME.md to be this text. With TARE_WRITE_GENERATED in the environment
/// it is written instead.
void expect_reference_page(const std::string& name, const std::string& text);

}  // namespace tare::test
