// Invariants:
// - Everything but the work of Background() runs on the event loop's thread, which never blocks on
//   a command or a call.
// - A pool has at most one background step at a time; its state is stored before the step begins.
// - At most one squeue and one query of the launcher run at a time.

#include "tools/yard/slurm/slurm_keeper.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"
#include "runtime/thread_pool.h"
#include "runtime/timer.h"
#include "tools/yard/at/captured.h"
#include "tools/yard/slurm/shared_bundle.h"
#include "tools/yard/slurm/slurm_commands.h"
#include "tools/yard/slurm/slurm_pool.h"

namespace yard {
namespace {

using Step = Allocation::Step;

constexpr absl::Duration kToSubmit = absl::Seconds(30);
constexpr absl::Duration kToLook = absl::Seconds(60);
constexpr absl::Duration kToAsk = absl::Seconds(20);
constexpr absl::Duration kSoon = absl::Seconds(1);
constexpr absl::Duration kBetweenLooksAtLeast = absl::Seconds(2);
constexpr absl::Duration kGraceLess = absl::Seconds(2);  // Subtracted from Slurm's KillWait.
constexpr int kStepThreads = 4, kLookThreads = 2;
// Several times kBetweenTidying, because each tidying touches the programs that are in use.
constexpr absl::Duration kUnused = absl::Hours(24), kBetweenTidying = absl::Hours(1);
constexpr off_t kLastBytes = 4096;  // Limit of the read end of an error file.

// Returns a file in memory with this text, positioned at its beginning.
absl::StatusOr<runtime::UniqueFd> InMemory(std::string_view text) {
  runtime::UniqueFd file(memfd_create("slurm", MFD_CLOEXEC));
  if (!file.valid()) return absl::ErrnoToStatus(errno, "cannot make a file of memory");
  if (absl::Status written = runtime::WriteAll(file.get(), text); !written.ok()) return written;
  if (lseek(file.get(), 0, SEEK_SET) != 0) return absl::ErrnoToStatus(errno, "cannot seek");
  return file;
}

// Returns the last line of the file; empty if there is no line.
std::string LastLineOf(const std::string& path) {
  const runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file.valid() || fstat(file.get(), &about) != 0) return "";
  std::string text(static_cast<std::size_t>(kLastBytes), '\0');
  const off_t begin = std::max<off_t>(0, about.st_size - kLastBytes);
  const ssize_t count = pread(file.get(), text.data(), text.size(), begin);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : runtime::Printable(lines.back().substr(0, 400));
}

class SlurmKeeper {
 public:
  explicit SlurmKeeper(SlurmKeeperOptions options)
      : options_(std::move(options)),
        files_(options_.state_directory),
        nodes_(options_.state_directory, options_.calls),
        environment_(SlurmEnvironment(options_.environment)) {}

  absl::Status Run() {
    if (absl::Status made = runtime::MakePrivateDirectory(files_.directory()); !made.ok()) {
      return made;
    }
    const auto lock = runtime::LockFile(files_.directory() + "/keeper.lock");
    if (!lock.ok()) return lock.status();
    if (absl::Status watched = Watch(); !watched.ok()) return watched;
    steps_ = runtime::ThreadPool::Create(
        &coordinator_,
        {.name = "step", .threads = kStepThreads, .on_stop = runtime::ThreadPool::OnStop::kDrop});
    looks_ = runtime::ThreadPool::Create(
        &coordinator_,
        {.name = "look", .threads = kLookThreads, .on_stop = runtime::ThreadPool::OnStop::kDrop});
    loop_->Post([this] { Begin(); });
    loop_->Run();
    (void)coordinator_.RequestStop();
    // The pools wait for running work, which ends because each command and call has a deadline.
    steps_.reset();
    looks_.reset();
    return absl::OkStatus();
  }

 private:
  struct Kept {
    std::unique_ptr<Allocation> allocation;
    SlurmPoolState stored;
    std::string said;
  };
  struct Looked {
    absl::StatusOr<std::vector<QueuedJob>> jobs;
    std::string cluster;
  };

  // ---- Threads.

