#pragma once

#include <filesystem>
#include <string>

namespace tare::test {

std::string bytes_of(const std::filesystem::path&);
void write_bytes(const std::filesystem::path&, const std::string& bytes);

}  // namespace tare::test
