#include "tools/yard/follow/live_names.h"

#include <cstddef>
#include <memory>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "bus/schema/common_methods.h"
#include "runtime/mutex.h"

namespace yard {
namespace {

// Shared with the callbacks, which may run after the caller has stopped waiting.
struct Answers {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::size_t missing ABSL_GUARDED_BY(mutex) = 0;
  std::vector<msg::NamesReplyT> by_kind ABSL_GUARDED_BY(mutex);
};

std::string ServiceWith(std::string_view kind) {
  if (kind == "trial" || kind == "sweep") return "trainer";
  if (kind == "job" || kind == "task") return "launcher";
  if (kind == "run" || kind == "tag") return "datamanager";
  return "registry";
}

}  // namespace

std::vector<msg::NameT> LiveNames(bus::Client& client, const std::vector<std::string_view>& kinds,
                                  const std::string& prefix, const std::string& of,
                                  absl::Duration timeout) {
  const auto answers = std::make_shared<Answers>();
  {
    runtime::MutexLock lock(answers->mutex);
    answers->missing = kinds.size();
    answers->by_kind.resize(kinds.size());
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    msg::NamesRequestT request;
    request.kind = std::string(kinds[i]);
    request.prefix = prefix;
    request.of = of;
    client.Start<rpc::Common::Names>(request, nullptr,
                                     [answers, i](absl::StatusOr<msg::NamesReplyT> reply) {
                                       runtime::MutexLock lock(answers->mutex);
                                       if (reply.ok()) answers->by_kind[i] = *std::move(reply);
                                       --answers->missing;
                                       answers->changed.SignalAll();
                                     },
                                     {.timeout = timeout, .service = ServiceWith(kinds[i])});
  }
  // The calls time out by themselves; this guards against a bus that is stuck.
  runtime::MutexLock lock(answers->mutex);
  while (answers->missing > 0) {
    if (!answers->changed.WaitWithTimeout(answers->mutex, 2 * timeout)) break;
  }
  std::vector<msg::NameT> names;
  std::set<std::string> known;
  for (const msg::NamesReplyT& reply : answers->by_kind) {
    for (const auto& name : reply.names) {
      if (name != nullptr && known.insert(name->name).second) names.push_back(*name);
    }
  }
  return names;
}

}  // namespace yard