  // Runs `work` on a thread of `pool`, then `then` with its result on the loop's thread.
  template <typename Work, typename Then>
  void Background(runtime::ThreadPool* pool, Work work, Then then) {
    (void)pool->Submit([this, work = std::move(work), then = std::move(then)]() mutable {
      auto result = work();
      loop_->Post([then = std::move(then), result = std::move(result)]() mutable {
        then(std::move(result));
      });
      return absl::OkStatus();
    });
  }
  absl::StatusOr<Captured> Command(const std::vector<std::string>& words, absl::Duration timeout,
                                   const std::vector<std::string>& more = {},
                                   int input = -1) const {
    std::vector<std::string> environment = environment_;
    environment.insert(environment.end(), more.begin(), more.end());
    return Capture(words, {.environment = std::move(environment),
                           .keeps_stderr = true,
                           .input = input,
                           .new_session = true,
                           .limit = kMostQueueBytes,
                           .timeout = timeout});
  }

  // ---- Start and stop.

  absl::Status Watch() {
    changes_ = runtime::UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!changes_.valid() || inotify_add_watch(changes_.get(), files_.directory().c_str(),
                                               IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE) < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot watch ", files_.directory()));
    }
    loop_->Watch(changes_.get(), runtime::EventLoop::Readiness::kReadable, [this] {
      if (!TakeChanges()) return;
      ReadPools();
      StepAll();
    });
    stop_watch_ = loop_->Watch(options_.stop, runtime::EventLoop::Readiness::kReadable, [this] {
      loop_->Unwatch(stop_watch_);
      Stop();
    });
    return absl::OkStatus();
  }

  // Drains the inotify events. Returns true if the file of a pool has changed.
  bool TakeChanges() {
    alignas(inotify_event) char buffer[16 << 10];
    bool has_changed = false;
    for (;;) {
      const ssize_t count = read(changes_.get(), buffer, sizeof buffer);
      if (count <= 0) return has_changed;
      const inotify_event* event = nullptr;
      for (const char* at = buffer; at < buffer + count; at += sizeof *event + event->len) {
        event = reinterpret_cast<const inotify_event*>(at);
        const std::string_view name = event->len > 0 ? event->name : "";
        // An event without a name reports an overflow. This process itself writes *.state.json.
        has_changed = has_changed || name.empty() ||
                      (name.ends_with(".json") && !name.ends_with(".state.json"));
      }
    }
  }

  void Begin() {
    Background(
        looks_.get(), [this] { return Command(ScontrolConfigWords(), kToAsk); },
        [this](const absl::StatusOr<Captured>& answer) {
          settings_ = ReadSettings(answer);
          if (settings_.version.empty()) {
            options_.say(absl::StrCat(
                "scontrol show config says nothing: ",
                answer.ok() ? answer->errors : std::string(answer.status().message())));
          }
          has_begun_ = true;
          ReadPools();
          AskLauncher();
          Look();
          StepAll();
          TidyBundles();
        });
  }

  // Removes programs of former versions from the directories that the nodes share.
  void TidyBundles() {
    std::set<std::string> directories, used;
    for (const auto& [name, kept] : pools_) {
      directories.insert(kept.allocation->pool().directory);
      if (kept.allocation->HasAllocation()) used.insert(kept.allocation->state().programs);
    }
    Background(
        looks_.get(),
        [directories, used] {
          std::vector<std::string> removed;
          for (const std::string& path : used) TouchSharedBundle(path);
          for (const std::string& directory : directories) {
            for (std::string& path : RemoveOldBundles(directory, used, kUnused, absl::Now())) {
              removed.push_back(std::move(path));
            }
          }
          return removed;
        },
        [this](const std::vector<std::string>& removed) {
          for (const std::string& path : removed) {
            options_.say(absl::StrCat("removed ", path, ", which was not used for a day"));
          }
          loop_->RunAfter(kBetweenTidying, [this] { TidyBundles(); });
        });
  }

  void Stop() {
    is_stopping_ = true;
    options_.say("stops: allocations are given back");
    for (auto& [name, kept] : pools_) kept.allocation->Stop(absl::Now());
    loop_->RunAfter(options_.to_stop, [this] {
      options_.say("not all allocations could be given back; the next yard up does it");
      loop_->Stop();
    });
    StepAll();
  }

  // ---- Inputs.

  void ReadPools() {
    if (!has_begun_) return;
    const auto names = files_.Names();
    if (!names.ok()) return options_.say(runtime::Std(names.status().message()));
    for (const std::string& name : *names) ReadPool(name);
    for (auto& [name, kept] : pools_) {
      if (std::binary_search(names->begin(), names->end(), name)) continue;
      // A deleted pool file counts as `yard pool rm`.
      SlurmPool pool = kept.allocation->pool();
      pool.removing = true;
      kept.allocation->TakePool(std::move(pool));
    }
  }

