#include "tools/yard/top/facts_json.h"

#include "bus/json/usage_json.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/pool/pool_view.h"
#include "tools/yard/text/table.h"

namespace yard::top {
namespace {

// Adds the rates, which are computed from two measurements.
nlohmann::json UsageJson(const Facts& facts) {
  nlohmann::json usage = bus::ToJson(facts.usage);
  for (nlohmann::json& row : usage["tasks"]) {
    const auto task = row["task"].get<std::string>();
    const auto cores = facts.rates.cores.find(task);
    const auto disk = facts.rates.disks.find(task);
    const bool has_cores = cores != facts.rates.cores.end();
    const bool has_disk = disk != facts.rates.disks.end();
    row["cores"] = has_cores ? nlohmann::json(cores->second) : nlohmann::json();
    row["read_bytes_per_s"] = has_disk ? nlohmann::json(disk->second.read) : nlohmann::json();
    row["written_bytes_per_s"] = has_disk ? nlohmann::json(disk->second.written) : nlohmann::json();
  }
  return usage;
}

}  // namespace

nlohmann::json ToJson(const Facts& facts) {
  nlohmann::json services = nlohmann::json::array(), sweeps = services, trials = services,
                 jobs = services, nodes = services;
  for (const ServiceRow& row : facts.services) {
    services.push_back({{"service", row.service},
                        {"state", row.state},
                        {"pid", PidToJson(row.pid)},
                        {"restarts", row.restarts}});
  }
  for (const msg::SweepT& sweep : facts.sweeps) sweeps.push_back(yard::ToJson(sweep));
  for (const msg::TrialT& trial : facts.trials) trials.push_back(yard::ToJson(trial));
  for (const msg::JobT& job : facts.jobs) jobs.push_back(yard::ToJson(job));
  for (const msg::NodeT& node : facts.nodes) nodes.push_back(NodeToJson(node));
  return {{"time", TimeToJson(absl::ToUnixMicros(facts.at))},
          {"services", std::move(services)},
          {"sweeps", std::move(sweeps)},
          {"trials", std::move(trials)},
          {"jobs", std::move(jobs)},
          {"nodes", std::move(nodes)},
          {"usage", UsageJson(facts)}};
}

}  // namespace yard::top
