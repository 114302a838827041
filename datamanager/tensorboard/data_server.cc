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
#include "datamanager/tensorboard/grpc_framing.h"
#include "datamanager/tensorboard/h2_server.h"
#include "datamanager/tensorboard/provider.h"
#include "datamanager/tensorboard/stdin_watch.h"
#include "eventlog/open_file_bound.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/file/file_limit.h"
#include "runtime/thread_pool.h"

namespace datamanager::tensorboard {
namespace {

// Those that wait for a run hold up no list.
constexpr int kListThreads = 2;
constexpr int kReadThreads = 8;
constexpr std::size_t kMostCalls = 1024;  // That wait for a thread, of each kind.
constexpr absl::Duration kTidiesEvery = absl::Seconds(5);

using Handler = std::function<void(std::string path, std::string message, H2Server::Reply reply)>;

// Answers at once what needs no effort, the rest on the threads for it.
Handler AnswerOn(Provider* provider, runtime::ThreadPool* lists, runtime::ThreadPool* reads) {
  return [provider, lists, reads](std::string path, std::string message, H2Server::Reply reply) {
    const Provider::Effort effort = Provider::EffortOf(path);
    if (effort == Provider::Effort::kNone) return reply(provider->Answer(path, message));
    runtime::ThreadPool* const pool = effort == Provider::Effort::kList ? lists : reads;
    const absl::Status taken =
        pool->Submit([provider, path = std::move(path), message = std::move(message), reply] {
          reply(provider->Answer(path, message));
          return absl::OkStatus();
        });
    if (!taken.ok()) reply({taken, {}});
  };
}

// What there is has been read.
void Say(const RunCatalog& catalog) {
  const RunCatalog::Stats stats = catalog.GetStats();
  fprintf(stderr, "yard-data-server: has read %llu records of %llu runs\n",
          static_cast<unsigned long long>(stats.records),
          static_cast<unsigned long long>(stats.runs));
}

absl::StatusOr<std::unique_ptr<RunFollower>> Follow(const ServerFlags& flags, int threads,
                                                    runtime::EventLoop* loop, RunCatalog* catalog,
                                                    Provider* provider) {
  RunTree::Options tree;
  tree.root = flags.logdir;
  tree.threads = threads;
  tree.looked_into = catalog->looked_into();
  return RunFollower::Create(
      loop, {.tree = std::move(tree), .reload_interval = flags.reload},
      {.scan_began = [catalog] { catalog->ScanBegan(); },
       .found =
           [catalog, provider, says = flags.verbose > 0](RunFollower::Look look, const auto& delta,
                                                         auto runs,
                                                         const auto& unreadable) mutable {
             catalog->Found(delta, runs, unreadable, look == RunFollower::Look::kListing);
             provider->Scanned();
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
  const std::unique_ptr<Provider> provider = Provider::Create({.catalog = catalog->get(),
                                                               .logdir = flags.logdir,
                                                               .overlap = flags.overlap,
                                                               .samples = flags.samples});
  runtime::Coordinator coordinator;
  const auto lists = runtime::ThreadPool::Create(
      &coordinator, {.name = "list", .threads = kListThreads, .queue_limit = kMostCalls});
  const auto reads = runtime::ThreadPool::Create(
      &coordinator, {.name = "read", .threads = kReadThreads, .queue_limit = kMostCalls});
  const auto loop = runtime::EventLoop::Create();
  const auto server =
      H2Server::Create({.loop = loop.get(),
                        .listeners = std::move(sockets),
                        .on_call = AnswerOn(provider.get(), lists.get(), reads.get())});
  const auto follower = Follow(flags, *threads, loop.get(), catalog->get(), provider.get());
  if (!follower.ok()) return follower.status();
  std::function<void()> tidy = [&] {
    // (A pool that has too much to do is asked again.)
    (void)reads->Submit([&catalog] {
      (*catalog)->EndLingering();
      return absl::OkStatus();
    });
    loop->RunAfter(kTidiesEvery, tidy);
  };
  loop->Post(tidy);
  loop->Run();
  return absl::OkStatus();
}

}  // namespace datamanager::tensorboard
