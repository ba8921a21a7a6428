#include "calibrate/statistics/statistics_bytes.h"

#include <span>
#include <utility>
#include <vector>

namespace tare {

void add(const TensorStatistics& statistics, ByteWriter& writer) {
  const TensorStatistics::Fields fields = statistics.fields();
  writer.add(fields.low);
  writer.add(fields.high);
  for (const std::uint64_t count :
       {fields.count, fields.zeros, fields.nan, fields.infinite, fields.samples}) {
    writer.add(count);
  }
  writer.add(fields.lows.words());
  writer.add(fields.highs.words());
  writer.add(fields.exponent);
  writer.add_all(std::span<const std::uint64_t>(fields.bins));
}

TensorStatistics read_tensor_statistics(ByteReader& reader) {
  TensorStatistics::Fields fields;
  fields.low = reader.get<float>();
  fields.high = reader.get<float>();
  for (std::uint64_t* count :
       {&fields.count, &fields.zeros, &fields.nan, &fields.infinite, &fields.samples}) {
    *count = reader.get<std::uint64_t>();
  }
  fields.lows = ExactSum::of(reader.get<ExactSum::Words>());
  fields.highs = ExactSum::of(reader.get<ExactSum::Words>());
  fields.exponent = reader.get<int>();
  fields.bins = reader.get_all<std::uint64_t>();
  return TensorStatistics::of(std::move(fields));
}

void add(const ChannelStatistics& statistics, ByteWriter& writer) {
  writer.add(statistics.elements());
  writer.add_all(std::span<const float>(statistics.lows()));
  writer.add_all(std::span<const float>(statistics.highs()));
  writer.add(std::uint64_t{statistics.channels()});
  for (const ExactSum& sum : statistics.sums()) {
    writer.add(sum.words());
  }
}

ChannelStatistics read_channel_statistics(ByteReader& reader) {
  const auto elements = reader.get<std::uint64_t>();
  std::vector<float> lows = reader.get_all<float>();
  std::vector<float> highs = reader.get_all<float>();
  std::vector<ExactSum> sums(reader.counted(sizeof(ExactSum::Words)));
  for (ExactSum& sum : sums) {
    sum = ExactSum::of(reader.get<ExactSum::Words>());
  }
  return ChannelStatistics::of(elements, std::move(lows), std::move(highs), std::move(sums));
}

void add(const Observed& observed, ByteWriter& writer) {
  add(observed.values, writer);
  writer.add(std::uint64_t{observed.mixed_channels});
  add(observed.channels, writer);
  add(observed.holdout, writer);
}

Observed read_observed(ByteReader& reader) {
  Observed result;
  result.values = read_tensor_statistics(reader);
  result.mixed_channels = reader.get<std::uint64_t>() != 0;
  result.channels = read_channel_statistics(reader);
  result.holdout = read_channel_statistics(reader);
  return result;
}

}  // namespace tare
