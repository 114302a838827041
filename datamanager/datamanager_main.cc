// The data manager: reads run directories and serves queries about them.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/event/publisher.h"
#include "bus/process/service_process.h"
#include "bus/schema/envelope_generated.h"
#include "datamanager/annotation_methods.h"
#include "datamanager/cache_methods.h"
#include "datamanager/catalog/index_parts.h"
#include "datamanager/catalog/load_scheduler.h"
#include "datamanager/catalog/memory_budget.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_indexes.h"
#include "datamanager/catalog/run_removal.h"
#include "datamanager/catalog/run_updaters.h"
#include "datamanager/catalog/trash_keeper.h"
#include "datamanager/disk_methods.h"
#include "datamanager/find/run_follower.h"
#include "datamanager/find/run_tree.h"
#include "datamanager/point_topics.h"
#include "datamanager/removal_methods.h"
#include "datamanager/run_methods.h"
#include "datamanager/tensorboard/socket_taker.h"
#include "eventlog/open_file_bound.h"
#include "glog/logging.h"
#include "runtime/event_loop.h"
#include "runtime/file/file_limit.h"
#include "runtime/file/local_path.h"
#include "runtime/file/locations.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/service_flags.h"
#include "runtime/thread_pool.h"

ABSL_FLAG(std::string, logdir, "runs", "Directory with the runs, at any depth.");
ABSL_FLAG(std::string, include, "",
          "Only runs whose name it finds (RE2), such as \"^(train|eval)/\"; empty: all.");
ABSL_FLAG(
    std::string, exclude, "",
    "Directories below the logdir that are not looked into: those whose path it finds (RE2).");
ABSL_FLAG(std::uint64_t, cache_mb, 0,
          "Memory for points, in MiB; what it cannot hold is read again when it is asked for. 0: a "
          "quarter of what the process may use.");
ABSL_FLAG(std::uint64_t, index_bytes, std::uint64_t{2} << 30,
          "Disk for what was read of runs, so that a restart need not read them again; 0: none.");
ABSL_FLAG(int, load_threads, 0, "Threads that read runs, at most 30; 0: one a core.");
ABSL_FLAG(absl::Duration, trash_age, absl::Hours(30 * 24),
          "How long removed runs stay in the trash of the logdir; 0: until somebody empties it.");
ABSL_FLAG(absl::Duration, reload_interval, absl::Seconds(3),
          "How often what inotify cannot see is looked at; 0: once, and nothing is followed.");
ABSL_FLAG(absl::Duration, stop_grace, absl::Seconds(10), "How long a graceful stop may take.");
ABSL_FLAG(std::string, supervisor, "",
          "The supervisor that restarts this service; \"external\": not the yard.");
ABSL_FLAG(std::string, listen, "", "Address to serve on; default: its socket in the yard.");

namespace {

constexpr absl::Duration kTidiesEvery = absl::Seconds(5);
constexpr absl::Duration kTidiesTrashEvery = absl::Minutes(1);
constexpr absl::Duration kWritesFor = absl::Seconds(1);  // Limit for one round of writing.

bus::ServiceProcess::Options ProcessOptions() {
  return {.name = "datamanager",
          .stop_grace = absl::GetFlag(FLAGS_stop_grace),
          .supervisor = absl::GetFlag(FLAGS_supervisor),
          .listen = absl::GetFlag(FLAGS_listen)};
}

absl::StatusOr<int> Threads() {
  return datamanager::LoadThreads(absl::GetFlag(FLAGS_load_threads),
                                  std::thread::hardware_concurrency());
}

absl::Status CheckFlags() {
  if (absl::Status good = Threads().status(); !good.ok()) return good;
  if (absl::GetFlag(FLAGS_trash_age) < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--trash_age is below 0");
  }
  const std::uint64_t cache_mb = absl::GetFlag(FLAGS_cache_mb);
  if (cache_mb > std::numeric_limits<std::uint64_t>::max() >> 20) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cache_mb is ", cache_mb, ": it must be below 2^44"));
  }
  for (const auto& [name, pattern] : {std::pair("include", absl::GetFlag(FLAGS_include)),
                                      {"exclude", absl::GetFlag(FLAGS_exclude)}}) {
    const auto patterns = datamanager::PatternsOfFlag(name, pattern);
    if (!patterns.ok()) return patterns.status();
  }
  return bus::ServiceProcess::CheckFlags(ProcessOptions());
}

