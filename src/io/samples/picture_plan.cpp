// What is said of an input, completed by a preset and by the shape that the model declares.
#include "io/samples/picture_plan.h"

#include "tare/error.h"

#include "io/samples/presets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace tare {
namespace {

std::string place_of(const ModelInput& input) {
  return "input '" + input.name + "'";
}

/// Where channels, rows and columns of an input are; -1 for no axis.
struct ImageAxes {
  int channels = -1;
  int height = 0;
  int width = 0;
};

/// One channel, three, or how many the file leaves open.
bool may_be_channels(std::int64_t extent) {
  return extent == 1 || extent == 3;
}

/// [batch,C,H,W], [batch,H,W,C], [C,H,W], [H,W,C] or [batch,H,W].
ImageAxes axes_of(const ModelInput& input, std::optional<bool> channels_last) {
  const Shape shape = input.shape.value_or(Shape{-1, 3, -1, -1});
  const int rank = static_cast<int>(shape.size());
  const bool last_is_it = rank >= 3 && may_be_channels(shape.back());
  if (rank == 4) {
    const bool last = channels_last.value_or(!may_be_channels(shape[1]) && last_is_it);
    return last ? ImageAxes{3, 1, 2} : ImageAxes{1, 2, 3};
  }
  if (rank == 3 && (channels_last || last_is_it || may_be_channels(shape[0]))) {
    const bool last = channels_last.value_or(!may_be_channels(shape[0]) && last_is_it);
    return last ? ImageAxes{2, 0, 1} : ImageAxes{0, 1, 2};
  }
  if (rank == 3) {
    return {-1, 1, 2};
  }
  throw Error(ErrorCode::kInvalidConfig, place_of(input),
              "has shape " + to_string(shape) + ", which pictures do not fill")
      .expected("[batch, channels, height, width] or another shape of an image");
}

PictureSize as_size(const std::vector<std::int64_t>& sides) {
  return sides.size() == 1 ? PictureSize{sides[0], sides[0]} : PictureSize{sides[0], sides[1]};
}

/// The extent on that axis, or -1.
std::int64_t extent_of(const ModelInput& input, int axis) {
  return axis < 0 || !input.shape ? -1 : (*input.shape)[static_cast<std::size_t>(axis)];
}

std::string size_text(PictureSize size) {
  return std::to_string(size.height) + " x " + std::to_string(size.width);
}

class PicturePlanner {
 public:
  PicturePlanner(const ModelInput& input, const InputPreparation& said,
                 const std::function<void(const std::string&)>& notice)
      : input_(input),
        said_(said),
        notice_(notice),
        axes_(axes_of(input, said.channels_last)) {}

  PicturePlan run() {
    plan_.channels_last = axes_.channels >= 0 && axes_.channels > axes_.height;
    const Preset& preset = choose_preset();
    plan_.color = said_.color.value_or(preset.color);
    plan_.fit = said_.fit.value_or(preset.fit);
    plan_.fill = static_cast<std::uint8_t>(said_.fill.value_or(preset.fill));
    require_lists();
    require_own_size();
    faults_.raise(ErrorCode::kInvalidConfig);
    if (plan_.fit == Fit::kNone) {
      plan_.shorter = said_.resize.empty() ? 0 : said_.resize[0];
      plan_.multiple_of = said_.multiple_of.value_or(1);
    } else {
      choose_size(preset);
      choose_resize();
    }
    choose_normalization(preset);
    require_channels();
    faults_.raise(ErrorCode::kInvalidConfig);
    describe_input();
    return std::move(plan_);
  }

 private:
  void fault(std::string what, std::string expected) {
    faults_.add(place_of(input_), std::move(what), std::move(expected));
  }

