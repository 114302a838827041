#include "datamanager/cache_methods.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/datamanager_methods.h"
#include "datamanager/answer/listing_pages.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

using rpc::Datamanager;

msg::DataStatusReplyT Status(const CacheMethods& methods) {
  const RunCatalog::Stats stats = methods.catalog->GetStats();
  const RunTable::ScanStatus whole = methods.catalog->GetScanStatus();
  const RunFollower::Stats followed = methods.follower->GetStats();
  msg::DataStatusReplyT status;
  status.state = static_cast<msg::ManagerState>(whole.state);
  status.logdir = runtime::LossyUtf8(methods.catalog->root());
  status.runs = stats.runs;
  status.counted = stats.counted;
  status.cached = stats.cache.cached;
  status.caching = stats.cache.caching;
  status.failed = stats.cache.failed;
  status.budget_bytes = stats.cache.budget;
  status.cached_bytes = stats.cache.bytes;
  if (methods.indexes != nullptr) status.index_bytes = methods.indexes->GetStats().store.bytes;
  status.read_bytes = stats.read_bytes;
  status.total_bytes = stats.total_bytes;
  status.load_threads = static_cast<std::uint32_t>(methods.load_threads);
  status.reload_interval_ms =
      static_cast<std::uint64_t>(absl::ToInt64Milliseconds(methods.reload_interval));
  status.scan_us = followed.last_scan == absl::Time() ? 0 : absl::ToUnixMicros(followed.last_scan);
  status.scan_took_us =
      static_cast<std::uint64_t>(absl::ToInt64Microseconds(followed.last_scan_took));
  status.watched = followed.watched;
  status.unwatched = followed.unwatched;
  if (!whole.unreadable.reasons.empty()) {
    status.scan_error = runtime::LossyUtf8(std::string(whole.unreadable.reasons.front().message()));
  }
  return status;
}

absl::StatusOr<msg::CacheRunReplyT> CacheRuns(RunCatalog* catalog,
                                              const msg::CacheRunRequestT& request) {
  msg::CacheRunReplyT reply;
  for (const std::string& run : request.runs) {
    const auto name = catalog->FindName(run);
    if (!name.ok()) return name.status();
    const absl::Status asked = catalog->CacheRun(*name);
    if (!asked.ok()) return asked;
    const auto info = catalog->Describe(*name);
    if (!info.ok()) return info.status();
    reply.runs.push_back(std::make_unique<msg::RunT>(RunMessage(*info)));
  }
  return reply;
}

absl::StatusOr<msg::UncacheRunReplyT> Uncache(RunCatalog* catalog,
                                              const msg::UncacheRunRequestT& request) {
  const auto info = catalog->Describe(request.run);
  if (!info.ok()) return info.status();
  const absl::Status forgotten = catalog->Uncache(info->listed->name);
  if (!forgotten.ok()) return forgotten;
  msg::UncacheRunReplyT reply;
  reply.run = std::make_unique<msg::RunT>(RunMessage(*info));
  return reply;
}

void Reload(const CacheMethods& methods,
            std::shared_ptr<bus::ReplyWriter<Datamanager::Reload>> writer,
            const msg::ReloadRequestT& request) {
  const auto joined = std::make_shared<std::atomic<bool>>(false);
  const auto finish = [methods, writer, joined] {
    // The callback runs on a reading thread, and the status visits all runs.
    const absl::Status queued = methods.pool->Submit([methods, writer, joined] {
      msg::ReloadReplyT reply;
      reply.status = std::make_unique<msg::DataStatusReplyT>(Status(methods));
      reply.joined = joined->load();
      writer->Finish(std::move(reply));
      return absl::OkStatus();
    });
    if (!queued.ok()) writer->Finish(queued);
  };
  if (!request.run.empty()) {
    const auto name = methods.catalog->FindName(request.run);
    if (!name.ok()) return writer->Finish(name.status());
    const absl::Status again = methods.catalog->Recheck(*name);
    if (!again.ok()) return writer->Finish(again);
    return methods.catalog->WhenLoaded(finish);
  }
  *joined = methods.follower->Reload(
      [catalog = methods.catalog, finish] { catalog->WhenLoaded(finish); });
}

}  // namespace

void AddCacheMethods(bus::Service* service, const CacheMethods& methods) {
  // Called on the bus thread, and the status waits for runs.
  service->HandleAsync<Datamanager::DataStatus>(
      [methods](std::shared_ptr<bus::ReplyWriter<Datamanager::DataStatus>> writer, const auto&) {
        const absl::Status queued = methods.pool->Submit([methods, writer] {
          writer->Finish(Status(methods));
          return absl::OkStatus();
        });
        if (!queued.ok()) writer->Finish(queued);
      });
  service->Handle<Datamanager::CacheRun>(
      [catalog = methods.catalog](const bus::CallContext&, const auto& request) {
        return CacheRuns(catalog, request);
      });
  service->Handle<Datamanager::UncacheRun>(
      [catalog = methods.catalog](const bus::CallContext&, const auto& request) {
        return Uncache(catalog, request);
      });
  service->HandleAsync<Datamanager::Reload>(
      [methods](std::shared_ptr<bus::ReplyWriter<Datamanager::Reload>> writer,
                const auto& request) { Reload(methods, std::move(writer), request); });
}

}  // namespace datamanager
