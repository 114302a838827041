#include "tools/yard/slurm/slurm_pools.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/access/key_folder.h"
#include "runtime/counted.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "tools/yard/services/gate_key.h"
#include "tools/yard/slurm/slurm_jobs.h"

namespace yard {
namespace {

using Phase = SlurmPoolState::Phase;

constexpr absl::Duration kBetweenLooks = absl::Milliseconds(50);
// Interval of relaunching the keeper, which may have just exited after the last pool was removed.
constexpr absl::Duration kBetweenKeepers = absl::Seconds(2);
constexpr absl::Duration kSayAfter = absl::Seconds(5);
// Time for sbatch, and for two lookups of its job if it does not answer.
constexpr absl::Duration kToSubmit = absl::Minutes(3);
// Time for the grace of tasks, and for scancel.
constexpr absl::Duration kToRemove = absl::Minutes(2);
constexpr std::uint32_t kLongestDrain = 300;
constexpr std::uint64_t kLargestRevision = (std::uint64_t{1} << 62) - 1;

std::string Variable(const Context& context, std::string_view name) {
  for (const std::string& entry : context.environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return "";
}

absl::StatusOr<std::string> StandardDirectory(const Context& context) {
  const std::string cache = Variable(context, "XDG_CACHE_HOME"), home = Variable(context, "HOME");
  if (absl::StartsWith(cache, "/")) return cache + "/trainyard/slurm";
  if (absl::StartsWith(home, "/")) return home + "/.cache/trainyard/slurm";
  return absl::FailedPreconditionError(
      "neither $XDG_CACHE_HOME nor $HOME says where the nodes find their programs; next: "
      "--directory DIR");
}

std::uint64_t NewRevision() { return 1 + runtime::RandomId() % kLargestRevision; }

// Records interrupts during its lifetime, instead of letting them end the process.
class InterruptWatch {
 public:
  explicit InterruptWatch(Interrupt* interrupt) : interrupt_(interrupt) {
    if (interrupt_ != nullptr) interrupt_->Handle([this] { has_come_ = true; });
  }
  ~InterruptWatch() {
    if (interrupt_ != nullptr) interrupt_->Handle(nullptr);
  }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool has_come() const { return has_come_; }

 private:
  Interrupt* const interrupt_;
  std::atomic<bool> has_come_ = false;
};

// Waits until `look` returns true; relaunches the keeper meanwhile if it exits. Returns Cancelled
// after an interrupt, DeadlineExceeded with `what`, or an error of the launcher.
absl::Status Await(Context& context, absl::Duration timeout, const InterruptWatch* interrupt,
                   const std::string& what, const std::function<bool()>& look) {
  const absl::Time begin = absl::Now();
  absl::Time keeper = absl::InfinitePast();
  while (!look()) {
    if (interrupt != nullptr && interrupt->has_come()) return absl::CancelledError("interrupted");
    const absl::Time now = absl::Now();
    if (now - begin > timeout) {
      return absl::DeadlineExceededError(
          absl::StrCat(what, "; next: yard logs ", kSlurmJob, ", which says what Slurm answers"));
    }
    if (now - keeper > kBetweenKeepers) {
      if (absl::Status there = EnsureSlurmJob(context); !there.ok()) return there;
      keeper = absl::Now();
    }
    absl::SleepFor(kBetweenLooks);
  }
  return absl::OkStatus();
}

// Marks the pool for removal by the keeper.
absl::Status Unwant(const SlurmPoolFiles& files, SlurmPool pool) {
  if (pool.removing) return absl::OkStatus();
  pool.removing = true;
  pool.revision = NewRevision();
  return files.Write(pool);
}

// Returns true if Slurm has accepted the allocation, or none is needed.
bool IsTaken(const SlurmPoolState& state) {
  return state.phase != Phase::kSubmitting && state.phase != Phase::kRefused;
}

absl::Status Submit(Context& context, const SlurmPoolFiles& files, const SlurmPool& pool,
                    const InterruptWatch& interrupt, const SaySlurm& say, SlurmPoolState* state) {
  const bus::KeyFolder folder(context.locations.state_directory);
  if (const auto key = EnsureGateKey(context, folder); !key.ok()) return key.status();
  if (absl::Status written = files.Write(pool); !written.ok()) return written;
  const absl::Time begin = absl::Now();
  bool has_said = false;
  absl::Status done = Await(
      context, kToSubmit, &interrupt,
      absl::StrCat("Slurm has not answered for ", runtime::Printable(pool.pool)), [&] {
        const auto read = files.ReadState(pool.pool);
        if (!has_said && say && absl::Now() - begin > kSayAfter) {
          has_said = true;
          say(absl::StrCat("Slurm is asked for ", runtime::Counted(pool.nodes, "node"), " ..."));
        }
        if (!read.ok() || read->revision != pool.revision) return false;
        *state = *read;
        return IsTaken(*state) || state->phase == Phase::kRefused;
      });
  if (!done.ok()) return done;
  if (state->phase != Phase::kRefused) return absl::OkStatus();
  return absl::FailedPreconditionError(state->why.empty() ? "Slurm has refused it"
                                                          : runtime::Printable(state->why));
}

}  // namespace

absl::StatusOr<SlurmPool> DraftSlurmPool(const Context& context, const std::string& name,
                                         const SlurmValues& values, std::string_view before) {
  if (absl::Status good = CheckSlurmPoolName(name); !good.ok()) return good;
  SlurmPool pool{.pool = name, .revision = NewRevision()};
  if (absl::Status set = SetSlurmValues(values, before, &pool); !set.ok()) return set;
  if (!values.contains("drain") && pool.time_minutes > 0) {
    pool.drain_seconds = std::min(kLongestDrain, pool.time_minutes * 60 / 10);
  }
  const auto sbatch =
      runtime::FindProgram("sbatch", Variable(context, "PATH"), context.working_directory);
  if (!sbatch.ok()) {
    return absl::FailedPreconditionError(
        "there is no sbatch on the PATH here; next: type it where the cluster's commands are, on "
        "its login node");
  }
  if (pool.directory.empty()) {
    auto directory = StandardDirectory(context);
    if (!directory.ok()) return directory.status();
    pool.directory = *std::move(directory);
  } else if (!absl::StartsWith(pool.directory, "/")) {
    pool.directory = (std::filesystem::path(context.working_directory) / pool.directory)
                         .lexically_normal()
                         .string();
  }
  if (pool.gate.empty()) {
    auto addresses = AddressesOfGate(context.locations);
    if (!addresses.ok()) return addresses.status();
    pool.gate = *std::move(addresses);
  }
  if (absl::Status good = CheckSlurmPool(pool); !good.ok()) return good;
  return pool;
}

absl::Status CheckSlurmResource(const std::string& name) {
  if (name == "gpu" || name == "slots") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("resources: ", runtime::Printable(name),
                   ": with --engine slurm tasks can ask for gpu and slots alone"));
}

absl::StatusOr<SlurmPoolState> SubmitSlurmPool(Context& context, SlurmPool pool,
                                               const SaySlurm& say) {
  const SlurmPoolFiles files(context.locations.state_directory);
  InterruptWatch interrupt(context.interrupt);
  const auto before = files.Read(pool.pool);
  if (before.ok() && before->removing) {
    const absl::Status gone = Await(
        context, kToRemove, &interrupt, absl::StrCat("pool ", pool.pool, " is still being removed"),
        [&] { return absl::IsNotFound(files.Read(pool.pool).status()); });
    if (!gone.ok()) return gone;
  }
  const bool is_new = !before.ok() || before->removing;
  SlurmPoolState state;
  absl::Status submitted = Submit(context, files, pool, interrupt, say, &state);
  if (submitted.ok()) return state;
  if (!is_new) {
    return absl::Status(submitted.code(),
                        absl::StrCat(submitted.message(), "; pool ", pool.pool,
                                     " stays, and nothing is asked of Slurm until it is changed"));
  }
  const absl::Status removed = RemoveSlurmPool(context, pool.pool);
  if (!removed.ok() && !absl::IsNotFound(removed)) {
    return absl::Status(submitted.code(),
                        absl::StrCat(submitted.message(), "; and ", removed.message()));
  }
  return submitted;
}

absl::Status RemoveSlurmPool(Context& context, const std::string& name) {
  const SlurmPoolFiles files(context.locations.state_directory);
  auto pool = files.Read(name);
  if (!pool.ok()) return pool.status();
  if (absl::Status written = Unwant(files, *std::move(pool)); !written.ok()) return written;
  return Await(context, kToRemove, nullptr,
               absl::StrCat("pool ", name, " is being removed, and that goes on"),
               [&] { return absl::IsNotFound(files.Read(name).status()); });
}

absl::StatusOr<std::string> MakeOncePool(Context& context, const SlurmValues& values,
                                         std::size_t tasks, const SaySlurm& say) {
  auto pool = DraftSlurmPool(context, runtime::RandomName("slurm-"), values, "slurm: ");
  if (!pool.ok()) return pool.status();
  if (!values.contains("nodes")) {
    pool->nodes = static_cast<std::uint32_t>(NodesForTasks(tasks, *pool));
  }
  pool->once = true;
  const auto state = SubmitSlurmPool(context, *pool, say);
  if (!state.ok()) return state.status();
  if (say) {
    say(absl::StrCat("Slurm job ", runtime::Printable(state->slurm_id), ": ",
                     runtime::Counted(pool->nodes, "node"), " for pool ", pool->pool));
  }
  return pool->pool;
}

void KeepOncePool(const Context& context, const std::string& pool, const std::string& sweep) {
  if (pool.empty()) return;
  const SlurmPoolFiles files(context.locations.state_directory);
  auto known = files.Read(pool);
  if (!known.ok() || !known->once || known->removing) return;
  known->sweep = sweep;
  (void)files.Write(*known);
}

void EndOncePool(const Context& context, const std::string& pool) {
  if (pool.empty()) return;
  const SlurmPoolFiles files(context.locations.state_directory);
  auto known = files.Read(pool);
  if (known.ok() && known->once) (void)Unwant(files, *std::move(known));
}

std::vector<KnownSlurmPool> AllSlurmPools(const Context& context, std::vector<std::string>* bad) {
  const SlurmPoolFiles files(context.locations.state_directory);
  std::vector<KnownSlurmPool> all;
  const auto names = files.Names();
  if (!names.ok()) {
    if (bad != nullptr) bad->emplace_back(names.status().message());
    return all;
  }
  for (const std::string& name : *names) {
    auto pool = files.Read(name);
    if (absl::IsNotFound(pool.status())) continue;
    if (!pool.ok()) {
      if (bad != nullptr) bad->emplace_back(pool.status().message());
      continue;
    }
    auto state = files.ReadState(name);
    all.push_back({.pool = *std::move(pool), .state = state.value_or(SlurmPoolState{})});
  }
  return all;
}

}  // namespace yard
