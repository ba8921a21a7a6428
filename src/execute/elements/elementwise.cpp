#include "execute/elements/elementwise.h"

#include <algorithm>

namespace tare {

KernelInfo elementwise(std::vector<NamedMaker> table) {
  KernelInfo info;
  for (const NamedMaker& entry : table) {
    info.ops.push_back(entry.op);
  }
  info.layout = follow;
  info.make = [table = std::move(table)](const KernelRequest& request) {
    const auto entry = std::find_if(table.begin(), table.end(), [&](const NamedMaker& each) {
      return each.op == request.node->op;
    });
    return make_wide(request, entry->make);
  };
  info.in_place = true;
  return info;
}

}  // namespace tare