  void ReadPool(const std::string& name) {
    const auto pool = files_.Read(name);
    if (absl::IsNotFound(pool.status())) return;
    if (!pool.ok()) return SayOnce(name, pool.status().message());
    auto found = pools_.find(name);
    if (found == pools_.end()) {
      if (is_stopping_) return;
      auto state = files_.ReadState(name);
      if (absl::IsNotFound(state.status())) state = SlurmPoolState();
      if (!state.ok()) {
        return SayOnce(name, absl::StrCat(state.status().message(), "; next: scancel --name y-",
                                          name, "-..., and remove that file"));
      }
      Allocation::Options options{.pool = name, .times = options_.times, .nonce = [] {
                                    return runtime::RandomHex128().substr(0, 8);
                                  }};
      options.times.message_timeout = settings_.message_timeout;
      Kept kept{.allocation = std::make_unique<Allocation>(std::move(options), *state),
                .stored = *state,
                .said = ""};
      found = pools_.emplace(name, std::move(kept)).first;
      GiveNodes(found->first, found->second);
    }
    if (!found->second.allocation->IsForgotten()) found->second.allocation->TakePool(*pool);
  }

  void SayOnce(const std::string& pool, absl::string_view words) {
    std::string& said = said_of_[pool];
    if (said == words) return;
    said = std::string(words);
    options_.say(runtime::Std(words));
  }

  void AskLauncher() {
    if (asks_) return;
    asks_ = true;
    const bool with_trials = std::any_of(pools_.begin(), pools_.end(), [](const auto& kept) {
      return kept.second.allocation->pool().once;
    });
    std::set<std::string> asked;
    for (const auto& [name, kept] : pools_) {
      const std::string& sweep = kept.allocation->pool().sweep;
      if (!sweep.empty()) asked.insert(sweep);
    }
    const bool with_sweeps = !asked.empty();
    struct Answer {
      std::vector<msg::NodeT> nodes;
      std::set<std::string> wanted, sweeps;
    };
    Background(
        looks_.get(),
        [this, with_trials, with_sweeps]() -> absl::StatusOr<Answer> {
          auto nodes = options_.calls.nodes();
          if (!nodes.ok()) return nodes.status();
          auto wanted = options_.calls.wanted_pools(with_trials);
          if (!wanted.ok()) return wanted.status();
          absl::StatusOr<std::set<std::string>> sweeps = std::set<std::string>();
          if (with_sweeps) sweeps = options_.calls.live_sweeps();
          if (!sweeps.ok()) return sweeps.status();
          return Answer{*std::move(nodes), *std::move(wanted), *std::move(sweeps)};
        },
        [this, asked = std::move(asked)](absl::StatusOr<Answer> answer) {
          asks_ = false;
          loop_->RunAfter(options_.between_calls, [this] { AskLauncher(); });
          // Without an answer, the last known nodes stay valid.
          if (!answer.ok()) return SayOnce("", answer.status().message());
          known_nodes_ = std::move(answer->nodes);
          wanted_ = std::move(answer->wanted);
          sweeps_.clear();
          for (const std::string& sweep : asked) sweeps_[sweep] = answer->sweeps.contains(sweep);
          knows_nodes_ = true;
          for (auto& [name, kept] : pools_) GiveNodes(name, kept);
          StepAll();
        });
  }

  void GiveNodes(const std::string& pool, Kept& kept) {
    if (!knows_nodes_) return;
    std::vector<AllocationNode> own;
    for (const msg::NodeT& node : known_nodes_) {
      if (node.pool != pool) continue;
      own.push_back({.name = node.name,
                     .is_connected = node.state != msg::NodeState::Away,
                     .has_come = node.state != msg::NodeState::Away || !node.host.empty(),
                     .is_claimed = !node.run.empty(),
                     .host = node.host,
                     .since_us = node.since_us,
                     .tasks = node.tasks});
    }
    const std::string& sweep = kept.allocation->pool().sweep;
    const auto known = sweeps_.find(sweep);
    const bool is_held = !sweep.empty() && (known == sweeps_.end() || known->second);
    kept.allocation->TakeNodes(absl::Now(), std::move(own), wanted_.contains(pool), is_held);
  }

  // ---- squeue.

