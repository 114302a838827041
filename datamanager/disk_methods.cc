#include "datamanager/disk_methods.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/datamanager_methods.h"
#include "datamanager/catalog/disk_usage.h"
#include "runtime/file/trash.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

using rpc::Datamanager;

// Returns a function that is true once the caller's deadline has passed.
std::function<bool()> IsLate(const DiskMethodsOptions& options, const bus::CallContext& context) {
  return [clock = options.clock, deadline = context.deadline] {
    return clock->Monotonic() >= deadline;
  };
}

absl::Time TimeOf(std::int64_t us) {
  return us == 0 ? absl::InfiniteFuture() : absl::FromUnixMicros(us);
}

// Converts an entry, including its disk space.
absl::StatusOr<std::unique_ptr<msg::TrashEntryT>> Message(const TrashKeeper& trash,
                                                          const runtime::TrashEntry& entry,
                                                          const std::function<bool()>& cancelled) {
  auto message = std::make_unique<msg::TrashEntryT>();
  message->name = runtime::LossyUtf8(entry.name);
  message->run = runtime::LossyUtf8(entry.from);
  message->moved_us = absl::ToUnixMicros(entry.moved);
  const absl::Time deleted = trash.DeletedAt(entry);
  message->deleted_us = deleted == absl::InfiniteFuture() ? 0 : absl::ToUnixMicros(deleted);
  const auto usage = MeasureDisk(absl::StrCat(trash.directory(), "/", entry.name), {}, cancelled);
  if (absl::IsCancelled(usage.status())) return usage.status();
  if (usage.ok()) {
    message->bytes = usage->bytes;
    message->files = usage->files;
  }
  return message;
}

absl::StatusOr<msg::TrashReplyT> Trash(const DiskMethodsOptions& options,
                                       const bus::CallContext& context,
                                       const msg::TrashRequestT& request) {
  const auto entries = options.trash->List(TimeOf(request.before_us));
  if (!entries.ok()) return entries.status();
  msg::TrashReplyT reply;
  reply.directory = runtime::LossyUtf8(options.trash->directory());
  for (const runtime::TrashEntry& entry : *entries) {
    auto message = Message(*options.trash, entry, IsLate(options, context));
    if (!message.ok()) return message.status();
    reply.entries.push_back(*std::move(message));
  }
  return reply;
}

absl::StatusOr<msg::RestoreRunReplyT> RestoreRun(const DiskMethodsOptions& options,
                                                 const msg::RestoreRunRequestT& request) {
  const auto entry = options.trash->Find(request.entry);
  if (!entry.ok()) return entry.status();
  const std::string run = request.run.empty() ? entry->from : request.run;
  const absl::Status restored = runtime::RestoreFromTrash(options.logdir, entry->name, run);
  if (absl::IsAlreadyExists(restored)) {
    return absl::AlreadyExistsError(absl::StrCat("cannot restore ", entry->from, ": ",
                                                 restored.message(),
                                                 "; next: restore it with --name OTHER"));
  }
  if (!restored.ok()) return restored;
  msg::RestoreRunReplyT reply;
  reply.run = runtime::LossyUtf8(run);
  reply.directory = runtime::LossyUtf8(absl::StrCat(options.logdir, "/", run));
  return reply;
}

absl::StatusOr<msg::EmptyTrashReplyT> EmptyTrash(const DiskMethodsOptions& options,
                                                 const bus::CallContext& context,
                                                 const msg::EmptyTrashRequestT& request) {
  std::vector<runtime::TrashEntry> entries;
  if (request.entry.empty()) {
    auto all = options.trash->List(TimeOf(request.before_us));
    if (!all.ok()) return all.status();
    entries = *std::move(all);
  } else {
    auto one = options.trash->Find(request.entry);
    // (An entry that does not exist is an error, although a retry may have deleted it: a misspelled
    // name must be reported.)
    if (!one.ok()) return one.status();
    if (one->moved < TimeOf(request.before_us)) entries.push_back(*std::move(one));
  }
  msg::EmptyTrashReplyT reply;
  for (const runtime::TrashEntry& entry : entries) {
    auto message = Message(*options.trash, entry, IsLate(options, context));
    if (!message.ok()) return message.status();
    if (auto deleted = runtime::DeleteFromTrash(options.logdir, entry.name); !deleted.ok()) {
      return deleted;
    }
    reply.entries.push_back(*std::move(message));
  }
  return reply;
}

