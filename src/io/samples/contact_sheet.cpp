// A page with samples as the network gets them. Pictures are made of the values of the input,
// whatever file they came from, so what went wrong on the way is seen: channels in another
// order, rows and columns exchanged, a subject cut off, everything gray. Histograms stand
// beside the values that pictures have when they are prepared as inputs of that shape usually
// are.
#include "tare/dataset.h"
#include "tare/error.h"

#include "io/samples/histogram_chart.h"
#include "io/samples/picture.h"
#include "io/samples/resize.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

namespace tare {
namespace {

constexpr std::size_t kMostShown = 48;
constexpr std::int64_t kThumbnail = 120;

std::string html_text(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8U | (i + j < bytes.size() ? bytes[i + j] : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[(group >> (18 - 6 * j)) & 63U] : '=';
    }
  }
  return text;
}

/// How a sample is an image; nothing for one that is none.
struct ImageShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 1;
  bool channels_last = false;
};

std::optional<ImageShape> image_shape(Shape shape) {
  constexpr std::int64_t kLeastSide = 8;
  while (shape.size() > 3 && shape.front() == 1) {
    shape.erase(shape.begin());
  }
  const auto is_color = [](std::int64_t extent) { return extent == 1 || extent == 3; };
  std::optional<ImageShape> image;
  if (shape.size() == 3 && is_color(shape[0])) {
    image = {shape[1], shape[2], shape[0], false};
  } else if (shape.size() == 3 && is_color(shape[2])) {
    image = {shape[0], shape[1], shape[2], true};
  } else if (shape.size() == 2) {
    image = {shape[0], shape[1], 1, false};
  }
  const bool is_large = image && image->height >= kLeastSide && image->width >= kLeastSide;
  return is_large ? image : std::nullopt;
}

/// What the byte was that became a value: by the normalization, else so that the least value of
/// all samples is black and the largest white.
class Shades {
 public:
  Shades(const DatasetInput& input, float low, float high) : input_(input) {
    if (input.mean.empty()) {
      offset_ = low;
      factor_ = high > low ? 255 / (high - low) : 0;
    }
  }
  std::uint8_t operator()(float value, std::size_t channel) const {
    float shade = (value - offset_) * factor_;
    if (!input_.mean.empty()) {
      const float std = input_.std[input_.std.size() == 1 ? 0 : channel];
      shade = value * std + input_.mean[input_.mean.size() == 1 ? 0 : channel];
    }
    return static_cast<std::uint8_t>(std::lround(std::clamp(shade, 0.0F, 255.0F)));
  }

 private:
  const DatasetInput& input_;
  float offset_ = 0;
  float factor_ = 1;
};

std::string thumbnail(std::span<const float> values, const ImageShape& image,
                      const Shades& shades) {
  Picture picture = blank_picture(image.height, image.width, image.channels);
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t pixels = values.size() / channels;
  for (std::size_t i = 0; i < pixels; ++i) {
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t at = image.channels_last ? i * channels + c : c * pixels + i;
      picture.bytes[i * channels + c] = shades(values[at], c);
    }
  }
  const double scale =
      std::min(1.0, static_cast<double>(kThumbnail) /
                        static_cast<double>(std::max(image.height, image.width)));
  const auto side = [&](std::int64_t extent) {
    return std::max<std::int64_t>(std::lround(static_cast<double>(extent) * scale), 1);
  };
  const PictureSize size{side(image.height), side(image.width)};
  return "<img alt=\"\" src=\"data:image/png;base64," +
         base64(encode_png(resized(picture, size))) + "\">";
}

class Sheet {
 public:
  Sheet(const Dataset& data, const SheetText& text) : data_(data), text_(text) {}