  const Preset& choose_preset() const {
    if (!said_.preset.empty()) {
      return preset_of(said_.preset);
    }
    const std::int64_t channels = axes_.channels < 0 ? 1 : extent_of(input_, axes_.channels);
    const std::int64_t side =
        std::max(extent_of(input_, axes_.height), extent_of(input_, axes_.width));
    const Preset& preset = guessed_preset(input_, channels, side, plan_.channels_last);
    if (notice_) {
      notice_(place_of(input_) + ": pictures are prepared by the preset '" +
              std::string(preset.name) + "' (" + std::string(preset.summary) +
              "), a guess from its shape " +
              (input_.shape ? shape_text(*input_.shape) : std::string("that is open")) +
              (said_ == InputPreparation{} ? "" : ", but for the keys that are set"));
    }
    return preset;
  }

  static std::string shape_text(const Shape& shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) {
      text += (text.size() > 1 ? "," : "") + (extent < 0 ? "?" : std::to_string(extent));
    }
    return text + "]";
  }

  void require_lists() {
    if (said_.resize.size() > 2) {
      fault("'resize' has " + std::to_string(said_.resize.size()) + " numbers",
            "the shorter side, or [height, width]");
    }
    if (said_.crop.size() > 2) {
      fault("'crop' has " + std::to_string(said_.crop.size()) + " numbers",
            "one size, or [height, width]");
    }
    for (const auto& [name, list] : {std::pair("mean", &said_.mean), {"std", &said_.std}}) {
      const auto channels = static_cast<std::size_t>(plan_.channels());
      if (list->size() > 1 && list->size() != channels) {
        fault("'" + std::string(name) + "' has " + std::to_string(list->size()) + " numbers",
              channels == 1 ? "1" : "1 or " + std::to_string(channels));
      }
    }
  }

  /// What each picture decides is not said for all.
  void require_own_size() {
    if (plan_.fit != Fit::kNone) {
      if (said_.multiple_of) {
        fault("'multiple_of' is about pictures that keep their size", "'fit: none' beside it");
      }
      return;
    }
    const PictureSize size{extent_of(input_, axes_.height), extent_of(input_, axes_.width)};
    if (size.height >= 0 || size.width >= 0) {
      const auto side = [](std::int64_t extent) {
        return extent < 0 ? std::string("?") : std::to_string(extent);
      };
      fault("pictures would keep their size ('fit: none')",
            side(size.height) + " x " + side(size.width) + " pixels");
    }
    if (!said_.crop.empty() || said_.resize.size() > 1) {
      fault("pictures would keep their size ('fit: none') and get another",
            "no 'crop', and the shorter side as 'resize' at most");
    }
  }

  /// What the model says, then what is cut out or resized to, then what is usual.
  void choose_size(const Preset& preset) {
    PictureSize size{extent_of(input_, axes_.height), extent_of(input_, axes_.width)};
    const std::vector<std::int64_t>& said = !said_.crop.empty()        ? said_.crop
                                            : said_.resize.size() == 2 ? said_.resize
                                            : plan_.fit != Fit::kCrop  ? said_.resize
                                                                       : said_.crop;
    const PictureSize wanted =
        said.empty() ? PictureSize{preset.side, preset.side} : as_size(said);
    const bool is_open = size.height < 0 || size.width < 0;
    size.height = size.height < 0 ? wanted.height : size.height;
    size.width = size.width < 0 ? wanted.width : size.width;
    if (!said.empty() && (size.height != wanted.height || size.width != wanted.width)) {
      fault("pictures would get " + size_text(wanted) + " pixels", size_text(size));
    }
    if (said.empty() && is_open && notice_) {
      notice_(place_of(input_) + ": pictures get " + size_text(size) +
              " pixels, a guess, as the model leaves that open");
    }
    plan_.size = size;
  }

  void choose_resize() {
    plan_.resize = plan_.size;
    if (plan_.fit != Fit::kCrop) {
      return;
    }
    if (said_.resize.size() == 2) {
      plan_.resize = as_size(said_.resize);
    } else {
      constexpr double kUsual = 8.0 / 7;
      const std::int64_t longer = std::max(plan_.size.height, plan_.size.width);
      plan_.shorter = !said_.resize.empty() ? said_.resize[0]
                                            : std::lround(static_cast<double>(longer) * kUsual);
      plan_.resize = {plan_.shorter, plan_.shorter};
    }
    if (plan_.resize.height < plan_.size.height || plan_.resize.width < plan_.size.width) {
      fault("pictures are resized to " + size_text(plan_.resize) + " pixels",
            "at least the " + size_text(plan_.size) + " that are cut out of them");
    }
  }