// Returns the requested runs; NotFound names the first unknown one.
absl::StatusOr<std::vector<const RemovableRun*>> Chosen(const std::vector<RemovableRun>& runs,
                                                        const std::vector<std::string>& names) {
  std::vector<const RemovableRun*> chosen;
  if (names.empty()) {
    for (const RemovableRun& run : runs) chosen.push_back(&run);
    return chosen;
  }
  std::map<std::string_view, const RemovableRun*> by_name;
  for (const RemovableRun& run : runs) by_name[run.name] = &run;
  for (const std::string& name : names) {
    const auto known = by_name.find(name);
    if (known == by_name.end()) return absl::NotFoundError(absl::StrCat("no run ", name));
    chosen.push_back(known->second);
  }
  return chosen;
}

// Returns the directories of the runs below `run`.
std::set<std::string> Below(const RemovableRun& run, const std::set<std::string>& directories) {
  std::set<std::string> below;
  const std::string beginning = run.directory + "/";
  for (auto at = directories.lower_bound(beginning);
       at != directories.end() && absl::StartsWith(*at, beginning); ++at) {
    below.insert(*at);
  }
  return below;
}

absl::StatusOr<msg::DiskUsageReplyT> Usage(const DiskMethodsOptions& options,
                                           const bus::CallContext& context,
                                           const msg::DiskUsageRequestT& request) {
  const auto runs = options.runs();
  if (!runs.ok()) return runs.status();
  const auto chosen = Chosen(*runs, request.runs);
  if (!chosen.ok()) return chosen.status();
  std::set<std::string> directories;
  for (const RemovableRun& run : *runs) directories.insert(run.directory);
  const auto cancelled = IsLate(options, context);
  msg::DiskUsageReplyT reply;
  for (const RemovableRun* const run : *chosen) {
    const auto usage = MeasureDisk(run->directory, Below(*run, directories), cancelled);
    if (absl::IsCancelled(usage.status())) return usage.status();
    if (!usage.ok()) continue;  // The run was just removed.
    auto message = std::make_unique<msg::RunDiskUsageT>();
    message->run = run->name;
    message->files = usage->files;
    message->bytes = usage->bytes;
    message->checkpoint_bytes = usage->checkpoint_bytes;
    message->event_bytes = usage->event_bytes;
    message->log_bytes = usage->log_bytes;
    reply.runs.push_back(std::move(message));
  }
  std::stable_sort(reply.runs.begin(), reply.runs.end(),
                   [](const auto& a, const auto& b) { return a->bytes > b->bytes; });
  const auto trash = MeasureDisk(options.trash->directory(), {}, cancelled);
  if (absl::IsCancelled(trash.status())) return trash.status();
  if (trash.ok()) reply.trash_bytes = trash->bytes;
  reply.logdir = runtime::LossyUtf8(options.logdir);
  struct statvfs disk {};
  if (statvfs(options.logdir.c_str(), &disk) == 0) {
    reply.free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
    reply.total_bytes = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  }
  return reply;
}

}  // namespace

void AddDiskMethods(bus::Service* service, DiskMethodsOptions options) {
  service->Handle<Datamanager::Trash>(
      [options](const bus::CallContext& context, const msg::TrashRequestT& request) {
        return Trash(options, context, request);
      });
  service->Handle<Datamanager::RestoreRun>(
      [options](const bus::CallContext&, const msg::RestoreRunRequestT& request) {
        return RestoreRun(options, request);
      });
  service->Handle<Datamanager::EmptyTrash>(
      [options](const bus::CallContext& context, const msg::EmptyTrashRequestT& request) {
        return EmptyTrash(options, context, request);
      });
  service->Handle<Datamanager::DiskUsage>(
      [options](const bus::CallContext& context, const msg::DiskUsageRequestT& request) {
        return Usage(options, context, request);
      });
}

}  // namespace datamanager
