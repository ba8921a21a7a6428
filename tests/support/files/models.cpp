#include "support/files/models.h"

#include <algorithm>
#include <cstdlib>
#include <ostream>

namespace tare::test {

void PrintTo(const TestModel& model, std::ostream* out) {
  *out << model.name;
}

std::filesystem::path shared_files() {
  const char* given = std::getenv("TARE_SHARED");
  return given != nullptr ? std::filesystem::path(given)
                          : std::filesystem::path(TARE_SOURCE_DIR) / "../shared";
}

std::vector<TestModel> test_models() {
  const std::filesystem::path data = std::filesystem::path(TARE_SOURCE_DIR) / "data";
  std::vector<TestModel> result{{"digits", data / "digits.onnx", data / "digits_calibration.h5",
                                 data / "digits_evaluation.h5"}};
  const std::filesystem::path shared = shared_files();
  const auto add = [&](const std::string& name, const std::string& model,
                       const std::string& calibration, const std::string& evaluation) {
    const TestModel entry{name, shared / "models" / (model + ".onnx"),
                          shared / "data" / (calibration + ".h5"),
                          shared / "data" / (evaluation + ".h5")};
    if (std::filesystem::exists(entry.model)) {
      result.push_back(entry);
    }
  };
  add("mobilenet", "mobilenet_v1_0.75_224_imagenet", "imagenet224_calib64_u8",
      "imagenet224_dev_eval150_u8");
  add("resnet20_op13", "resnet20_cifar10_op13", "cifar10_imagenetnorm_calib500_f32",
      "cifar10_imagenetnorm_eval1000_f32");
  add("resnet20_op17", "resnet20_cifar10_op17_bn", "cifar10_imagenetnorm_calib500_f32",
      "cifar10_imagenetnorm_eval1000_f32");
  add("kws_dscnn", "mlperftiny_kws_dscnn", "kws49x10_calib200_f32", "kws49x10_eval800_f32");
  add("sst2_op13", "sst2_encoder2L_d96_op13", "sst2_calib500", "sst2_eval872");
  add("sst2_op17", "sst2_encoder2L_d96_op17", "sst2_calib500", "sst2_eval872");
  add("yolox_nano", "yolox_nano_416", "coco416_yolox_calib16_f32", "coco416_yolox_calib16_f32");
  return result;
}

std::vector<TestModel> field_models() {
  std::vector<TestModel> result;
  const auto add = [&](const std::filesystem::path& models, const std::filesystem::path& data) {
    if (!std::filesystem::is_directory(models)) {
      return;
    }
    for (const auto& entry : std::filesystem::directory_iterator(models)) {
      const std::string name = entry.path().stem().string();
      const bool has_data =
          !data.empty() && std::filesystem::exists(data / (name + ".calib.h5"));
      result.push_back({name, entry.path(), has_data ? data / (name + ".calib.h5") : "",
                        has_data ? data / (name + ".eval.h5") : ""});
    }
  };
  add(shared_files() / "field/models", shared_files() / "field/data");
  add(shared_files() / "tflite/models", {});
  std::sort(result.begin(), result.end(),
            [](const TestModel& a, const TestModel& b) { return a.name < b.name; });
  return result;
}

}  // namespace tare::test
