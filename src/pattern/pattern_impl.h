#pragma once

#include "tare/pattern.h"

namespace tare {

/// One part of a pattern: what a value has to be. Parts are shared and never change.
struct Pattern::Impl {
  enum class Kind : std::uint8_t { kNode, kAny, kConstant, kChoice };
  template <class Predicate>
  struct Condition {
    Predicate holds;
    std::string text;
  };
  struct WantedAttribute {
    std::string name;
    Attribute value;
    bool is_default = false;
  };

  Kind kind = Kind::kAny;
  bool may_be_absent = false;
  bool single_use = false;
  std::string capture;
  std::vector<Condition<ValuePredicate>> value_conditions;

  // kNode
  std::vector<std::string> ops;  // empty: any
  std::optional<std::vector<Pattern>> operands;
  bool any_order = false;
  bool more_operands = false;
  bool is_context = false;
  std::vector<WantedAttribute> attributes;
  std::vector<Condition<NodePredicate>> node_conditions;

  // kChoice, in order
  std::vector<Pattern> choices;

  static const Impl& of(const Pattern& pattern) { return *pattern.impl_; }
};

}  // namespace tare