  void choose_normalization(const Preset& preset) {
    if (is_integer(input_.dtype)) {
      if (said_.scale || !said_.mean.empty() || !said_.std.empty()) {
        fault("takes integers, which 'scale', 'mean' and 'std' do not give",
              "none of these keys");
      }
      return;
    }
    std::vector<double> mean(said_.mean.begin(), said_.mean.end());
    std::vector<double> std(said_.std.begin(), said_.std.end());
    // Who says how bytes are scaled does not mean the mean that belongs to another scale.
    const bool is_own = said_.scale.has_value();
    mean = !mean.empty() ? mean : is_own ? std::vector<double>{0} : preset.mean;
    std = !std.empty() ? std : is_own ? std::vector<double>{1} : preset.std;
    const double scale = said_.scale ? static_cast<double>(*said_.scale) : preset.scale;
    const std::size_t channels = std::max(mean.size(), std.size());
    const auto at = [](const std::vector<double>& values, std::size_t c) {
      return values[values.size() == 1 ? 0 : c];
    };
    for (std::size_t c = 0; c < channels; ++c) {
      plan_.normalization.mean.push_back(static_cast<float>(at(mean, c) / scale));
      plan_.normalization.std.push_back(static_cast<float>(at(std, c) / scale));
    }
    if (channels > 1 && static_cast<std::int64_t>(channels) != plan_.channels()) {
      fault("'mean' and 'std' are of " + std::to_string(channels) + " channels",
            std::to_string(plan_.channels()));
    }
  }

  void require_channels() {
    const std::int64_t channels = axes_.channels < 0 ? 1 : extent_of(input_, axes_.channels);
    if (channels >= 0 && channels != plan_.channels()) {
      fault("has " + std::to_string(channels) + " channels, pictures " +
                std::to_string(plan_.channels()),
            may_be_channels(channels)
                ? std::string("'color: ") + (channels == 1 ? "gray'" : "rgb' or 'color: bgr'")
                : "1 or 3 channels");
    }
  }

  /// Without the batch, if there is one.
  void describe_input() {
    const std::size_t rank = input_.shape ? input_.shape->size() : 4;
    const bool has_batch = rank == 4 || axes_.channels < 0;
    Shape shape(rank, 1);
    shape[static_cast<std::size_t>(axes_.height)] = plan_.size.height;
    shape[static_cast<std::size_t>(axes_.width)] = plan_.size.width;
    if (axes_.channels >= 0) {
      shape[static_cast<std::size_t>(axes_.channels)] = plan_.channels();
    }
    plan_.input = {.name = input_.name,
                   .dtype = plan_.normalization ? DType::kFloat32 : DType::kUint8,
                   .shape = {shape.begin() + (has_batch ? 1 : 0), shape.end()}};
    plan_.height_axis = static_cast<std::size_t>(axes_.height - (has_batch ? 1 : 0));
    plan_.width_axis = static_cast<std::size_t>(axes_.width - (has_batch ? 1 : 0));
    const std::vector<float>& std = plan_.normalization.std;
    plan_.input.scaled_bytes =
        std::any_of(std.begin(), std.end(), [](float x) { return std::abs(x - 1) > 0.01F; });
    // Axis 1 of the batch is the one of the channels, or these do not differ.
    if (plan_.normalization.mean.size() == 1 || !plan_.channels_last) {
      plan_.input.mean = plan_.normalization.mean;
      plan_.input.std = plan_.normalization.std;
    }
  }

  const ModelInput& input_;
  const InputPreparation& said_;
  const std::function<void(const std::string&)>& notice_;
  ImageAxes axes_;
  PicturePlan plan_;
  Faults faults_;
};

}  // namespace

PicturePlan plan_pictures(const ModelInput& input, const InputPreparation& said,
                          const std::function<void(const std::string&)>& notice) {
  return PicturePlanner(input, said, notice).run();
}

}  // namespace tare
