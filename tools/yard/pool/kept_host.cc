#include "tools/yard/pool/kept_host.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/pool/bundle.h"
#include "tools/yard/pool/host_keeper.h"
#include "tools/yard/pool/host_scripts.h"
#include "tools/yard/pool/host_state.h"
#include "tools/yard/pool/pool_jobs.h"

namespace yard {
namespace {

absl::StatusOr<Bundle> ReadOwnBundle() {
  const auto node = runtime::FindBinary("launcher/node/yard-node");
  if (!node.ok()) return node.status();
  const auto shim = runtime::FindBinary("launcher/yard-shim");
  if (!shim.ok()) return shim.status();
  return ReadBundle(*node, *shim);
}

// Registers the node at the launcher; keeps the properties that were changed since it was added.
absl::StatusOr<NodeSockets> SetOwnNode(Context& context, const KeptHost& kept) {
  const auto nodes = AllNodes(context);
  if (!nodes.ok()) return nodes.status();
  msg::NodeT wanted;
  wanted.name = kept.host.node;
  wanted.pool = kept.pool;
  wanted.address = kept.host.address;
  wanted.slots = kept.slots;
  for (const msg::NodeT& node : *nodes) {
    if (node.name != wanted.name || node.pool != wanted.pool) continue;
    wanted.draining = node.draining;
    if (node.slots != 0) wanted.slots = node.slots;
  }
  const auto set = SetNode(context, wanted);
  if (!set.ok()) return set.status();
  return NodeSockets{.launcher = set->socket, .trainer = set->trainer_socket};
}

void Tell(Context& context, const KeptHost& kept, const HostState& state) {
  const absl::Status written =
      WriteHostState(context.locations.runtime_directory, kept.host.node, state);
  *context.err << runtime::Printable(kept.host.address) << ": "
               << std::string(NameOfPhase(state.phase))
               << (state.why.empty() ? "" : ": " + runtime::Printable(state.why)) << "\n";
  if (!written.ok()) *context.err << runtime::Printable(written.ToString()) << "\n";
  *context.err << std::flush;
}

}  // namespace

int KeepHost(Context& context, const std::vector<std::string>& words) {
  const auto kept = ReadKeepHostWords(words);
  const runtime::UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!kept.ok() || !stop.valid()) {
    *context.err << "yard: "
                 << (kept.ok() ? "cannot make an event" : std::string(kept.status().message()))
                 << "\n";
    return kept.ok() ? kFailed : kUsage;
  }
  context.interrupt->Handle([&stop] {
    const std::uint64_t one = 1;
    (void)!write(stop.get(), &one, sizeof one);
  });
  RunHostKeeper({.host = kept->host,
                 .key = KeyOfNode(context.locations.state_directory, kept->host.node),
                 .environment = context.environment,
                 .read_bundle = ReadOwnBundle,
                 .set_node = [&] { return SetOwnNode(context, *kept); },
                 .say = [&](const HostState& state) { Tell(context, *kept, state); },
                 .stop = stop.get()});
  context.interrupt->Handle({});
  return kDone;
}

}  // namespace yard