int Run() {
  const runtime::FileLimit limit = runtime::RaiseFileLimit();
  auto process = bus::ServiceProcess::Create(ProcessOptions());
  if (!process.ok()) return runtime::ReportAndExitCode("datamanager", process.status());
  bus::Publisher* const publisher = (*process)->publisher();
  const auto publish = [publisher](std::string_view topic, msg::EnvelopeT event) {
    return publisher->PublishEnvelope(topic, std::move(event));
  };
  const auto threads = Threads();
  if (!threads.ok()) return runtime::ReportAndExitCode("datamanager", threads.status());
  const std::uint64_t cache_mb = absl::GetFlag(FLAGS_cache_mb);
  auto include = datamanager::PatternsOfFlag("include", absl::GetFlag(FLAGS_include));
  if (!include.ok()) return runtime::ReportAndExitCode("datamanager", include.status());
  auto exclude = datamanager::PatternsOfFlag("exclude", absl::GetFlag(FLAGS_exclude));
  if (!exclude.ok()) return runtime::ReportAndExitCode("datamanager", exclude.status());
  const std::unique_ptr<datamanager::RunIndexes> indexes =
      datamanager::OpenIndexes((*process)->locations(), absl::GetFlag(FLAGS_index_bytes));
  const std::string typed = absl::GetFlag(FLAGS_logdir);
  const absl::Status local = runtime::CheckLocalPath("--logdir", typed);
  if (!local.ok()) return runtime::ReportAndExitCode("datamanager", local);
  const std::string logdir = runtime::AbsolutePath(typed);
  auto created = datamanager::RunCatalog::Create(
      {.root = logdir,
       .byte_budget = cache_mb > 0 ? cache_mb << 20 : datamanager::DefaultMemoryBudget(),
       .load_threads = *threads,
       .open_files = eventlog::OpenFileBound::For(*threads, limit.hard),
       .on_points =
           [publish](const auto& run, const auto& tag, auto generation, auto first,
                     const auto& points) {
             datamanager::PublishPoints(publish, run, tag, generation, first, points);
           },
       .indexes = indexes.get()});
  if (!created.ok()) return runtime::ReportAndExitCode("datamanager", created.status());
  datamanager::RunCatalog& catalog = **created;
  datamanager::AddUpdaters(&catalog);
  datamanager::AddRunMethods((*process)->service(), &catalog, (*process)->pool(),
                             (*process)->loop());
  (*process)->AddGauge("runs", [&] { return catalog.GetStats().runs; });
  (*process)->AddGauge("point_bytes", [&] { return catalog.GetStats().cache.bytes; });
  (*process)->AddGauge("records", [&] { return catalog.GetStats().records; });
  (*process)->AddGauge("bad_records", [&] { return catalog.GetStats().bad_records; });
  (*process)->AddCounter("runs_dropped", [&] { return catalog.GetStats().cache.evicted; });
  datamanager::RunTree::Options tree;
  tree.root = logdir;
  tree.include = *std::move(include);
  tree.exclude = *std::move(exclude);
  tree.threads = *threads;
  tree.looked_into = catalog.looked_into();
  auto follower = datamanager::RunFollower::Create(
      (*process)->loop(),
      {.tree = std::move(tree), .reload_interval = absl::GetFlag(FLAGS_reload_interval)},
      {.scan_began = [&catalog] { catalog.ScanBegan(); },
       .found =
           [&catalog](datamanager::RunFollower::Scope scope, const auto& delta, auto runs,
                      const auto& unreadable) {
             catalog.Found(delta, runs, unreadable,
                           scope == datamanager::RunFollower::Scope::kListing);
           },
       .grown = [&catalog](const auto& run, const auto& files) { catalog.Grown(run, files); }});
  if (!follower.ok()) return runtime::ReportAndExitCode("datamanager", follower.status());
  datamanager::AddCacheMethods((*process)->service(),
                               {.catalog = &catalog,
                                .follower = follower->get(),
                                .indexes = indexes.get(),
                                .pool = (*process)->pool(),
                                .load_threads = *threads,
                                .reload_interval = absl::GetFlag(FLAGS_reload_interval)});
  datamanager::AddAnnotationMethods(
      (*process)->service(),
      {.client = (*process)->client(),
       .find = [&catalog](const std::string& run) -> absl::StatusOr<datamanager::BriefItemPtr> {
         auto name = catalog.FindName(run);
         if (!name.ok()) return name.status();
         return catalog.Brief(*name);
       }});
  const auto runs = [&catalog]() -> absl::StatusOr<std::vector<datamanager::RemovableRun>> {
    if (auto names = catalog.Names(); !names.ok()) return names.status();
    std::vector<datamanager::RemovableRun> all;
    for (const auto& run : catalog.Runs()) {
      all.push_back({.name = run.listed->name,
                     .directory = run.listed->directory,
                     .update_us = run.update_us,
                     .generation = run.generation});
    }
    return all;
  };
  datamanager::AddRemovalMethods((*process)->service(),
                                 {.client = (*process)->client(), .logdir = logdir, .runs = runs});
  const absl::Duration age = absl::GetFlag(FLAGS_trash_age);
  const datamanager::TrashKeeper trash(
      {.logdir = logdir, .age = age > absl::ZeroDuration() ? age : absl::InfiniteDuration()});
  datamanager::AddDiskMethods((*process)->service(),
                              {.logdir = logdir, .trash = &trash, .runs = runs});
  // TensorBoard data servers that show the same runs hand their sockets over to this process.
  const std::string tensorboard = (*process)->locations().runtime_directory + "/tensorboard";
  auto taker = datamanager::tensorboard::SocketTaker::Create(
      {.loop = (*process)->loop(),
       .coordinator = (*process)->coordinator(),
       .catalog = &catalog,
       .path = tensorboard,
       .reload_interval = absl::GetFlag(FLAGS_reload_interval),
       .all_runs = absl::GetFlag(FLAGS_include).empty() && absl::GetFlag(FLAGS_exclude).empty()});
  if (!taker.ok()) return runtime::ReportAndExitCode("datamanager", taker.status());
  (*process)->KeepSocket("ipc://" + tensorboard, [&taker] { return (*taker)->ListenAgain(); });
  (*process)->AddGauge("tensorboards", [&taker] { return (*taker)->taken(); });
  (*process)->OnStop([&catalog, &taker] {
    catalog.Stop();
    (*taker)->Stop();
  });
  datamanager::ServeIndexes(process->get(), &catalog, indexes.get(),
                            absl::GetFlag(FLAGS_stop_grace));
  runtime::EventLoop* const loop = (*process)->loop();
  runtime::ThreadPool* const pool = (*process)->pool();
  std::function<void()> tidy = [&] {
    // (If the pool is full, the next period tries again.)
    (void)pool->Submit([&catalog] {
      catalog.EndLingering();
      catalog.ReadDeferred();
      catalog.WriteIndexes(datamanager::RunIndexes::Which::kDue, kWritesFor);
      return absl::OkStatus();
    });
    loop->RunAfter(kTidiesEvery, tidy);
  };
  loop->Post(tidy);
  std::function<void()> tidy_trash = [&] {
    (void)pool->Submit([&] {
      const absl::Status tidied =
          trash.Tidy([&] { return (*process)->coordinator()->ShouldStop(); });
      LOG_IF_EVERY_N(ERROR, !tidied.ok(), 60) << "the trash: " << tidied;
      return absl::OkStatus();
    });
    loop->RunAfter(kTidiesTrashEvery, tidy_trash);
  };
  loop->Post(tidy_trash);
  return (*process)->Run();
}

}  // namespace

int main(int argc, char** argv) {
  runtime::ParseFlags("datamanager",
                      "The yard's data manager: reads runs, answers about their points.", argc,
                      argv);
  if (const auto end = runtime::EndAfterCheck("datamanager", CheckFlags())) return *end;
  const absl::Status entered = runtime::EnterCallersDirectory();
  if (!entered.ok()) return runtime::ReportAndExitCode("datamanager", entered);
  return Run();
}
