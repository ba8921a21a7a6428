// Digests (XXH3, base/hash.h) of samples as they are read. Their sum modulo 2^64 names a set of
// samples in whatever order they were read, and equal digests are repeated samples. Threads
// that read the same sample store the same number. Cost: hashing each byte once a read.
#include "calibrate/statistics/sample_digests.h"

#include "base/bytes.h"
#include "base/hash.h"

#include <span>

namespace tare {

SampleDigests::SampleDigests(const Dataset& data) : data_(data) {
  for (const DatasetInput& input : data.inputs()) {
    digests_.emplace(input.name, data.size());
  }
}

Tensor SampleDigests::read(const std::string& input, std::size_t first,
                           std::size_t count) const {
  Tensor result = data_.read(input, first, count);
  auto& digests = digests_.at(input);
  const std::uint64_t seed = hash(input);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = result.byte_size() / count;
    digests[first + i] = hash({result.data() + i * bytes, bytes}, seed);
  }
  return result;
}

std::vector<SampleDigests::Sample> SampleDigests::observed() const {
  std::vector<Sample> result;
  for (std::size_t index = 0; index < size(); ++index) {
    Sample sample{0, index};
    for (const auto& [name, digests] : digests_) {
      const std::uint64_t own = digests[index];
      if (own != 0) {
        sample.digest = hash(std::as_bytes(std::span(&own, 1)), sample.digest);
      }
    }
    if (sample.digest != 0) {
      result.push_back(sample);
    }
  }
  return result;
}

void SampleDigests::share(Communicator& communicator) {
  ByteWriter writer;
  for (const auto& [name, digests] : digests_) {
    for (const std::atomic<std::uint64_t>& digest : digests) {
      writer.add(digest.load());
    }
  }
  for (const std::string& bytes : communicator.gather(writer.take(), Message::kOther)) {
    ByteReader reader(bytes);
    for (auto& [name, digests] : digests_) {
      for (std::atomic<std::uint64_t>& digest : digests) {
        if (const auto other = reader.get<std::uint64_t>(); other != 0) {
          digest = other;
        }
      }
    }
  }
}

std::uint64_t SampleDigests::sum() const {
  std::uint64_t result = 0;
  for (const Sample& sample : observed()) {
    result += sample.digest;
  }
  return result;
}

}  // namespace tare
