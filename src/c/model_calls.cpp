// The functions tare_model_*.
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/model_files.h"
#include "tare/process.h"

#include "c/guard.h"
#include "c/handles.h"
#include "c/json.h"
#include "onnx/input_names.h"

#include <cstdlib>
#include <memory>
#include <system_error>

namespace tare::c {
namespace {

/// Removes its folder where nobody took it over.
struct TemporaryFolder {
  std::filesystem::path path;

  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tare-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorCode::kIo, name, "cannot be made");
    }
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty()) {
      std::filesystem::remove_all(path, ignored);
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

/// The faults with the name of what the caller knows, in place of that of our file.
std::vector<Fault> named(std::vector<Fault> faults, const std::string& path,
                         const std::string& name) {
  for (Fault& fault : faults) {
    if (fault.where.starts_with(path)) {
      fault.where.replace(0, path.size(), name);
    }
  }
  return faults;
}

bool is_onnx(const std::filesystem::path& path) {
  return path.extension() != ".tflite" && path.extension() != ".tir";
}

/// Of an ONNX file without its shapes, some of which may be those of the samples.
std::vector<std::string> inputs_of(const tare_model& model) {
  if (is_onnx(model.path)) {
    return input_names(model.path);
  }
  const Graph graph = load(model, {}, nullptr);
  std::vector<std::string> names;
  for (const ValueId value : graph.inputs()) {
    names.push_back(graph.name(value));
  }
  return names;
}

Json described(const tare_model& model) {
  Json files = Json::array();
  if (is_onnx(model.path)) {
    for (const std::filesystem::path& file : external_files(model.path)) {
      files.push_back(file.lexically_relative(model.path.parent_path()).string());
    }
  }
  return {{"inputs", inputs_of(model)}, {"external_files", std::move(files)}};
}

}  // namespace

Graph load(const tare_model& model, const Config& config, const Dataset* data,
           Numerics numerics) {
  try {
    return load_model(model.path, config.dims, data, numerics);
  } catch (const Error& error) {
    if (!model.is_temporary) {
      throw;
    }
    throw Error(error.code(), named(error.faults(), model.path.string(), model.name));
  }
}

std::string activity(const char* verb, const tare_model* model) {
  return std::string(verb) + " '" + (model == nullptr ? "" : model->name) + "'";
}

extern "C" {

tare_error* tare_model_open(const char* path, tare_model** model) {
  return guarded([&] {
    require(path, "path");
    require(model, "model");
    *model = new tare_model{path, path};
  });
}

tare_error* tare_model_of_bytes(const void* bytes, size_t count, const char* name,
                                tare_model** model) {
  return guarded([&] {
    if (count > 0) {
      require(bytes, "bytes");
    }
    require(model, "model");
    const std::string called = name == nullptr ? "model" : name;
    TemporaryFolder folder;
    const std::filesystem::path path = folder.path / "model.onnx";
    write_text(path, {static_cast<const char*>(bytes), count});
    *model = new tare_model{path, called, true};
    folder.path.clear();
  });
}

tare_error* tare_model_describe(const tare_model* model, char** json) {
  return guarded([&] {
    require(model, "model");
    require(json, "json");
    *json = text_for_caller(to_text(described(*model)));
  });
}

void tare_model_free(tare_model* model) {
  if (model != nullptr && model->is_temporary) {
    std::error_code ignored;
    std::filesystem::remove_all(model->path.parent_path(), ignored);
  }
  delete model;
}

}  // extern "C"

}  // namespace tare::c
