#include "help/help_json.h"

#include "tare/config.h"
#include "tare/toolkit.h"

#include "help/help.h"
#include "text.h"

namespace tare::cli {
namespace {

/// What the value of an option is; empty of a switch.
const char* kind_of(const Flag& flag) {
  return flag.value.empty() ? "switch"
         : flag.is_count    ? "count"
         : flag.is_bytes    ? "bytes"
         : flag.is_duration ? "duration"
         : flag.is_share    ? "share"
                            : "text";
}

Json option_json(const Flag& flag) {
  return {{"name", flag.name},
          {"letter", flag.letter == 0 ? Json() : Json(std::string{flag.letter})},
          {"kind", kind_of(flag)},
          {"value", flag.value},
          {"summary", flag.summary},
          {"default", flag.fallback.empty() ? Json() : Json(flag.fallback)},
          {"choices", flag.choices},
          {"or_file", flag.or_file},
          {"required", flag.required},
          {"repeated", flag.repeated}};
}

Json verb_json(const NamedVerb& named) {
  const Syntax syntax = named.syntax();
  Json json{{"name", named.name},       {"summary", named.verb.summary},
            {"usage", usage(syntax)},   {"arguments", Json::array()},
            {"options", Json::array()}, {"examples", named.verb.examples}};
  for (const Argument& argument : syntax.arguments) {
    json["arguments"].push_back({{"name", argument.name},
                                 {"summary", argument.summary},
                                 {"choices", argument.choices},
                                 {"required", !argument.optional},
                                 {"repeated", argument.repeated}});
  }
  for (const Flag& flag : syntax.flags) {
    json["options"].push_back(option_json(flag));
  }
  return json;
}

}  // namespace

std::string help_json(const std::vector<NamedVerb>& verbs) {
  Json json{{"program", "tare"},
            {"version", TARE_VERSION},
            {"summary", kPurpose},
            {"exit_status",
             {{"0", "done"},
              {"1", "a stated requirement is not met"},
              {"2", "an error that the user can fix"},
              {"70", "a bug"}}},
            {"verbs", Json::array()},
            {"configuration", Json::array()}};
  for (const NamedVerb& named : verbs) {
    json["verbs"].push_back(verb_json(named));
  }
  for (const ConfigKey& key : config_keys(Toolkit::builtin().calibrator_names())) {
    json["configuration"].push_back({{"path", key.path},
                                     {"values", key.values},
                                     {"summary", key.summary},
                                     {"value", key.value}});
  }
  return to_text(json);
}

}  // namespace tare::cli
