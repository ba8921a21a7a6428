// Gives the buffers of a program their places in memory. A buffer lives from the step that
// writes it to the last one that reads it. A step that works in place takes over the bytes of
// its operand where nobody reads that any more, and the two count as one buffer with one longer
// life.
#include "execute/compile/memory_plan.h"
#include "execute/compile/program.h"

#include <algorithm>
#include <limits>

namespace tare {
namespace {

void set_lifetimes(Program& program) {
  std::vector<Buffer>& buffers = program.buffers;
  const auto use = [&](const Place& place, std::size_t step) {
    if (place.kind == Place::Kind::kBuffer) {
      buffers[place.index].last = step;
    }
  };
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const auto define = [&](const Place& place) {
      if (place.kind == Place::Kind::kBuffer) {
        buffers[place.index].first = i;
        buffers[place.index].last = i;
      }
    };
    std::for_each(step.outputs.begin(), step.outputs.end(), define);
    define(step.scratch);
    for (const Place& input : step.inputs) {
      use(input, i);
    }
  }
  for (const auto& output : program.outputs) {
    use(output.place, program.steps.size());  // copied out at the end
  }
}

/// For each buffer the buffer whose bytes it takes over; itself for most.
std::vector<std::size_t> take_over(const Program& program) {
  std::vector<std::size_t> owner(program.buffers.size());
  for (std::size_t i = 0; i < owner.size(); ++i) {
    owner[i] = i;
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (!step.in_place || step.inputs[0].kind != Place::Kind::kBuffer) {
      continue;
    }
    const std::size_t operand = step.inputs[0].index;
    const bool read_once =
        std::count(step.inputs.begin(), step.inputs.end(), step.inputs[0]) == 1;
    if (read_once && program.buffers[operand].last == i) {
      owner[step.outputs[0].index] = owner[operand];
    }
  }
  return owner;
}

}  // namespace

double bytes_of_run(const Program& program) {
  auto bytes = static_cast<double>(program.workspace_bytes);
  for (const auto* ends : {&program.inputs, &program.outputs}) {
    for (const Program::Interface& end : *ends) {
      bytes += static_cast<double>(element_count(end.type.shape)) *
               static_cast<double>(size_of(end.type.dtype));
    }
  }
  return bytes;
}

void assign_memory(Program& program) {
  set_lifetimes(program);
  const std::vector<std::size_t> owner = take_over(program);
  std::vector<Buffer>& buffers = program.buffers;

  std::vector<std::size_t> request_of(buffers.size());
  std::vector<Lifetime> requests;
  for (std::size_t i = 0; i < buffers.size(); ++i) {  // an owner comes before its successors
    const Buffer& buffer = buffers[i];
    if (owner[i] == i) {
      request_of[i] = requests.size();
      requests.push_back({buffer.bytes, buffer.first, buffer.last});
    } else {
      request_of[i] = request_of[owner[i]];
      requests[request_of[i]].last = buffer.last;
    }
  }
  const MemoryPlan plan = plan_memory(requests);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].offset = plan.offsets[request_of[i]];
  }
  program.workspace_bytes = plan.bytes;
}

}  // namespace tare