  std::string page() {
    html_ = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" +
            html_text(text_.title) + "</title>\n<style>" + std::string(kStyle) +
            "</style></head><body>\n<h1>" + html_text(text_.title) + "</h1>\n<p>" +
            std::to_string(data_.size()) + " samples for " + html_text(text_.model) + "</p>\n";
    list("warnings", text_.warnings);
    list("notes", text_.notes);
    const auto shown = evenly_spaced(data_, std::min(data_.size(), kMostShown));
    for (const DatasetInput& input : data_.inputs()) {
      add_input(*shown, input);
    }
    return html_ + "</body></html>\n";
  }

 private:
  static constexpr std::string_view kStyle =
      "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;"
      "color:#222;background:#fff}.warnings li{color:#a02000;font-weight:600}"
      ".samples{display:flex;flex-wrap:wrap;gap:8px}figure{margin:0;font-size:12px;color:#666}"
      "img,.samples svg{display:block;background:#eee}"
      "img{min-width:64px;image-rendering:pixelated}.samples{margin-top:16px}"
      ".charts{display:flex;flex-wrap:wrap;"
      "gap:24px}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
      ".warnings li{color:#ff8060}}";

  void list(const char* kind, const std::vector<std::string>& items) {
    if (items.empty()) {
      return;
    }
    html_ += std::string("<ul class=\"") + kind + "\">";
    for (const std::string& item : items) {
      html_ += "<li>" + html_text(item) + "</li>\n";
    }
    html_ += "</ul>\n";
  }

  void add_input(const Dataset& shown, const DatasetInput& input) {
    html_ += "<h2>" + html_text(input.name) + " <small>" + std::string(name_of(input.dtype)) +
             " " + to_string(input.shape) +
             (data_.has_several_shapes() ? " in the largest sample" : "") + "</small></h2>\n";
    const std::optional<ImageShape> image = image_shape(input.shape);
    const std::size_t channels = image ? static_cast<std::size_t>(image->channels) : 1;
    std::vector<std::vector<float>> samples;
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const Tensor sample = shown.read(input.name, i, 1);
      samples.push_back(sample.to_float());
      shapes.emplace_back(sample.shape().begin() + 1, sample.shape().end());
    }
    std::vector<ChannelValues> values(channels);
    for (const std::vector<float>& sample : samples) {
      const std::size_t pixels = sample.size() / channels;
      for (std::size_t at = 0; at < sample.size(); ++at) {
        const bool last = image && image->channels_last;
        values[last ? at % channels : at / pixels].add(sample[at]);
      }
    }
    const auto model = std::find_if(text_.inputs.begin(), text_.inputs.end(),
                                    [&](const ModelInput& m) { return m.name == input.name; });
    html_ += "<div class=\"charts\">";
    for (std::size_t c = 0; c < channels; ++c) {
      const auto usual = image && model != text_.inputs.end()
                             ? usual_values(*model, c, channels, image->channels_last)
                             : std::nullopt;
      html_ += histogram_chart(values[c], channels > 1 ? static_cast<int>(c) : -1, usual);
    }
    html_ += "</div>\n<div class=\"samples\">";
    float low = values[0].low();
    float high = values[0].high();
    for (const ChannelValues& channel : values) {
      low = std::min(low, channel.low());
      high = std::max(high, channel.high());
    }
    const Shades shades(input, low, high);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto own = image ? image_shape(shapes[i]) : std::nullopt;
      const bool is_picture =
          own && own->channels == image->channels && own->channels_last == image->channels_last;
      html_ += "<figure>" + (is_picture ? thumbnail(samples[i], *own, shades)
                                        : curve(samples[i], low, high));
      if (data_.has_several_shapes()) {  // thumbnails have about one size
        html_ += "<figcaption>" + to_string(shapes[i]) + "</figcaption>";
      }
      html_ += "</figure>\n";
    }
    html_ += "</div>\n";
  }

  const Dataset& data_;
  const SheetText& text_;
  std::string html_;
};

}  // namespace

std::string contact_sheet(const Dataset& data, const SheetText& text) {
  return Sheet(data, text).page();
}

}  // namespace tare
