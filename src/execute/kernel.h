#pragma once

#include "tare/node.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tare {

class Packing;

/// Order of a value's elements in memory. Channels-last (axis 1 fastest: NHWC, NWC, NDHWC)
/// exists for values of rank 3 and more; oneDNN needs it to be fast.
enum class Layout : std::uint8_t { kPlain, kChannelsLast };

/// One operand or result, as known when a kernel is made.
struct Operand {
  const TensorType* type = nullptr;  ///< null: the optional operand is absent
  Layout layout = Layout::kPlain;    ///< constants are always plain
  const Tensor* constant = nullptr;  ///< null when computed

  explicit operator bool() const { return type != nullptr; }
  const Shape& shape() const { return type->shape; }
  DType dtype() const { return type->dtype; }
  /// Extents in memory order: the shape itself, or with axis 1 moved to the end.
  Shape physical_shape() const;
  /// Elements between neighbours along each *logical* axis.
  std::vector<std::int64_t> strides() const;
  /// Position in memory order of a logical axis (0 <= axis < rank).
  std::size_t physical_axis(std::size_t axis) const;
};

/// Applied to the result of a kernel before it is stored, in order.
struct PostOp {
  enum class Kind : std::uint8_t {
    kClip,   ///< min(max(y, low), high); Relu is low 0, high infinity
    kAdd,    ///< y + operand, of the result's shape, type and layout (a residual)
    kScale,  ///< y * factors
    /// round(y * factors), halves to even, then the zero point of the result's type is added
    /// and the sum kept within its range. Of sums of products of storage values.
    kRequantize,
  };
  Kind kind = Kind::kClip;
  float low = 0;
  float high = 0;
  std::size_t operand = 0;  ///< kAdd: index into KernelRequest::inputs, after the node's own
  std::vector<float> factors{};  ///< one, or one for each index of `axis`
  std::optional<int> axis{};     ///< of the result

  friend bool operator==(const PostOp&, const PostOp&) = default;
};

/// Whether every factor is the same for all elements or varies along that axis.
bool scales_along(const std::vector<PostOp>&, std::size_t axis);

/// Everything a kernel may depend on: it is made once and then runs on many buffers.
struct KernelRequest {
  const Node* node = nullptr;
  std::vector<Operand> inputs;  ///< the node's, then those of post_ops
  std::vector<Operand> outputs;
  std::vector<PostOp> post_ops;        ///< only when KernelInfo::fuses_post_ops
  bool precise = false;                ///< as ExecuteOptions::precise
  std::vector<AffineRule> rules{};     ///< of the rows that the allow-list has for the operator
  std::shared_ptr<Packing> packing{};  ///< null: constants are packed at once

  const Attributes& attributes() const { return node->attributes; }
  /// Whether the node itself has operand i.
  bool has_input(std::size_t i) const { return i < node->inputs.size() && inputs[i]; }
  /// Value of a constant operand as integers. Throws Error(kUnsupported) when it is not
  /// constant.
  std::vector<std::int64_t> integers(std::size_t operand) const;
};

/// What one thread keeps for one kernel between runs (oneDNN memory objects); may be absent.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

struct Buffers {
  std::span<const std::byte* const> inputs;  ///< null for absent and for packed operands
  std::span<std::byte* const> outputs;
  std::byte* scratch = nullptr;  ///< scratch_bytes(), aligned to 64
  KernelState* state = nullptr;
};

/// A node made ready to run. Immutable: any number of threads run it at once, each with buffers
/// and a state of its own.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Whether a constant operand was made part of the kernel, so that run() does not get it.
  virtual bool packs(std::size_t /*operand*/) const { return false; }
  virtual std::size_t packed_bytes() const { return 0; }
  virtual std::unique_ptr<KernelState> make_state() const { return nullptr; }
  virtual void run(const Buffers&) const = 0;
};

/// How a kernel wants its operands laid out.
enum class LayoutRule : std::uint8_t {
  kPlain,                 ///< everything plain
  kChannelsLast,          ///< input 0 and output 0 channels-last, everything else plain
  kAllChannelsLast,       ///< all operands and results channels-last, where they are computed
  kOperandsChannelsLast,  ///< all computed operands channels-last, results plain
  kFollow,  ///< computed operands of the result's rank and all results share one layout,
            ///< whichever they arrive in; lower ranks are plain
};

/// The kernels of a family of operators; one file each in src/execute/kernels.
struct KernelInfo {
  std::vector<std::string> ops{};
  std::vector<AffineRule> rules{};  ///< and of operators with such a row of the allow-list
  /// Asked with all layouts plain.
  std::function<LayoutRule(const KernelRequest&)> layout = [](const KernelRequest&) {
    return LayoutRule::kPlain;
  };
  /// Null when the types or attributes are not supported; another kernel of the same operator
  /// may take them. Throws Error for what no kernel could take (a broken attribute).
  std::function<std::unique_ptr<Kernel>(const KernelRequest&)> make;
  bool fuses_post_ops = false;
  /// The result is the first operand's bytes under another shape: nothing runs. `make` may be
  /// empty, or decide about types by returning any kernel.
  bool alias = false;
  /// The first result may overwrite the first operand of the same size and layout.
  bool in_place = false;
  /// Understands TensorType::quant. Asked before the others where an operand or result holds
  /// storage values, and only there; what it leaves goes to kernels that merely move elements.
  bool for_storage = false;
  /// Whose arithmetic it follows. Nodes of another one are not for it.
  std::vector<Numerics> numerics{Numerics::kOnnxRuntime};
  /// Adds up as the node's tare::Accumulator says. Others are not asked where it says anything.
  bool takes_accumulators = false;
};

/// A kernel that is one function of its buffers.
std::unique_ptr<Kernel> make_kernel(std::function<void(const Buffers&)> run,
                                    std::size_t scratch_bytes = 0);

/// All of src/execute/kernels, in file order.
const std::vector<KernelInfo>& kernel_registry();
/// Those that may take a node, in the order in which they are asked; the first taker wins.
std::vector<const KernelInfo*> kernels_for(const KernelRequest&);

}  // namespace tare

/// Entry point of a file in src/execute/kernels; the file name is `stem`.
#define TARE_KERNEL(stem) ::tare::KernelInfo tare_kernel_##stem()
