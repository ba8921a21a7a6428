// The body computes what graph/operators/detection_post_process.cpp does, but for decoding in
// float. Scores at the threshold count, those of NonMaxSuppression have to be above it, so
// lower ones become -infinity and every finite one is above. How many boxes are found is known
// when it runs only; Pad fills the results up.
#include "onnx/export/detection_function.h"

#include "graph/operators/detection_post_process.h"
#include "onnx/domains.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

namespace tare {
namespace {

constexpr std::string_view kByClass = "DetectionPostProcessByClass";

/// Adds nodes whose results have the names t0, t1, ...
class Body {
 public:
  explicit Body(onnx::FunctionProto& function) : function_(function) {}

  std::string add(const char* op, std::initializer_list<std::string> inputs) {
    return next(node(op, inputs));
  }
  std::string add(const char* op, std::initializer_list<std::string> inputs,
                  const char* attribute, std::int64_t value) {
    onnx::NodeProto& made = node(op, inputs);
    set(made, attribute, value);
    return next(made);
  }
  std::string transposed(const std::string& x, std::initializer_list<std::int64_t> order) {
    onnx::NodeProto& made = node("Transpose", {x});
    set(made, "perm", order);
    return next(made);
  }
  std::vector<std::string> several(const char* op, std::initializer_list<std::string> inputs,
                                   int results, std::int64_t axis) {
    onnx::NodeProto& made = node(op, inputs);
    set(made, "axis", axis);
    std::vector<std::string> names;
    for (int i = 0; i < results; ++i) {
      names.push_back(next(made));
    }
    return names;
  }
  std::string integers(std::initializer_list<std::int64_t> values) {
    onnx::NodeProto& made = node("Constant", {});
    set(made, "value_ints", values);
    return next(made);
  }
  std::string number(float value) {
    onnx::NodeProto& made = node("Constant", {});
    auto& attribute = *made.add_attribute();
    attribute.set_name("value_float");
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
    return next(made);
  }
  /// An attribute of the node.
  std::string given(const char* name, onnx::AttributeProto::AttributeType type) {
    onnx::NodeProto& made = node("Constant", {});
    auto& attribute = *made.add_attribute();
    attribute.set_name(type == onnx::AttributeProto::FLOAT ? "value_float" : "value_int");
    attribute.set_type(type);
    attribute.set_ref_attr_name(name);
    return next(made);
  }
  std::string given_number(const char* name) {
    return given(name, onnx::AttributeProto::FLOAT);
  }
  /// As a vector of one element.
  std::string given_integer(const char* name) {
    return add("Unsqueeze", {given(name, onnx::AttributeProto::INT), integers({0})});
  }
  /// Elements `first` to `end` along an axis.
  std::string slice(const std::string& x, std::int64_t first, std::int64_t end,
                    std::int64_t axis) {
    return add("Slice", {x, integers({first}), integers({end}), integers({axis})});
  }
  void result(const char* op, std::initializer_list<std::string> inputs, const char* name) {
    node(op, inputs).add_output(name);
  }
  void result_cast(const std::string& x, const char* name) {
    onnx::NodeProto& made = node("Cast", {x});
    set(made, "to", onnx::TensorProto::FLOAT);
    made.add_output(name);
  }

