#pragma once

#include "tare/tensor.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <google/protobuf/io/zero_copy_stream.h>
#include <onnx/onnx_pb.h>

namespace tare {

/// The message of a model with the bytes of constants in it, as protobuf writes it. Protobuf
/// would hold a copy of all of them.
class ModelMessage {
 public:
  /// `constants` are those of the first initializers, which have to live as long; null for one
  /// that has no bytes in the message.
  ModelMessage(onnx::ModelProto model, std::span<const Tensor* const> constants);

  std::size_t bytes() const;
  /// False where it has more than protobuf reads, 2^31 - 1 bytes, or the stream takes no more.
  bool write(google::protobuf::io::ZeroCopyOutputStream&) const;

 private:
  struct Initializer {
    std::string fields;                ///< all but the bytes
    const Tensor* constant = nullptr;  ///< null: none
  };

  static std::size_t bytes_of(const Initializer&);
  std::size_t graph_bytes() const;

  std::string before_graph_;
  std::string after_graph_;
  std::string before_initializers_;
  std::string after_initializers_;
  std::vector<Initializer> initializers_;
};

}  // namespace tare
