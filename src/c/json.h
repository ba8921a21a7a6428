#pragma once

#include "tare/integer_graph.h"
#include "tare/quant_table.h"

#include "c/handles.h"

#include <string>

#include <nlohmann/json.hpp>

namespace tare {
struct SearchOptions;
struct SearchResult;
}  // namespace tare

namespace tare::c {

using Json = nlohmann::ordered_json;

// What calls return as JSON, with the fields that `--json` of the program has.

Json warnings_json(const std::vector<Warning>&);
Json verdicts_json(const std::vector<Verdict>&);
Json summary_json(const ReadConfig&, const QuantizeResult&);
Json table_json(const QuantTable&);
Json search_json(const SearchResult&, const SearchOptions&);

/// Bytes that are no UTF-8 are replaced: names in files come from anyone.
std::string to_text(const Json&);

}  // namespace tare::c