  // Schedules the next call of squeue.
  void PlanLook() {
    const absl::Time now = absl::Now();
    bool has_any = false, is_urgent = false, depends = false;
    for (auto& [name, kept] : pools_) {
      has_any = has_any || kept.allocation->HasAllocation();
      depends = depends || kept.allocation->DependsOnNews();
      if (kept.allocation->WantsNews(now)) is_urgent = true;
    }
    wants_look_ = wants_look_ || is_urgent;
    if (!has_any || looks_now_) return;
    // Jitter: the yards of a cluster must not all call squeue at the same moment.
    const double jitter = 1 + 0.2 * static_cast<double>(runtime::RandomId() % 1000) / 1000;
    absl::Time next =
        last_look_ + (depends ? options_.between_looks : options_.between_slow_looks) * jitter;
    if (wants_look_) {
      next = std::min(
          next, std::max(now + std::min(kSoon, options_.between_looks),
                         last_look_ + std::min(kBetweenLooksAtLeast, options_.between_looks)));
    }
    if (look_timer_.is_set() && next >= look_at_) return;
    look_at_ = next;
    look_timer_.Start(loop_.get(), std::max(next - now, absl::ZeroDuration()), [this] { Look(); });
  }

  void Look() {
    std::map<std::string, std::string> ids;  // Job ids by pool, at this moment.
    std::set<std::string> clusters;
    for (const auto& [name, kept] : pools_) {
      if (!kept.allocation->HasAllocation()) continue;
      ids[name] = kept.allocation->state().slurm_id;
      clusters.insert(kept.allocation->state().cluster);
    }
    if (ids.empty() || looks_now_) return;
    looks_now_ = true;
    wants_look_ = false;
    Background(
        looks_.get(),
        [this, clusters] {
          std::vector<Looked> looked;
          for (const std::string& cluster : clusters) {
            looked.push_back(
                {ReadQueue(Command(SqueueWords(geteuid(), cluster), kToLook)), cluster});
          }
          return looked;
        },
        [this, ids](const std::vector<Looked>& looked) {
          looks_now_ = false;
          last_look_ = absl::Now();
          for (const Looked& one : looked) {
            for (auto& [name, kept] : pools_) {
              const SlurmPoolState& state = kept.allocation->state();
              const auto id = ids.find(name);
              // Ignore an answer requested before the allocation had this id.
              if (id == ids.end() || id->second != state.slurm_id) continue;
              if (state.cluster != one.cluster) continue;
              if (one.jobs.ok()) {
                kept.allocation->TakeQueue(absl::Now(), *one.jobs);
              } else {
                kept.allocation->TakeNoAnswer(one.jobs.status().message());
              }
            }
            if (!one.jobs.ok()) SayOnce("squeue", one.jobs.status().message());
          }
          StepAll();
        });
  }

  // ---- Steps.

  void StepAll() {
    if (!has_begun_) return;
    absl::Time wake = absl::InfiniteFuture();
    for (auto& [name, kept] : pools_) {
      StepOne(name, kept);
      wake = std::min(wake, kept.allocation->wake());
    }
    std::erase_if(pools_, [](const auto& kept) { return kept.second.allocation->IsForgotten(); });
    if (IsOver()) return loop_->Stop();
    PlanLook();
    wake_timer_.Cancel();
    if (wake == absl::InfiniteFuture()) return;
    wake_timer_.Start(loop_.get(), std::max(wake - absl::Now(), absl::Milliseconds(1)),
                      [this] { StepAll(); });
  }

  bool IsOver() {
    if (is_stopping_) {
      return std::all_of(pools_.begin(), pools_.end(),
                         [](const auto& kept) { return kept.second.allocation->IsStopped(); });
    }
    if (!pools_.empty()) return false;
    const auto names = files_.Names();
    return names.ok() && names->empty();
  }

  void StepOne(const std::string& name, Kept& kept) {
    Allocation& allocation = *kept.allocation;
    const Step step = allocation.Next(absl::Now());
    const absl::Status stored = Store(name, kept);
    if (step == Step::kNothing) return;
    if (!stored.ok()) {
      Fail(allocation, step, stored);
      loop_->RunAfter(kSoon, [this] { StepAll(); });
      return;
    }
    Carry(name, allocation, step);
  }

  absl::Status Store(const std::string& name, Kept& kept) {
    const SlurmPoolState& state = kept.allocation->state();
    const std::string said = absl::StrCat(name, ": ", std::string(NameOfPhase(state.phase)),
                                          state.why.empty() ? "" : ": ", state.why);
    if (said != kept.said) options_.say(kept.said = said);
    if (state == kept.stored || kept.allocation->IsForgotten()) return absl::OkStatus();
    const absl::Status written = files_.WriteState(name, state);
    if (written.ok()) {
      kept.stored = state;
    } else {
      SayOnce(name, written.message());
    }
    return written;
  }

