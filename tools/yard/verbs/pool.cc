#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/access/key_folder.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/file/locations.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/pool/host_name.h"
#include "tools/yard/pool/host_state.h"
#include "tools/yard/pool/pool_jobs.h"
#include "tools/yard/pool/pool_view.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/slurm/slurm_keys.h"
#include "tools/yard/slurm/slurm_verb.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

using Phase = HostState::Phase;

// Gives up if no host makes any progress for this long.
constexpr absl::Duration kToConnect = absl::Minutes(3);
// Time for a node to stop its attempts and to remove its directory.
constexpr absl::Duration kToLeave = absl::Seconds(90);
constexpr char kSlurm[] = "slurm";
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(100);

std::vector<msg::NodeT> OfPool(const std::vector<msg::NodeT>& nodes, const std::string& pool) {
  std::vector<msg::NodeT> some;
  for (const msg::NodeT& node : nodes) {
    if (pool.empty() || node.pool == pool) some.push_back(node);
  }
  return some;
}

const msg::NodeT* FindNode(const std::vector<msg::NodeT>& nodes, const std::string& name) {
  for (const msg::NodeT& node : nodes) {
    if (node.name == name) return &node;
  }
  return nullptr;
}

class Pool : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("what", words_, "A pool; drain HOST; resume HOST; rm POOL. Nothing: all pools.");
    options.Add("--hosts", hosts_, "The pool's hosts, as ssh takes them: gpu1,ann@gpu2.");
    options.Add("--slots", slots_, "Tasks at a time on each host (default: its processors).");
    options.Add("--engine", engine_, "slurm: the pool's nodes come from an allocation of Slurm.");
    options.Add("--nodes", slurm_["nodes"], "Nodes of the allocation (default: 1).");
    options.Add("--time", slurm_["time"], "Its time limit: 8h, 8:00:00.");
    options.Add("--partition", slurm_["partition"], "Where Slurm takes it from.");
    for (const SlurmKey& key : SlurmKeys()) {
      if (key.name == "slots" || slurm_.contains(std::string(key.name))) continue;
      options.Hidden(absl::StrCat("--", std::string(key.name)), slurm_[std::string(key.name)]);
    }
    options.Flag("--force", force_, "Also lose the tasks on a host that is taken out.");
    options.Footer(
        "--hosts makes a pool of these hosts, or changes it. Each needs ssh without a password "
        "and nothing else: yard-node is copied there. drain: HOST gets no further task. "
        "rm takes all hosts out and leaves nothing there. docs/hosts.md says what runs where. "
        "With --engine slurm also: --account --qos --constraint --gpus --cpus --memory --exclude "
        "--sbatch --directory --gate --drain --idle (docs/slurm.md).");
  }

  int Run(Context& context) override {
    const absl::Status good = Check();
    if (!good.ok()) return Fail(context, "pool", good);
    if (words_.size() == 2) {
      return words_[0] == "rm" ? Remove(context) : Drain(context, words_[0] == "drain");
    }
    if (engine_ == kSlurm) return ChangeSlurm(context);
    return hosts_.empty() ? List(context) : Change(context);
  }

 private:
  absl::Status Check() const {
    const std::string first = words_.empty() ? "" : words_[0];
    const bool is_order = first == "drain" || first == "resume" || first == "rm";
    if (is_order && words_.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected: yard pool ", first, first == "rm" ? " POOL" : " HOST"));
    }
    if (!is_order && words_.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", runtime::Printable(first), "\" is none of drain, resume, rm"));
    }
    const bool is_slurm = engine_ == kSlurm;
    if (!engine_.empty() && !is_slurm) {
      return absl::InvalidArgumentError(
          absl::StrCat("--engine: expected slurm, not \"", runtime::Printable(engine_), "\""));
    }
    if (is_slurm && (is_order || words_.empty() || !hosts_.empty())) {
      return absl::InvalidArgumentError("expected: yard pool NAME --engine slurm --nodes N");
    }
    for (const auto& [key, value] : slurm_) {
      if (is_slurm || value.empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--", key, " is of a pool of Slurm; next: yard pool NAME --engine slurm --",
                       key, " ", runtime::Printable(value)));
    }
    const bool is_change = !hosts_.empty() || is_slurm;
    if (is_change && !is_slurm && (is_order || words_.empty())) {
      return absl::InvalidArgumentError("expected: yard pool NAME --hosts HOST,HOST");
    }
    if (slots_ != 0 && !is_change) {
      return absl::InvalidArgumentError(
          "--slots needs --hosts, or --engine slurm: yard pool NAME --hosts a,b --slots 4");
    }
    if (force_ && !is_change && first != "rm") {
      return absl::InvalidArgumentError("--force is of --hosts and of `yard pool rm`");
    }
    if (first == "rm" || (!is_order && !words_.empty())) return CheckPoolName(words_.back());
    return absl::OkStatus();
  }

  static int Show(Context& context, std::vector<msg::NodeT> nodes) {
    // The keeper task, which holds the connection, knows best why it is broken.
    for (msg::NodeT& node : nodes) {
      if (node.state != msg::NodeState::Away) continue;
      const auto state = ReadHostState(context.locations.runtime_directory, node.name);
      if (state.ok() && !state->why.empty()) node.why = state->why;
    }
    if (context.json) {
      for (const msg::NodeT& node : nodes) PrintJson(context, NodeToJson(node));
    } else {
      *context.out << NodeTable(nodes, context.clock->Now(), context.out_width());
    }
    return kDone;
  }

  int List(Context& context) const {
    const auto nodes = AllNodes(context);
    if (!nodes.ok()) return Fail(context, "pool", nodes.status());
    const std::string pool = words_.empty() ? "" : words_[0];
    const auto some = OfPool(*nodes, pool);
    const bool has_slurm = ShowSlurmPools(context, pool);
    if (has_slurm && !some.empty() && !context.json) *context.out << "\n";
    if (has_slurm && some.empty()) return kDone;
    if (some.empty() && !pool.empty()) return Fail(context, "pool", NoPool(pool));
    if (some.empty() && !context.json) {
      *context.out << "no pools; next: yard pool NAME --hosts HOST,HOST, or yard pool NAME "
                      "--engine slurm --nodes N\n";
      return kDone;
    }
    return Show(context, some);
  }

  static absl::Status NoPool(const std::string& pool) {
    return absl::NotFoundError(absl::StrCat("no pool ", runtime::Printable(pool),
                                            "; next: yard pool, or yard pool ",
                                            runtime::Printable(pool), " --hosts HOST,HOST"));
  }

  int Drain(Context& context, bool draining) const {
    const auto nodes = AllNodes(context);
    if (!nodes.ok()) return Fail(context, "pool", nodes.status());
    const std::string& host = words_[1];
    for (msg::NodeT node : *nodes) {
      if (node.name != host && node.address != host) continue;
      node.draining = draining;
      const auto set = SetNode(context, node);
      if (!set.ok()) return Fail(context, "pool", set.status());
      if (set->node != nullptr) node = *set->node;
      if (context.json) return Show(context, {node});
      *context.out << runtime::Printable(node.name)
                   << (!draining ? " takes tasks"
                       : node.tasks.empty()
                           ? " gets no further task, and has none"
                           : " gets no further task, and still has " +
                                 runtime::Printable(absl::StrJoin(node.tasks, ", ")))
                   << "\n";
      return kDone;
    }
    return Fail(context, "pool",
                absl::NotFoundError(absl::StrCat("no pool has a host ", runtime::Printable(host),
                                                 "; next: yard pool")));
  }

  int ChangeSlurm(Context& context) {
    const auto nodes = AllNodes(context);
    if (!nodes.ok()) return Fail(context, "pool", nodes.status());
    SlurmValues values;
    for (const auto& [key, value] : slurm_) {
      if (!value.empty()) values[key] = value;
    }
    if (slots_ > 0) values["slots"] = absl::StrCat(slots_);
    return ChangeSlurmPool(context, words_[0], values, *nodes);
  }

  int Change(Context& context) {
    const std::string& pool = words_[0];
    if (IsSlurmPool(context, pool)) {
      return Fail(
          context, "pool",
          absl::AlreadyExistsError(absl::StrCat("the nodes of pool ", pool,
                                                " come from Slurm; next: another name, or yard "
                                                "pool rm ",
                                                pool)));
    }
    const auto hosts = ParsePoolHosts(hosts_);
    if (!hosts.ok()) return Fail(context, "pool", hosts.status());
    const auto nodes = AllNodes(context);
    if (!nodes.ok()) return Fail(context, "pool", nodes.status());
    const auto jobs = Hosts(context, *nodes);
    if (!jobs.ok()) return Fail(context, "pool", jobs.status());
    const auto keys = NodeKeys(context);
    if (!keys.ok()) return Fail(context, "pool", keys.status());
    std::vector<HostJob> leaving;
    std::set<std::string> kept;  // Nodes whose keeper jobs stay.
    for (const HostJob& job : *jobs) {
      // A node with a key needs no keeper job: it connects by itself, through the gate.
      if (job.id.empty() && keys->contains(job.host.node)) continue;
      const bool is_wanted = std::find(hosts->begin(), hosts->end(), job.host) != hosts->end();
      if (job.pool == pool && !is_wanted) leaving.push_back(job);
      if (job.pool == pool && is_wanted && !job.id.empty()) kept.insert(job.host.node);
      if (job.pool == pool) continue;
      for (const PoolHost& host : *hosts) {
        if (host.node != job.host.node) continue;
        return Fail(context, "pool",
                    absl::AlreadyExistsError(absl::StrCat(
                        "node ", host.node, " is in pool ", runtime::Printable(job.pool),
                        "; next: yard pool rm ", runtime::Printable(job.pool),
                        ", or another name for the host in ~/.ssh/config")));
      }
    }
    if (absl::Status left = TakeOut(context, leaving, *nodes); !left.ok()) {
      return Fail(context, "pool", left);
    }
    for (const PoolHost& host : *hosts) {
      if (absl::Status set = SetSlots(context, pool, host, *nodes); !set.ok()) {
        return Fail(context, "pool", set);
      }
      if (kept.contains(host.node)) continue;
      if (absl::Status launched = Launch(context, pool, host); !launched.ok()) {
        return Fail(context, "pool", launched);
      }
    }
    return Await(context, pool, *hosts);
  }

  // Returns the keeper jobs of all hosts; a node without such a job has an empty id.
  static absl::StatusOr<std::vector<HostJob>> Hosts(Context& context,
                                                    const std::vector<msg::NodeT>& nodes) {
    auto hosts = AllHostJobs(context);
    if (!hosts.ok()) return hosts;
    for (const msg::NodeT& node : nodes) {
      const bool has_job = std::any_of(hosts->begin(), hosts->end(), [&](const HostJob& job) {
        return job.host.node == node.name;
      });
      if (has_job) continue;
      hosts->push_back({.pool = node.pool, .host = {.address = node.address, .node = node.name}});
    }
    return hosts;
  }

  // Returns the names of nodes that connect through the gate: those with an allowed key.
  static absl::StatusOr<std::set<std::string>> NodeKeys(Context& context) {
    const bus::KeyFolder folder(context.locations.state_directory);
    const auto keys = folder.Allowed();
    std::set<std::string> names;
    if (absl::IsNotFound(keys.status())) return names;
    if (!keys.ok()) return keys.status();
    for (const bus::AllowedKey& key : *keys) {
      if (key.is_of_node()) names.insert(key.name);
    }
    return names;
  }

  absl::Status SetSlots(Context& context, const std::string& pool, const PoolHost& host,
                        const std::vector<msg::NodeT>& nodes) const {
    const msg::NodeT* const node = FindNode(nodes, host.node);
    if (slots_ == 0 || node == nullptr || node->pool != pool || node->slots == slots_) {
      return absl::OkStatus();
    }
    msg::NodeT changed = *node;
    changed.slots = slots_;
    return SetNode(context, changed).status();
  }

  absl::Status Launch(Context& context, const std::string& pool, const PoolHost& host) const {
    const auto program = runtime::FindBinary("tools/yard/yard");
    if (!program.ok()) return program.status();
    auto client = context.client();
    if (!client.ok()) return client.status();
    RemoveHostState(context.locations.runtime_directory, host.node);
    msg::LaunchRequestT request;
    request.spec = std::make_unique<msg::JobSpecT>(
        JobOfHost({.pool = pool, .host = host, .slots = slots_}, *program, context.environment));
    return (*client)->Call<rpc::Launcher::Launch>(request, Patient()).status();
  }

  // Waits until each host is connected or has failed, and reports the progress of each.
  int Await(Context& context, const std::string& pool, const std::vector<PoolHost>& hosts) const {
    std::map<std::string, std::string> said, failed;
    absl::Time progress = context.clock->Now();
    for (;;) {
      const auto nodes = AllNodes(context);
      if (!nodes.ok()) return Fail(context, "pool", nodes.status());
      std::vector<std::string> waiting;
      for (const PoolHost& host : hosts) {
        const msg::NodeT* const node = FindNode(*nodes, host.node);
        if (node != nullptr && node->state != msg::NodeState::Away) {
          failed.erase(host.node);
          continue;
        }
        const auto state = ReadHostState(context.locations.runtime_directory, host.node);
        if (state.ok() && state->phase == Phase::kAway) {
          failed[host.node] = state->why;
          continue;
        }
        if (!failed.contains(host.node)) waiting.push_back(host.address);
        if (!state.ok() || said[host.node] == NameOfPhase(state->phase)) continue;
        progress = context.clock->Now();
        said[host.node] = NameOfPhase(state->phase);
        if (context.json) continue;
        *context.err << runtime::Printable(host.address) << ": " << said[host.node] << std::endl;
      }
      if (waiting.empty()) return Finish(context, OfPool(*nodes, pool), failed);
      if (context.clock->Now() - progress > kToConnect) {
        return Fail(context, "pool",
                    absl::DeadlineExceededError(absl::StrCat(
                        "no node of ", runtime::Printable(absl::StrJoin(waiting, ", ")),
                        " has connected; next: yard logs pool-", pool, "-NODE")));
      }
      absl::SleepFor(kBetweenLooks);
    }
  }

  int Finish(Context& context, const std::vector<msg::NodeT>& nodes,
             const std::map<std::string, std::string>& failed) const {
    Show(context, nodes);
    int code = kDone;
    for (const auto& [node, why] : failed) {
      code = Fail(context, "pool", absl::UnavailableError(why));
    }
    if (code != kDone) {
      *context.err << "yard pool: it goes on trying; `yard pool rm` ends that\n";
    }
    return code;
  }

  int Remove(Context& context) const {
    const std::string& pool = words_[1];
    const auto nodes = AllNodes(context);
    if (!nodes.ok()) return Fail(context, "pool", nodes.status());
    if (IsSlurmPool(context, pool)) return TakeOutSlurmPool(context, pool, force_, *nodes);
    const auto jobs = Hosts(context, *nodes);
    if (!jobs.ok()) return Fail(context, "pool", jobs.status());
    std::vector<HostJob> leaving;
    for (const HostJob& job : *jobs) {
      if (job.pool == pool) leaving.push_back(job);
    }
    if (leaving.empty()) return Fail(context, "pool", NoPool(pool));
    const auto keys = NodeKeys(context);
    if (!keys.ok()) return Fail(context, "pool", keys.status());
    if (absl::Status left = TakeOut(context, leaving, *nodes); !left.ok()) {
      return Fail(context, "pool", left);
    }
    const bus::KeyFolder folder(context.locations.state_directory);
    for (const HostJob& host : leaving) {
      if (!keys->contains(host.host.node)) continue;
      const absl::Status removed = folder.Remove(host.host.node);
      if (!removed.ok() && !absl::IsNotFound(removed)) return Fail(context, "pool", removed);
    }
    if (context.json) {
      PrintJson(context, {{"pool", pool}, {"removed", true}});
    } else {
      *context.out << "pool " << pool << " is removed\n";
    }
    return kDone;
  }

  // Stops the keeper jobs of these hosts, which clean up there, and waits for their ends.
  absl::Status TakeOut(Context& context, const std::vector<HostJob>& leaving,
                       const std::vector<msg::NodeT>& nodes) const {
    for (const HostJob& job : leaving) {
      const msg::NodeT* const node = FindNode(nodes, job.host.node);
      if (force_ || node == nullptr || node->tasks.empty()) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(runtime::Printable(job.host.node), " has ",
                       runtime::Printable(absl::StrJoin(node->tasks, ", ")),
                       "; next: yard pool drain ", runtime::Printable(job.host.node),
                       " and wait for their ends, or --force, which loses them"));
    }
    auto client = context.client();
    if (!client.ok()) return client.status();
    for (const HostJob& job : leaving) {
      if (job.id.empty()) continue;
      msg::StopJobRequestT request;
      request.job = job.id;
      const auto asked = (*client)->Call<rpc::Launcher::StopJob>(request, Patient());
      if (!asked.ok() && !absl::IsNotFound(asked.status())) return asked.status();
    }
    for (const HostJob& job : leaving) {
      if (!job.id.empty()) {
        const auto ended = FollowJob(context, job.id, kToLeave);
        if (!ended.ok() && !absl::IsNotFound(ended.status())) return ended.status();
      }
      // The node is still registered if its job was killed.
      const absl::Status removed = RemoveNode(context, job.host.node, /*force=*/true);
      if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
      const auto state = ReadHostState(context.locations.runtime_directory, job.host.node);
      if (state.ok() && state->phase == Phase::kLeft && !state->why.empty()) {
        *context.err << "yard pool: " << runtime::Printable(state->why) << "\n";
      }
      RemoveHostState(context.locations.runtime_directory, job.host.node);
    }
    return absl::OkStatus();
  }

  std::vector<std::string> words_;
  std::string hosts_, engine_;
  std::map<std::string, std::string> slurm_;  // Slurm settings by key; empty if not given.
  std::uint32_t slots_ = 0;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakePool() { return std::make_unique<Pool>(); }

}  // namespace yard
