#include "tools/yard/slurm/slurm_nodes.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/access/access_file.h"
#include "bus/thread/curve.h"
#include "runtime/file/file.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"
#include "tools/yard/slurm/allocation.h"

namespace yard {
namespace {

constexpr std::size_t kMostKeyBytes = 64 << 10;
// The prefix that yard-node --slurm reads.
constexpr char kKeyVariable[] = "YARD_NODE_KEY_";

}  // namespace

SlurmNodes::SlurmNodes(std::string_view state_directory, SlurmCalls calls)
    : directory_(absl::StrCat(runtime::Absl(state_directory), "/slurm")),
      calls_(std::move(calls)),
      folder_(state_directory) {}

bool SlurmNodes::IsNodeOf(std::string_view pool, std::string_view node, std::uint64_t* number) {
  absl::string_view rest = runtime::Absl(node);
  if (!absl::ConsumePrefix(&rest, absl::StrCat(runtime::Absl(pool), "-"))) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '-');
  std::uint32_t index = 0;
  return parts.size() == 2 && absl::SimpleAtoi(parts[0], number) &&
         absl::SimpleAtoi(parts[1], &index);
}

std::string SlurmNodes::KeysOf(const std::string& pool) const {
  return absl::StrCat(directory_, "/", pool, ".keys");
}

// The file is written before the key is allowed: an allowed key that nobody has would be useless.
absl::Status SlurmNodes::MakeKey(const SlurmPool& pool, const std::string& node) const {
  const std::string path = absl::StrCat(KeysOf(pool.pool), "/", node);
  auto access = bus::ReadAccessFile(path);
  if (absl::IsNotFound(access.status())) {
    const auto server = folder_.MakeServerKey();
    if (!server.ok()) return server.status();
    auto pair = bus::MakeCurvePair();
    if (!pair.ok()) return pair.status();
    access = bus::AccessFile{.address = pool.gate.front(),
                             .name = node,
                             .role = std::string(bus::kNodeRole),
                             .nonce = runtime::RandomHex128(),
                             .keys = {.own = *std::move(pair), .server_key = server->public_key}};
    if (absl::Status written = bus::WriteAccessFile(path, *access); !written.ok()) return written;
    // The gate may still allow an old key of this name whose file is lost.
    const absl::Status removed = folder_.Remove(node);
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  }
  if (!access.ok()) return access.status();
  const absl::Status allowed = folder_.Allow({.name = node,
                                              .public_key = access->keys.own.public_key,
                                              .nonce = access->nonce,
                                              .allowed_us = absl::ToUnixMicros(absl::Now())});
  return absl::IsAlreadyExists(allowed) ? absl::OkStatus() : allowed;
}

absl::Status SlurmNodes::SetAll(const SlurmPool& pool, std::uint64_t number,
                                const std::string& allocation, const std::string& why,
                                bool draining) const {
  const auto known = calls_.nodes();
  if (!known.ok()) return known.status();
  std::map<std::string, const msg::NodeT*> by_name;
  for (const msg::NodeT& node : *known) by_name[node.name] = &node;
  for (std::uint32_t i = 0; i < pool.nodes; ++i) {
    msg::SetNodeRequestT request;
    request.name = Allocation::NodeName(pool.pool, number, i);
    const auto found = by_name.find(request.name);
    request.pool = pool.pool;
    request.slots = pool.slots;
    request.draining = draining || (found != by_name.end() && found->second->draining);
    request.allocation = allocation;
    request.why = why;
    if (absl::Status set = calls_.set_node(request); !set.ok()) return set;
  }
  return absl::OkStatus();
}

absl::Status SlurmNodes::Prepare(const SlurmPool& pool, const SlurmPoolState& state) const {
  if (absl::Status made = runtime::MakePrivateDirectory(KeysOf(pool.pool)); !made.ok()) {
    return made;
  }
  for (std::uint32_t i = 0; i < pool.nodes; ++i) {
    const absl::Status made = MakeKey(pool, Allocation::NodeName(pool.pool, state.number, i));
    if (!made.ok()) return made;
  }
  return SetAll(pool, state.number, state.name, state.why, /*draining=*/false);
}

absl::StatusOr<std::vector<std::string>> SlurmNodes::KeyVariables(
    const SlurmPool& pool, const SlurmPoolState& state) const {
  std::vector<std::string> variables;
  for (std::uint32_t i = 0; i < pool.nodes; ++i) {
    const auto text = runtime::ReadFile(
        absl::StrCat(KeysOf(pool.pool), "/", Allocation::NodeName(pool.pool, state.number, i)),
        kMostKeyBytes);
    if (!text.ok()) return text.status();
    variables.push_back(absl::StrCat(kKeyVariable, i, "=", absl::Base64Escape(*text)));
  }
  return variables;
}

absl::Status SlurmNodes::Tell(const SlurmPool& pool, std::uint64_t number,
                              const std::string& allocation, const std::string& why) const {
  return SetAll(pool, number, allocation, why, /*draining=*/false);
}

absl::Status SlurmNodes::Drain(const SlurmPool& pool, const SlurmPoolState& state) const {
  if (absl::Status set = SetAll(pool, state.number, state.name, state.why, true); !set.ok()) {
    return set;
  }
  const auto nodes = calls_.nodes();
  if (!nodes.ok()) return nodes.status();
  std::vector<std::string> tasks;
  for (const msg::NodeT& node : *nodes) {
    std::uint64_t number = 0;
    if (node.pool != pool.pool || !IsNodeOf(pool.pool, node.name, &number)) continue;
    if (number == state.number) tasks.insert(tasks.end(), node.tasks.begin(), node.tasks.end());
  }
  return tasks.empty() ? absl::OkStatus() : calls_.restart_tasks(tasks);
}

// Nodes are removed before keys, so that the launcher has the reason for lost tasks before the gate
// closes their connections.
absl::Status SlurmNodes::Clear(const std::string& pool, std::uint64_t kept,
                               const std::string& why) const {
  const auto nodes = calls_.nodes();
  if (!nodes.ok()) return nodes.status();
  std::uint64_t number = 0;
  for (const msg::NodeT& node : *nodes) {
    if (node.pool != pool || !IsNodeOf(pool, node.name, &number)) continue;
    if (kept != 0 && number == kept) continue;
    if (absl::Status removed = calls_.remove_node(node.name, why); !removed.ok()) return removed;
  }
  const auto keys = folder_.Allowed();
  if (!keys.ok() && !absl::IsNotFound(keys.status())) return keys.status();
  if (keys.ok()) {
    for (const bus::AllowedKey& key : *keys) {
      if (!key.is_of_node() || !IsNodeOf(pool, key.name, &number)) continue;
      const absl::Status removed = folder_.Remove(key.name);
      if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    }
  }
  std::error_code error;
  std::filesystem::remove_all(KeysOf(pool), error);
  return error ? absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", KeysOf(pool)))
               : absl::OkStatus();
}

}  // namespace yard
