#include "tools/yard/pool/pool_view.h"

#include "absl/strings/str_cat.h"
#include "bus/wire/version.h"
#include "tools/yard/follow/json_output.h"
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

bool IsOutdated(const msg::NodeT& node) {
  return !node.version.empty() && node.version != std::string(bus::kVersion);
}

nlohmann::json NodeToJson(const msg::NodeT& node) {
  return {{"name", node.name},
          {"kind", "node"},
          {"pool", node.pool},
          {"address", node.address},
          {"state", NameOfNodeState(node.state)},
          {"allocation", TextOrNull(node.allocation)},
          {"since", TimeToJson(node.since_us)},
          {"why", TextOrNull(node.why)},
          {"draining", node.draining},
          {"host", TextOrNull(node.host)},
          {"cpus", node.cpus},
          {"memory_bytes", node.memory_bytes},
          {"gpus", node.gpus},
          {"gpus_used", node.gpus_used},
          {"version", TextOrNull(node.version)},
          {"outdated", IsOutdated(node)},
          {"slots", node.slots},
          {"slots_used", node.slots_used},
          {"tasks", node.tasks}};
}

namespace {

std::string WhyOf(const msg::NodeT& node) {
  if (!node.why.empty() || !IsOutdated(node)) return node.why;
  return absl::StrCat("it runs version ", node.version, ", and this is ",
                      std::string(bus::kVersion), "; next: yard restart pool-", node.pool, "-",
                      node.name, ", which ends its tasks");
}

}  // namespace

std::string NodeTable(const std::vector<msg::NodeT>& nodes, absl::Time now, int width) {
  Table table({"POOL", "NAME", "HOST", "STATE", ">SINCE", ">SLOTS", ">CPUS", ">MEMORY", ">GPUS",
               "VERSION", "WHY"});
  for (const msg::NodeT& node : nodes) {
    // A node without a host name has never connected.
    const bool is_known = !node.host.empty();
    table.AddRow(
        {node.pool, node.name, node.address.empty() ? node.host : node.address,
         NameOfNodeState(node.state),
         node.since_us == 0 ? "" : ShortDuration(now - absl::FromUnixMicros(node.since_us)),
         is_known ? absl::StrCat(node.slots_used, "/", node.slots) : "-",
         is_known ? absl::StrCat(node.cpus) : "-", is_known ? ShortBytes(node.memory_bytes) : "-",
         is_known ? absl::StrCat(node.gpus_used, "/", node.gpus.size()) : "-",
         is_known ? node.version : "-", WhyOf(node)});
  }
  return table.ToString(width);
}

}  // namespace yard
