#ifndef LAUNCHER_NODE_NODE_USAGE_H_
#define LAUNCHER_NODE_NODE_USAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bus/schema/launcher_generated.h"

namespace launcher {

// The resource usage of a node's attempts and GPUs: the answer to NodeOrder::kUsage, as one frame
// (node_frames.h). A node of a version that does not know the order does not answer.
struct NodeUsage {
  static constexpr std::size_t kMaxGpus = 512;

  std::uint64_t number = 0;  // The number of the order.
  // `task` is the key of an attempt, and `attempt` is 0.
  std::vector<msg::TaskUsageT> attempts = {};
  std::vector<msg::GpuUsageT> gpus = {};

  std::string Encode() const;
  // Returns nullopt if the bytes are another message or malformed.
  static std::optional<NodeUsage> Decode(std::string_view bytes);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_USAGE_H_
