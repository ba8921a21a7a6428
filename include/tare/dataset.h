#pragma once

#include "tare/arithmetic.h"
#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

class Graph;

/// One array per model input, all with the same number of samples along the first dimension.
struct DatasetInput {
  std::string name;
  DType dtype;  ///< after normalization: f32 for integer data that carries mean and std
  Shape shape;  ///< of one sample, without the first dimension
  /// Integers of 8 bits that were divided by a `std` other than 1.
  bool scaled_bytes = false;
  /// Of integers u that became x = (u - mean) / std: one value, or one for each channel (axis 1
  /// of the batch). Empty where samples are as they were stored.
  std::vector<float> mean{};
  std::vector<float> std{};
};

/// Samples, read in any order from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::size_t size() const = 0;
  virtual const std::vector<DatasetInput>& inputs() const = 0;
  /// Whether samples differ in shape, as sentences and recordings do. inputs() has the shapes
  /// of the largest one then, and read() takes one sample at a time.
  virtual bool has_several_shapes() const { return false; }
  /// Samples [first, first + count) of the input with that name, as one tensor of shape
  /// [count, ...shape]. Throws Error(kInvalidData), naming sample and position, on NaN or
  /// infinity; Error(kIo) when the file cannot be read.
  virtual Tensor read(const std::string& input, std::size_t first, std::size_t count) const = 0;
  /// One int64 per sample; nothing without labels. Error(kInvalidData): they are others.
  virtual std::optional<std::vector<std::int64_t>> labels() const = 0;
};

/// How an HDF5 file is opened.
struct Hdf5Options {
  /// Reads the structure of the file in a child process first, as the HDF5 library crashes or
  /// hangs on some damaged files, which are then an Error(kInvalidData). For files of unknown
  /// origin: it takes a fork of the process, so nobody makes one who was not asked to.
  bool trial_in_child = false;
};

/// Opens an HDF5 file: one dataset per input, first dimension = sample. Integer datasets with
/// attributes `mean` and `std` (scalar, or one value per channel = axis 1 of the batch) are
/// normalized as (u - mean) / std. `labels` is not an input, and checked by labels() alone.
/// A file of groups with numbers at the end of their names (`0`, `sample_012`) has a sample in
/// each, in the order of the numbers: one dataset per input without the first dimension, whose
/// shapes may differ, and perhaps one integer `labels`. To open_samples(), which knows the
/// model, they are none where they are parts of the names of inputs. Throws Error(kIo) when it
/// is not a readable HDF5 file, Error(kInvalidData) when it holds no samples, or inputs whose
/// sample counts differ. Reads by hyperslab.
std::unique_ptr<Dataset> open_dataset(const std::filesystem::path&, const Hdf5Options& = {});

/// An input of a model as its file declares it.
struct ModelInput {
  std::string name;
  DType dtype = DType::kFloat32;
  /// -1 where the file leaves an extent open; nothing where not even the rank is known.
  std::optional<Shape> shape;
  /// The names of open extents, by axis; empty where one is not open.
  std::vector<std::string> symbols{};
};

/// How a picture is brought to the size of an input.
enum class Fit : std::uint8_t {
  kCrop,       ///< resized, then cut out of its middle
  kStretch,    ///< resized to that size, whatever that does to its proportions
  kLetterbox,  ///< resized until it fits, the rest filled evenly on both sides
  kCorner,     ///< the same with the picture in the upper left corner
  kNone,       ///< not at all: each sample has the size of its picture
};

enum class Color : std::uint8_t { kRgb, kBgr, kGray };

/// An InputPreparation::length: each recording is one sample of its own length.
constexpr std::int64_t kWholeLength = -1;

/// How what a file holds becomes the values of an input: x = (u * scale - mean) / std, where u
/// are the bytes of a picture or the amplitudes of a recording (-1 to 1). What is absent is as
/// the preset says; without a preset that one is guessed from the shape of the input.
struct InputPreparation {
  std::string preset;  ///< see preset_names()
  // Of pictures.
  std::optional<Fit> fit;
  std::vector<std::int64_t> resize;  ///< the shorter side, or height and width
  std::vector<std::int64_t> crop;    ///< both sides, or height and width
  std::optional<Color> color;
  std::optional<bool> channels_last;
  std::optional<std::int64_t> fill;  ///< of bytes beside a picture, 0 to 255
  std::optional<float> scale;
  std::vector<float> mean;  ///< one value, or one for each channel
  std::vector<float> std;
  // Of recordings.
  std::optional<std::int64_t> rate;    ///< samples per second that files must have
  std::optional<std::int64_t> length;  ///< samples of a window, or kWholeLength
  /// Of pictures and recordings of their own size: sides and lengths are cut to a multiple of
  /// it, pictures to their middle, recordings at their end.
  std::optional<std::int64_t> multiple_of;
  // Of raw files.
  Shape shape;  ///< of one sample
  std::optional<DType> dtype;
  // Of all.
  /// The axis of the input that the batch is on; -1: there is none. Absent: the first one, or
  /// as the shapes of samples say.
  std::optional<std::int64_t> batch_axis;

