// Boxes of a detector from encodings, scores and anchors.
#include "graph/operators/detection_post_process.h"

#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

namespace tare {
namespace {

std::unique_ptr<Kernel> make_detection_post_process(const KernelRequest& request) {
  const Operand& boxes = required(request, 0);
  const Operand& scores = required(request, 1);
  const Operand& anchors = required(request, 2);
  if (!all_f32(request)) {
    return nullptr;
  }
  const DetectionOptions options = detection_options(request.attributes());
  const std::vector<TensorType> types =
      detection_types(options, boxes.shape(), scores.shape(), anchors.shape());
  if (request.outputs.size() != types.size()) {
    throw Error(ErrorCode::kInvalidModel, "", "it has four results");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    expect_shape(request.outputs[i], types[i].shape);
  }
  return make_kernel([=, coordinates = static_cast<std::size_t>(boxes.shape()[2]),
                      columns = static_cast<std::size_t>(scores.shape()[2]),
                      encodings = count_of(boxes), all_scores = count_of(scores),
                      corners = count_of(anchors)](const Buffers& buffers) {
    const auto rows = static_cast<std::size_t>(options.rows());
    detect(options, {input<float>(buffers, 0), encodings}, coordinates,
           {input<float>(buffers, 1), all_scores}, columns, {input<float>(buffers, 2), corners},
           {.boxes = {output<float>(buffers, 0), rows * 4},
            .classes = {output<float>(buffers, 1), rows},
            .scores = {output<float>(buffers, 2), rows},
            .count = {output<float>(buffers, 3), 1}});
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(detection_post_process) {
  return {.ops = {std::string(tare::kDetectionPostProcess)},
          .make = tare::make_detection_post_process};
}
