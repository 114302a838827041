#include "datamanager/tensorboard/data_server.h"

#include <stdio.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "datamanager/catalog/load_scheduler.h"
#include "datamanager/catalog/memory_budget.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_updaters.h"
#include "datamanager/find/run_follower.h"
#include "datamanager/find/run_tree.h"
#include "datamanager/tensorboard/call_threads.h"
#include "datamanager/tensorboard/h2_server.h"
#include "datamanager/tensorboard/provider.h"
#include "datamanager/tensorboard/stdin_watch.h"
#include "eventlog/open_file_bound.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/file/file_limit.h"

namespace datamanager::tensorboard {
namespace {

constexpr absl::Duration kTidiesEvery = absl::Seconds(5);

// Reports that everything was read.
void Say(const RunCatalog& catalog) {
  const RunCatalog::Stats stats = catalog.GetStats();
  fprintf(stderr, "yard-data-server: has read %llu records of %llu runs\n",
          static_cast<unsigned long long>(stats.records),
          static_cast<unsigned long long>(stats.runs));
}

absl::StatusOr<std::unique_ptr<RunFollower>> Follow(const ServerFlags& flags, int threads,
                                                    runtime::EventLoop* loop, RunCatalog* catalog) {
  RunTree::Options tree;
  tree.root = flags.logdir;
  tree.threads = threads;
  tree.looked_into = catalog->looked_into();
  return RunFollower::Create(
      loop, {.tree = std::move(tree), .reload_interval = flags.reload},
      {.scan_began = [catalog] { catalog->ScanBegan(); },
       .found =
           [catalog, says = flags.verbose > 0](RunFollower::Scope scope, const auto& delta,
                                               auto runs, const auto& unreadable) mutable {
             catalog->Found(delta, runs, unreadable, scope == RunFollower::Scope::kListing);
             if (std::exchange(says, false)) catalog->WhenLoaded([catalog] { Say(*catalog); });
           },
       .grown = [catalog](const auto& run, const auto& files) { catalog->Grown(run, files); }});
}

}  // namespace

absl::Status Serve(const ServerFlags& flags, std::vector<runtime::UniqueFd> sockets) {
  const runtime::FileLimit limit = runtime::RaiseFileLimit();
  if (flags.die_after_stdin) WhenStdinEnds([] { _exit(0); });
  const auto threads = LoadThreads(0, std::thread::hardware_concurrency());
  if (!threads.ok()) return threads.status();
  const auto catalog = RunCatalog::Create(
      {.root = flags.logdir,
       .byte_budget = flags.cache_mb > 0 ? flags.cache_mb << 20 : DefaultMemoryBudget(),
       .load_threads = *threads,
       .open_files = eventlog::OpenFileBound::For(*threads, limit.hard)});
  if (!catalog.ok()) return catalog.status();
  AddUpdaters(catalog->get());
  runtime::Coordinator coordinator;
  CallThreads calls(&coordinator);
  const auto loop = runtime::EventLoop::Create();
  const H2Server server({.loop = loop.get(),
                         .listeners = std::move(sockets),
                         .on_call = calls.AnswersOf(Provider::Create({.catalog = catalog->get(),
                                                                      .logdir = flags.logdir,
                                                                      .overlap = flags.overlap,
                                                                      .samples = flags.samples}))});
  const auto follower = Follow(flags, *threads, loop.get(), catalog->get());
  if (!follower.ok()) return follower.status();
  std::function<void()> tidy = [&] {
    // (If the threads are too busy, the next period tries again.)
    (void)calls.Run([&catalog] { (*catalog)->EndLingering(); });
    loop->RunAfter(kTidiesEvery, tidy);
  };
  loop->Post(tidy);
  loop->Run();
  return absl::OkStatus();
}

}  // namespace datamanager::tensorboard