  // Reports that the step could not begin.
  void Fail(Allocation& allocation, Step step, const absl::Status& why) {
    const absl::Time now = absl::Now();
    if (step == Step::kSubmit) {
      allocation.Submitted(now, {.why = std::string(why.message())});
    } else if (step == Step::kLookUp || step == Step::kConfirm) {
      allocation.LookedUp(now, why);
    } else if (step == Step::kExplain) {
      allocation.Explained(now, "");
    } else {
      allocation.Done(now, why);
    }
  }

  // Executes the step in the background, with copies of its data.
  void Carry(const std::string& name, Allocation& allocation, Step step) {
    const SlurmPool pool = allocation.pool();
    const SlurmPoolState state = allocation.state();
    const std::uint64_t number = allocation.NumberOfNodes();
    const auto done = [this, name](const absl::Status& status) {
      Answer(name, [&](Allocation& own) { own.Done(absl::Now(), status); });
      if (!status.ok()) SayOnce(name, status.message());
    };
    const auto looked_up = [this, name](const absl::StatusOr<std::vector<QueuedJob>>& jobs) {
      Answer(name, [&](Allocation& own) { own.LookedUp(absl::Now(), jobs); });
    };
    runtime::ThreadPool* const steps = steps_.get();
    switch (step) {
      case Step::kPrepare:
        return Background(
            steps, [this, pool, state] { return Prepare(pool, state); },
            [this, name, done](const absl::StatusOr<std::string>& programs) {
              const auto found = pools_.find(name);
              if (found != pools_.end() && programs.ok()) {
                found->second.allocation->TakePrograms(*programs);
              }
              done(programs.status());
            });
      case Step::kSubmit:
        return Background(
            steps, [this, pool, state] { return Submit(pool, state); },
            [this, name](const Submission& submission) {
              Answer(name, [&](Allocation& own) { own.Submitted(absl::Now(), submission); });
            });
      case Step::kLookUp:
        return Background(
            steps,
            [this, state] {
              return ReadQueue(
                  Command(SqueueOfName(geteuid(), state.cluster, state.name), kToLook));
            },
            looked_up);
      case Step::kConfirm:
        return Background(
            steps,
            [this, state] {
              return ReadQueue(Command(SqueueOfId(state.cluster, state.slurm_id), kToLook));
            },
            looked_up);
      case Step::kExplain:
        return Background(
            steps, [this, pool, state] { return Explain(pool, state); },
            [this, name](const std::string& why) {
              Answer(name, [&](Allocation& own) { own.Explained(absl::Now(), why); });
            });
      case Step::kTell:
        return Background(
            steps,
            [this, pool, state, number] {
              return nodes_.Tell(pool, number, number == state.number ? state.name : "", state.why);
            },
            done);
      case Step::kDrain:
        return Background(
            steps, [this, pool, state] { return nodes_.Drain(pool, state); }, done);
      case Step::kCancel:
        return Background(
            steps,
            [this, state] {
              return ReadCancellation(
                  Command(ScancelWords(geteuid(), state.cluster, state.name), kToLook));
            },
            done);
      case Step::kClear:
        return Background(
            steps, [this, pool, state, number] { return Clear(pool, state, number); }, done);
      case Step::kForget:
        return Background(
            steps, [this, pool, state] { return Forget(pool, state); }, done);
      case Step::kNothing:
        break;
    }
  }

  template <typename Use>
  void Answer(const std::string& name, const Use& use) {
    const auto found = pools_.find(name);
    if (found != pools_.end()) use(*found->second.allocation);
    StepAll();
  }

  // ---- On background threads.

  static std::string ErrorFile(const SlurmPool& pool, const SlurmPoolState& state) {
    return absl::StrCat(pool.directory, "/", state.name, ".err");
  }

  // Returns the path of the nodes' programs; copies them there if needed.
  absl::StatusOr<std::string> Programs(const SlurmPool& pool) {
    const runtime::MutexLock lock(bundle_mutex_);
    if (!digest_.empty()) {
      std::string path = SharedBundlePath(digest_, pool.directory);
      if (access((path + "/yard-node").c_str(), X_OK) == 0) {
        TouchSharedBundle(path);
        return path;
      }
    }
    const auto bundle = options_.read_bundle();
    if (!bundle.ok()) return bundle.status();
    digest_ = bundle->digest;
    return ShareBundle(*bundle, pool.directory);
  }

