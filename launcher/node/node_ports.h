#ifndef LAUNCHER_NODE_NODE_PORTS_H_
#define LAUNCHER_NODE_NODE_PORTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/share/held_ports.h"

namespace launcher {

// The ports that a job holds on a node: the answer to NodeOrder::kTakePorts, as one frame
// (node_frames.h).
struct NodePortsTaken {
  static constexpr std::size_t kMaxPorts = 2048;

  std::uint64_t number = 0;     // The number of the order.
  std::vector<int> ports = {};  // As many as were requested; if empty, `why` says why.
  std::string why = {};

  bool operator==(const NodePortsTaken&) const = default;
  // Encodes the message as the content of one frame.
  std::string Encode() const;
  // Returns nullopt if the bytes are another message or malformed.
  static std::optional<NodePortsTaken> Decode(std::string_view bytes);
};

// The ports of this host that jobs of a remote launcher use for their tasks here. Each is held
// (held_ports.h) until Keep() does not name its job, or this object is destroyed. Not thread-safe.
class NodePorts {
 public:
  explicit NodePorts(HeldPorts::Options options) : held_(std::move(options)) {}

  // Takes ports until the job has at least `count`, and returns the first `count` of them, always
  // in the same order. ResourceExhausted as from HeldPorts::Take(), or if all jobs together would
  // have more than NodePortsTaken::kMaxPorts.
  absl::StatusOr<std::vector<int>> Take(const std::string& job, std::size_t count);
  // Stops holding a port that a program is about to bind; the port still belongs to the job.
  void LetGo(const std::string& job, int port) { held_.LetGo(job, port); }
  // Releases the ports of all other jobs.
  void Keep(const std::set<std::string>& jobs);

 private:
  HeldPorts held_;
  std::map<std::string, std::vector<int>> ports_;  // By job.
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_PORTS_H_
