#include "datamanager/catalog/index_parts.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/index/index_store.h"
#include "glog/logging.h"
#include "runtime/thread_pool.h"

namespace datamanager {

std::unique_ptr<RunIndexes> OpenIndexes(const runtime::Locations& locations,
                                        std::uint64_t byte_budget) {
  auto store =
      IndexStore::Open({.directory = absl::StrCat(locations.state_directory, "/datamanager/index"),
                        .byte_budget = byte_budget});
  LOG_IF(WARNING, !store.ok()) << "all runs are read anew after a restart: "
                               << store.status().message();
  if (!store.ok() || byte_budget == 0) return nullptr;
  return std::make_unique<RunIndexes>(*std::move(store));
}

void ServeIndexes(bus::ServiceProcess* process, RunCatalog* catalog, const RunIndexes* indexes,
                  absl::Duration stop_grace) {
  process->AddCounter("event_bytes_read", [=] { return catalog->GetStats().event_bytes_read; });
  if (indexes == nullptr) return;
  const auto count = [&](const char* name, auto value) {
    process->AddCounter(name, [=] { return value(indexes->GetStats()); });
  };
  using Stats = RunIndexes::Stats;
  count("event_bytes_spared", [](const Stats& stats) { return stats.spared_bytes; });
  count("indexes_used", [](const Stats& stats) { return stats.used; });
  count("indexes_refused", [](const Stats& stats) { return stats.refused; });
  count("indexes_rebuilt", [](const Stats& stats) { return stats.rebuilt; });
  count("indexes_written", [](const Stats& stats) { return stats.written; });
  count("indexes_failed", [](const Stats& stats) { return stats.failed; });
  process->AddGauge("index_bytes", [=] { return indexes->GetStats().store.bytes; });
  process->OnStop([=] {
    (void)process->pool()->Submit([=, hold = process->HoldStop()] {
      catalog->WriteIndexes(RunIndexes::Which::kChanged, stop_grace / 2);
      return absl::OkStatus();
    });
  });
}

}  // namespace datamanager