  // Prepares the nodes. Returns the path of their programs.
  absl::StatusOr<std::string> Prepare(const SlurmPool& pool, const SlurmPoolState& state) {
    auto programs = Programs(pool);
    if (!programs.ok()) return programs.status();
    if (absl::Status prepared = nodes_.Prepare(pool, state); !prepared.ok()) return prepared;
    return programs;
  }

  // A failure before sbatch counts as an unknown outcome: no job exists, and the extra lookup is
  // cheap.
  Submission Submit(const SlurmPool& pool, const SlurmPoolState& state) {
    const auto failed = [](const absl::Status& status) {
      return Submission{.why = std::string(status.message())};
    };
    const auto programs = Programs(pool);
    if (!programs.ok()) return failed(programs.status());
    auto variables = nodes_.KeyVariables(pool, state);
    if (!variables.ok()) return failed(variables.status());
    const absl::Duration grace = std::max(settings_.kill_wait - kGraceLess, absl::Seconds(1));
    variables->push_back(absl::StrCat("YARD_NODE_GRACE=", absl::ToInt64Seconds(grace)));
    const auto script = InMemory(BatchScript(pool, *programs, ErrorFile(pool, state)));
    if (!script.ok()) return failed(script.status());
    return ReadSubmission(Command(SbatchWords(pool, state.name, state.excluded), kToSubmit,
                                  *variables, script->get()));
  }

  std::string Explain(const SlurmPool& pool, const SlurmPoolState& state) const {
    if (state.came) {
      const auto job = Command(ScontrolJobWords(state.cluster, state.slurm_id), kToAsk);
      return WasPreempted(job) ? "PREEMPTED" : "";
    }
    if (LifeOf(state.state) == SlurmLife::kEnded) {
      const int code =
          ReadExitCode(Command(ScontrolJobWords(state.cluster, state.slurm_id), kToAsk));
      if (code == kNoBundle) {
        return absl::StrCat("the hosts of the cluster do not see ", pool.directory,
                            "; next: --directory of a file system that they see");
      }
    }
    return LastLineOf(ErrorFile(pool, state));
  }

  absl::Status Clear(const SlurmPool& pool, const SlurmPoolState& state, std::uint64_t number) {
    // New nodes are registered before old ones are removed, so that tasks can always wait for the
    // pool.
    const absl::Status told = nodes_.Tell(pool, number, "", state.why);
    if (!told.ok()) return told;
    if (!state.name.empty()) (void)unlink(ErrorFile(pool, state).c_str());
    return nodes_.Clear(pool.pool, number, state.why);
  }

  absl::Status Forget(const SlurmPool& pool, const SlurmPoolState& state) {
    const std::string why =
        state.why.empty() ? absl::StrCat("pool ", pool.pool, " was removed") : state.why;
    if (!state.name.empty()) (void)unlink(ErrorFile(pool, state).c_str());
    if (absl::Status cleared = nodes_.Clear(pool.pool, 0, why); !cleared.ok()) return cleared;
    return files_.Remove(pool.pool, pool.revision);
  }

  const SlurmKeeperOptions options_;
  const SlurmPoolFiles files_;
  const SlurmNodes nodes_;
  const std::vector<std::string> environment_;
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> steps_, looks_;
  SlurmSettings settings_;  // Constant once a step has begun.

  // Used only on the loop's thread.
  runtime::UniqueFd changes_;
  runtime::EventLoop::WatchId stop_watch_ = 0;
  runtime::Timer look_timer_, wake_timer_;
  std::map<std::string, Kept> pools_;
  std::map<std::string, std::string> said_of_;
  std::vector<msg::NodeT> known_nodes_;
  std::set<std::string> wanted_;
  // Live state of each sweep in the last answer of the trainer.
  std::map<std::string, bool> sweeps_;
  bool knows_nodes_ = false, has_begun_ = false, is_stopping_ = false;
  bool asks_ = false, looks_now_ = false, wants_look_ = false;
  absl::Time last_look_ = absl::InfinitePast(), look_at_;

  runtime::Mutex bundle_mutex_;
  std::string digest_ ABSL_GUARDED_BY(bundle_mutex_);
};

}  // namespace

absl::Status KeepAllocations(SlurmKeeperOptions options) {
  return SlurmKeeper(std::move(options)).Run();
}

}  // namespace yard
