#include "datamanager/service_methods.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/datamanager_methods.h"
#include "datamanager/point_topics.h"

namespace datamanager {
namespace {

// A plot is not wider than this; a caller that wants more asks for the points.
constexpr std::size_t kMaxColumns = 16384;

msg::RunT ToMessage(const RunCatalog::RunInfo& info) {
  msg::RunT run;
  run.name = info.name;
  run.create_us = info.files.create_us;
  run.update_us = info.files.update_us;
  run.files = info.files.count;
  run.bytes = info.files.bytes;
  run.tags = static_cast<std::uint32_t>(info.tags);
  run.points = info.points;
  run.last_step = info.last_step;
  run.bad_records = info.bad_records;
  return run;
}

msg::TagT ToMessage(const RunCatalog::TagInfo& info) {
  msg::TagT tag;
  tag.name = info.name;
  tag.plugin = info.plugin;
  tag.points = info.summary.points;
  tag.first_step = info.summary.first_step;
  tag.last_step = info.summary.last_step;
  tag.min = info.summary.min;
  tag.max = info.summary.max;
  tag.last = info.summary.last;
  tag.not_finite = info.summary.not_finite;
  return tag;
}

template <typename Message>
void AppendPoint(Message& message, const Point& point) {
  message.steps.push_back(point.step);
  message.wall_times.push_back(point.wall_time);
  message.values.push_back(point.value);
}

msg::ScalarsReplyT ToMessage(const RunCatalog::Series& series) {
  msg::ScalarsReplyT reply;
  reply.run = series.run;
  reply.tag = series.tag;
  reply.total_points = series.total_points;
  for (const Point& point : series.points) AppendPoint(reply, point);
  for (const Column& column : series.columns) {
    AppendPoint(reply, {column.first_step, column.last_wall_time, column.last});
    reply.last_steps.push_back(column.last_step);
    reply.firsts.push_back(column.first);
    reply.mins.push_back(column.min);
    reply.maxs.push_back(column.max);
    reply.counts.push_back(column.count);
  }
  return reply;
}

absl::StatusOr<msg::RunsReplyT> Runs(RunCatalog* catalog, const msg::RunsRequestT& request) {
  msg::RunsReplyT reply;
  reply.logdir = catalog->root();
  std::vector<RunCatalog::RunInfo> runs;
  if (request.run.empty()) {
    runs = catalog->Runs();
  } else {
    auto run = catalog->FindRun(request.run);
    if (!run.ok()) return run.status();
    runs.push_back(std::move(*run));
  }
  for (const auto& run : runs) reply.runs.push_back(std::make_unique<msg::RunT>(ToMessage(run)));
  return reply;
}

absl::StatusOr<msg::TagsReplyT> Tags(RunCatalog* catalog, const msg::TagsRequestT& request) {
  auto run = catalog->FindRun(request.run);
  if (!run.ok()) return run.status();
  auto tags = catalog->Tags(run->name);
  if (!tags.ok()) return tags.status();
  msg::TagsReplyT reply;
  reply.run = run->name;
  for (const auto& tag : *tags) reply.tags.push_back(std::make_unique<msg::TagT>(ToMessage(tag)));
  return reply;
}

absl::StatusOr<msg::ScalarsReplyT> Scalars(RunCatalog* catalog,
                                           const msg::ScalarsRequestT& request) {
  const std::size_t columns = std::min<std::size_t>(request.columns, kMaxColumns);
  auto series =
      catalog->Scalars(request.run, request.tag, columns, request.first_step, request.last_step);
  if (!series.ok()) return series.status();
  return ToMessage(*series);
}

}  // namespace

void AddMethods(bus::Service* service, RunCatalog* catalog) {
  service->Handle<rpc::Datamanager::Runs>(
      [catalog](const bus::CallContext&, const auto& request) { return Runs(catalog, request); });
  service->Handle<rpc::Datamanager::Tags>(
      [catalog](const bus::CallContext&, const auto& request) { return Tags(catalog, request); });
  service->Handle<rpc::Datamanager::Scalars>(
      [catalog](const bus::CallContext&, const auto& request) {
        return Scalars(catalog, request);
      });
  service->Handle<rpc::Common::Ends>([catalog](const bus::CallContext&, const auto& request) {
    return EndsOfPoints(*catalog, request);
  });
  service->Handle<rpc::Common::Since>([catalog](const bus::CallContext&, const auto& request) {
    return PointsSince(*catalog, request);
  });
}

}  // namespace datamanager
