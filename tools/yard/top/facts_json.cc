#include "tools/yard/top/facts_json.h"

#include "tools/yard/follow/things_json.h"
#include "tools/yard/text/table.h"

namespace yard::top {
namespace {

nlohmann::json UsageJson(const Facts& facts) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const auto& task : facts.usage.tasks) {
    const auto cores = facts.cores.find(task->task);
    tasks.push_back(
        {{"task", task->task},
         {"attempt", task->attempt},
         {"cores", cores == facts.cores.end() ? nlohmann::json() : nlohmann::json(cores->second)},
         {"cpu_s", static_cast<double>(task->cpu_us) / 1e6},
         {"rss_bytes", task->rss_bytes},
         {"processes", task->processes},
         {"source", task->source}});
  }
  return {{"cores", facts.usage.cores},
          {"memory_bytes", facts.usage.memory_bytes},
          {"tasks", std::move(tasks)}};
}

}  // namespace

nlohmann::json ToJson(const Facts& facts) {
  nlohmann::json services = nlohmann::json::array(), trials = services, jobs = services;
  for (const ServiceRow& row : facts.services) {
    services.push_back({{"service", row.service},
                        {"state", row.state},
                        {"pid", PidToJson(row.pid)},
                        {"restarts", row.restarts}});
  }
  for (const msg::TrialT& trial : facts.trials) trials.push_back(yard::ToJson(trial));
  for (const msg::JobT& job : facts.jobs) jobs.push_back(yard::ToJson(job));
  return {{"time", TimeToJson(absl::ToUnixMicros(facts.at))},
          {"services", std::move(services)},
          {"trials", std::move(trials)},
          {"jobs", std::move(jobs)},
          {"usage", UsageJson(facts)}};
}

}  // namespace yard::top
