#pragma once

#include "tare/graph.h"
#include "tare/pattern.h"

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace tare {

/// What a Loop or Scan repeats. Values of the body are named by its own handles, those around
/// it by handles of its graph.
struct LoopBody {
  /// What an iteration computes from what the one before it left.
  struct State {
    ValueId before;   ///< in the body
    ValueId after;    ///< in the body
    ValueId initial;  ///< around it
    ValueId result;   ///< around it, of the last iteration
  };
  /// A value of the body that is, in iteration i, element i of what lies along an axis. Of a
  /// Loop it is so where `index` in the body is i.
  struct Element {
    ValueId value;     ///< in the body
    ValueId sequence;  ///< around it
    std::size_t axis = 0;
    ValueId index;  ///< in the body; absent in a Scan
  };
  /// A value of the body that iterations add along an axis.
  struct Collected {
    ValueId value;   ///< in the body
    ValueId result;  ///< around it
    std::size_t axis = 0;
  };

  Graph body;  ///< with what is constant around it as constants, and operators in one spelling
  std::vector<State> states;
  std::vector<Element> elements;
  std::vector<Collected> collected;
};

/// Of a Loop or Scan; refuses what runs backwards.
std::variant<LoopBody, Refusal> loop_body(const Graph&, const Node&);

/// How often the node runs its body, where that depends on nothing but constants, and in each
/// iteration the index of that element is the iteration's number.
std::variant<std::int64_t, Refusal> count_iterations(const Graph&, const Node&, const LoopBody&,
                                                     const LoopBody::Element&);

}  // namespace tare