  friend bool operator==(const InputPreparation&, const InputPreparation&) = default;
};

/// The presets of InputPreparation, each with what it is for.
std::vector<std::pair<std::string, std::string>> presets();

/// What open_samples() has to know.
struct SampleOptions {
  std::vector<ModelInput> inputs;  ///< of the model; see model_inputs()
  /// By the name of the input; "*" is about those that have no entry.
  std::map<std::string, InputPreparation> preparations{};
  Hdf5Options hdf5{};
  /// Told what was guessed, in a line each; may be empty.
  std::function<void(const std::string&)> notice{};
};

/// Opens samples of a model: an HDF5 file as open_dataset() does, a .npz or .npy file, a text
/// file that lists files (each with an integer, its label, or none), a file of raw numbers, a
/// picture or recording, or a folder of such files. Where a folder has folders instead, these
/// are classes, and the place of a folder among them, sorted, is the label of its files. Files
/// of a folder are in the order of their names; see docs/samples.md. Files are read and decoded
/// when their samples are. Throws Error(kIo), Error(kInvalidData) with the name of a file that
/// is not what it should be, Error(kInvalidConfig) where a preparation does not fit the model.
std::unique_ptr<Dataset> open_samples(const std::filesystem::path&, const SampleOptions&);

/// What is on a contact sheet beside the samples.
struct SheetText {
  std::string title;
  std::string model;
  std::vector<ModelInput> inputs;     ///< of the model, for what is usual
  std::vector<std::string> notes;     ///< what was guessed
  std::vector<std::string> warnings;  ///< what looks wrong
};

/// An HTML page, which needs no other file, with what a network sees of some samples: pictures
/// from the values of its inputs, and a histogram of each channel beside what is usual.
std::string contact_sheet(const Dataset&, const SheetText&);

/// The samples [first, first + count) of a dataset that has to outlive it, as one of their own.
std::unique_ptr<Dataset> part_of(const Dataset&, std::size_t first, std::size_t count);

/// Of the samples of a dataset, which has to outlive it, `count` that are spread evenly over
/// it: each the middle one of its share.
std::unique_ptr<Dataset> evenly_spaced(const Dataset&, std::size_t count);
/// The others, in their order.
std::unique_ptr<Dataset> without_evenly_spaced(const Dataset&, std::size_t count);

/// Writes one dataset per name, appending along the first dimension. Where rows of a name
/// differ in shape, all is written as one group for each row instead, `000000` and so on, with
/// a dataset for each name: both as open_dataset() reads them. The file appears under its name
/// only when `finish` was called.
class DatasetWriter {
 public:
  explicit DatasetWriter(std::filesystem::path);
  ~DatasetWriter();
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;
  void append(const std::string& name, const Tensor&);
  /// Attributes `mean` and `std` of what was appended under that name, see open_dataset().
  void normalize(const std::string& name, std::span<const float> mean,
                 std::span<const float> std);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// ---- Language models: how well they expect the token that comes next ----

/// Where a language model takes its tokens, and gives a row of scores for the one behind each.
struct TokenInterface {
  std::size_t ids = 0;              ///< the input: integers, [batch, length]
  std::optional<std::size_t> mask;  ///< the input: 0 where a token does not count
  std::size_t logits = 0;           ///< the output: f32, [batch, length, vocabulary]
};
/// The ids are the input called `input_ids`, else the first one that rows of a constant table
/// are looked up with; the mask is `attention_mask`; scores are the output called `logits`,
/// else the first one of their shape, that of a score for at least every second row of the
/// table. Nothing where ids or scores are missing.
std::optional<TokenInterface> token_interface(const Graph&);
/// Row `row` of an input of tokens, and of the mask, whose last columns count, if there is one.
std::vector<std::int64_t> tokens_of(const Tensor& ids, const Tensor* mask, std::size_t row);

/// Cross-entropy of the token that comes next: -log of its share in the softmax of the scores,
/// in nats. The sum is exact.
class NextTokenLoss {
 public:
  /// `scores` have a row for each of the tokens, f32. Row i is about token i + 1, unless either
  /// is masked (-1), and the last row about `label`, if there is one. Ids outside of the
  /// vocabulary, and scores that are not finite, leave the loss undefined.
  void observe(const Tensor& scores, std::span<const std::int64_t> tokens,
               std::optional<std::int64_t> label);
  void merge(const NextTokenLoss&);
  /// What it saw, for another process, always as many bytes; and what another one told.
  std::string told() const;
  void merge_told(std::string_view);

  std::uint64_t tokens() const { return tokens_; }  ///< how many were predicted
  std::optional<double> mean() const;               ///< nothing where it is not defined
  std::optional<double> perplexity() const;         ///< e to the mean

 private:
  ExactSum sum_;
  std::uint64_t tokens_ = 0;
  bool is_defined_ = true;
};

}  // namespace tare
