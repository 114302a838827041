#include "tools/yard/pool/pool_view.h"

#include "absl/strings/str_cat.h"
#include "tools/yard/follow/things_json.h"
#include "tools/yard/text/table.h"

namespace yard {

std::string NameOfNodeState(msg::NodeState state) {
  switch (state) {
    case msg::NodeState::Connected:
      return "connected";
    case msg::NodeState::Draining:
      return "draining";
    case msg::NodeState::Away:
      return "away";
  }
  return "unknown";
}

nlohmann::json NodeToJson(const msg::NodeT& node) {
  return {{"name", node.name},
          {"kind", "node"},
          {"pool", node.pool},
          {"address", node.address},
          {"state", NameOfNodeState(node.state)},
          {"since", TimeToJson(node.since_us)},
          {"why", TextOrNull(node.why)},
          {"draining", node.draining},
          {"host", TextOrNull(node.host)},
          {"cpus", node.cpus},
          {"memory_bytes", node.memory_bytes},
          {"gpus", node.gpus},
          {"gpus_used", node.gpus_used},
          {"version", TextOrNull(node.version)},
          {"slots", node.slots},
          {"slots_used", node.slots_used},
          {"tasks", node.tasks}};
}

std::string NodeTable(const std::vector<msg::NodeT>& nodes, absl::Time now, int width) {
  Table table({"POOL", "NAME", "HOST", "STATE", ">SINCE", ">SLOTS", ">CPUS", ">MEMORY", ">GPUS",
               "VERSION", "WHY"});
  for (const msg::NodeT& node : nodes) {
    // It has said nothing of its host yet.
    const bool is_known = !node.host.empty();
    table.AddRow(
        {node.pool, node.name, node.address, NameOfNodeState(node.state),
         node.since_us == 0 ? "" : ShortDuration(now - absl::FromUnixMicros(node.since_us)),
         is_known ? absl::StrCat(node.slots_used, "/", node.slots) : "-",
         is_known ? absl::StrCat(node.cpus) : "-", is_known ? ShortBytes(node.memory_bytes) : "-",
         is_known ? absl::StrCat(node.gpus_used, "/", node.gpus.size()) : "-",
         is_known ? node.version : "-", node.why});
  }
  return table.ToString(width);
}

}  // namespace yard
