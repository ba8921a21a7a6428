#include "tare/error.h"
#include "tare/graph.h"
#include "tare/model_files.h"

#include "tflite/import.h"
#include "tflite/operators.h"

#include <set>

namespace tare {
namespace tflite {
namespace {

/// Names all operators and tensors at once that cannot be imported.
void require_supported(const ModelFile& file) {
  Faults faults;
  std::set<std::string> refused;
  for (const FileOperator& op : file.operators) {
    if (find_rule(op) == nullptr && refused.insert(op.name).second) {
      faults.add("", "operator '" + op.name + "' is not supported");
    }
  }
  for (const FileTensor& tensor : file.tensors) {
    if (!tensor.refusal.empty()) {
      faults.add("tensor '" + tensor.name + "'", tensor.refusal);
    }
  }
  faults.raise(ErrorCode::kUnsupported);
}

void import_operator(GraphImport& graph, const FileOperator& op) {
  const OperatorRule& rule = *find_rule(op);
  OperatorImport one(graph, op);
  try {
    rule.import(one, rule.onnx);
    for (const int result : op.outputs) {
      if (!graph.is_defined(result)) {
        one.refuse("does not compute '" + graph.tensor(result).name + "'", "no such result");
      }
    }
  } catch (Error& error) {
    throw error.at(op.name + " '" + one.output().name + "'");
  }
}

}  // namespace

Graph import_model(const ModelFile& file, Numerics numerics) {
  require_supported(file);
  GraphImport graph(file, numerics);
  for (const FileOperator& op : file.operators) {
    import_operator(graph, op);
  }
  return graph.finish();
}

}  // namespace tflite

Graph read_tflite(const std::filesystem::path& path, Numerics numerics) {
  try {
    const tflite::ModelFile file(path);
    return tflite::import_model(file, numerics);
  } catch (Error& error) {
    if (error.code() != ErrorCode::kIo) {
      error.at(path.string());
    }
    throw;
  }
}

}  // namespace tare