 private:
  onnx::NodeProto& node(const char* op, std::initializer_list<std::string> inputs) {
    onnx::NodeProto& made = *function_.add_node();
    made.set_op_type(op);
    for (const std::string& input : inputs) {
      made.add_input(input);
    }
    return made;
  }
  static void set(onnx::NodeProto& made, const char* name,
                  std::initializer_list<std::int64_t> values) {
    auto& attribute = *made.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(values.begin(), values.end());
  }
  static void set(onnx::NodeProto& made, const char* name, std::int64_t value) {
    auto& attribute = *made.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  std::string next(onnx::NodeProto& made) {
    made.add_output("t" + std::to_string(made_++));
    return made.output(made.output_size() - 1);
  }

  onnx::FunctionProto& function_;
  int made_ = 0;
};

/// [1,N,4]: top, left, bottom and right of every box.
std::string corners(Body& body) {
  const std::string parts = body.integers({1, 1, 1, 1});
  const auto code = body.several("Split", {body.slice("encodings", 0, 4, 2), parts}, 4, 2);
  const auto anchor = body.several("Split", {"anchors", parts}, 4, 1);
  const auto centre = [&](std::size_t of, const char* scale) {
    const std::string moved = body.add(
        "Mul", {body.add("Div", {code[of], body.given_number(scale)}), anchor[of + 2]});
    return body.add("Add", {moved, anchor[of]});
  };
  const std::string one_half = body.number(0.5F);
  const auto half = [&](std::size_t of, const char* scale) {
    const std::string size =
        body.add("Exp", {body.add("Div", {code[of], body.given_number(scale)})});
    return body.add("Mul", {body.add("Mul", {one_half, size}), anchor[of]});
  };
  const std::string y = centre(0, "y_scale");
  const std::string x = centre(1, "x_scale");
  const std::string height = half(2, "h_scale");
  const std::string width = half(3, "w_scale");
  return body.add("Concat",
                  {body.add("Sub", {y, height}), body.add("Sub", {x, width}),
                   body.add("Add", {y, height}), body.add("Add", {x, width})},
                  "axis", 2);
}

/// [1,N,classes]: without those of the background.
std::string class_scores(Body& body) {
  const std::string all = body.slice(body.add("Shape", {"scores"}), 2, 3, 0);
  const std::string first = body.add("Sub", {all, body.given_integer("num_classes")});
  return body.add("Slice", {"scores", first, all, body.integers({2})});
}

/// [K,3]: batch, class and box of those that are kept, of scores [1,classes,N].
std::string suppressed(Body& body, const std::string& boxes, const std::string& scores,
                       const char* most) {
  const std::string counts =
      body.add("GreaterOrEqual", {scores, body.given_number("nms_score_threshold")});
  const std::string nothing = body.number(-std::numeric_limits<float>::infinity());
  const std::string candidates = body.add("Where", {counts, scores, nothing});
  return body.add("NonMaxSuppression", {boxes, candidates, body.given_integer(most),
                                        body.given_number("nms_iou_threshold"),
                                        body.number(std::numeric_limits<float>::lowest())});
}

/// Column `i` of [K,n].
std::string column(Body& body, const std::string& x, std::int64_t i) {
  return body.add("Squeeze", {body.slice(x, i, i + 1, 1), body.integers({1})});
}

/// Each box is of its best classes: its results have a row for each.
void among_all(Body& body) {
  const std::string boxes = corners(body);
  const std::string scores = class_scores(body);
  const std::string wanted = body.given_integer("max_classes_per_detection");
  const std::string classes =
      body.add("Min", {wanted, body.slice(body.add("Shape", {scores}), 2, 3, 0)});
  const auto best = body.several("TopK", {scores, classes}, 2, 2);
  const std::string best_score = body.transposed(body.slice(best[0], 0, 1, 2), {0, 2, 1});
  const std::string kept =
      column(body, suppressed(body, boxes, best_score, "max_detections"), 2);

  const std::string zero = body.integers({0});
  const std::string one = body.integers({1});
  const std::string count = body.add("Shape", {kept});
  const std::string missing_boxes =
      body.add("Sub", {body.given_integer("max_detections"), count});
  const std::string missing_classes = body.add("Sub", {wanted, classes});
  const std::string pads =
      body.add("Concat", {zero, zero, missing_boxes, missing_classes}, "axis", 0);
  const std::string flat = body.integers({1, -1});
  const auto rows = [&](const std::string& of_classes) {
    const std::string all = body.add("Squeeze", {of_classes, zero});
    return body.add("Pad", {body.add("Gather", {all, kept}), pads});
  };
  const std::string flat_boxes = body.add("Squeeze", {boxes, zero});
  const std::string found =
      body.add("Unsqueeze", {body.add("Gather", {flat_boxes, kept}), one});
  const std::string repeated =
      body.add("Expand", {found, body.add("Concat", {one, classes, one}, "axis", 0)});
  const std::string all_pads =
      body.add("Concat", {zero, zero, zero, missing_boxes, missing_classes, zero}, "axis", 0);
  body.result("Reshape", {body.add("Pad", {repeated, all_pads}), body.integers({1, -1, 4})},
              "boxes");
  body.result_cast(body.add("Reshape", {rows(best[1]), flat}), "classes");
  body.result("Reshape", {rows(best[0]), flat}, "best_scores");
  body.result_cast(count, "count");
}

/// A box may be found once for each class.
void by_class(Body& body) {
  const std::string boxes = corners(body);
  const std::string scores = body.transposed(class_scores(body), {0, 2, 1});
  const std::string kept = suppressed(body, boxes, scores, "detections_per_class");
  const std::string kept_scores = body.add("GatherND", {scores, kept});
  const std::string wanted = body.given_integer("max_detections");
  const std::string count = body.add("Min", {wanted, body.add("Shape", {kept_scores})});
  const auto best = body.several("TopK", {kept_scores, count}, 2, 0);
  const std::string picked = body.add("Gather", {kept, best[1]});

  const std::string zero = body.integers({0});
  const std::string rows =
      body.add("Mul", {wanted, body.given_integer("max_classes_per_detection")});
  const std::string missing = body.add("Sub", {rows, count});
  const std::string pads = body.add("Concat", {zero, missing}, "axis", 0);
  const std::string flat = body.integers({1, -1});
  const std::string flat_boxes = body.add("Squeeze", {boxes, zero});
  const std::string found = body.add("Gather", {flat_boxes, column(body, picked, 2)});
  const std::string box_pads = body.add("Concat", {zero, zero, missing, zero}, "axis", 0);
  body.result("Unsqueeze", {body.add("Pad", {found, box_pads}), zero}, "boxes");
  const std::string classes = body.add("Pad", {column(body, picked, 1), pads});
  body.result_cast(body.add("Reshape", {classes, flat}), "classes");
  body.result("Reshape", {body.add("Pad", {best[0], pads}), flat}, "best_scores");
  body.result_cast(count, "count");
}

}  // namespace

std::string detection_name(const Attributes& attributes) {
  return std::string(detection_options(attributes).by_class ? kByClass : kDetectionPostProcess);
}

bool is_detection_name(std::string_view op_type) {
  return op_type == kDetectionPostProcess || op_type == kByClass;
}

onnx::FunctionProto detection_function(const std::string& name, int opset) {
  onnx::FunctionProto function;
  function.set_domain(std::string(kOwnDomain));
  function.set_name(name);
  auto& domain = *function.add_opset_import();
  domain.set_domain("");
  domain.set_version(opset);
  for (const char* input : {"encodings", "scores", "anchors"}) {
    function.add_input(input);
  }
  for (const char* output : {"boxes", "classes", "best_scores", "count"}) {
    function.add_output(output);
  }
  const Attributes defaults = to_attributes(DetectionOptions());
  for (const auto& [attribute, value] : defaults.items()) {
    function.add_attribute(attribute);
  }
  Body body(function);
  if (name == kByClass) {
    by_class(body);
  } else {
    among_all(body);
  }
  return function;
}

}  // namespace tare
