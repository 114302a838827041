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

// Ports of a node that a job has there: the answer to NodeOrder::kTakePorts, as one frame
// (node_frames.h).
struct NodePortsTaken {
  static constexpr std::size_t kMaxPorts = 2048;

  std::uint64_t number = 0;     // The order's.
  std::vector<int> ports = {};  // As many as were asked for; none: `why`.
  std::string why = {};

  bool operator==(const NodePortsTaken&) const = default;
  std::string Encode() const;
  // Nothing if these are other words, or not well-formed.
  static std::optional<NodePortsTaken> Decode(std::string_view bytes);
};

// Ports of this host that jobs of a launcher elsewhere have for their tasks here. Each is held
// (held_ports.h) until the launcher does not name its job any more, or this is destroyed. One
// thread.
class NodePorts {
 public:
  explicit NodePorts(HeldPorts::Options options) : held_(std::move(options)) {}

  // The job has `count` ports here at least; the first `count` of them, always in the same order.
  // ResourceExhausted: as of HeldPorts::Take(), or all jobs together would have more than
  // NodePortsTaken::kMaxPorts.
  absl::StatusOr<std::vector<int>> Take(const std::string& job, std::size_t count);
  // The port is not held any more, as a program is about to bind it, and stays the job's.
  void LetGo(const std::string& job, int port) { held_.LetGo(job, port); }
  // Releases the ports of all other jobs.
  void Keep(const std::set<std::string>& jobs);

 private:
  HeldPorts held_;
  std::map<std::string, std::vector<int>> ports_;  // By job.
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_PORTS_H_
