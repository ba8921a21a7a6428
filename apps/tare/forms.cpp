#include "forms.h"

#include <algorithm>
#include <array>

namespace tare::cli {
namespace {

struct NamedForm {
  const char* name;
  Form form;
};
constexpr std::array kForms{NamedForm{"qdq", Form::kQdq},
                            NamedForm{"qoperator", Form::kQoperator},
                            NamedForm{"integer", Form::kInteger}};

}  // namespace

Flag form_flag() {
  return {.name = "form",
          .value = "NAME",
          .summary = "how quantization is stored",
          .fallback = kForms[0].name,
          .choices = {kForms[0].name, kForms[1].name, kForms[2].name}};
}

Form form_of(const Options& options) {
  const std::string name = options.text("form");
  return std::find_if(kForms.begin(), kForms.end(),
                      [&](const NamedForm& form) { return form.name == name; })
      ->form;
}

}  // namespace tare::cli
