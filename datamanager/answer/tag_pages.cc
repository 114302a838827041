#include "datamanager/answer/tag_pages.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bus/wire/topic.h"
#include "datamanager/answer/scalar_messages.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/series/scalar_columns.h"
#include "datamanager/series/scalar_summary.h"
#include "eventlog/tag_metadata.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

constexpr std::size_t kNamesInAnError = 8;
// A point has a step, a time and a value; an answer has 64 MiB.
constexpr std::uint64_t kMostPoints = (64 << 20) / 24;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

msg::TagT TagMessage(const std::string& run, const RunData& data, RunData::TagId id) {
  const RunData::Tag& tag = data.tag(id);
  const bool scalar = tag.summary.points > 0;
  const ScalarSummary& summary = scalar ? tag.summary : tag.values->summary;
  msg::TagT message;
  message.name = std::string(data.tag_name(id));
  message.plugin = runtime::LossyUtf8(tag.plugin());
  message.points = summary.points;
  message.first_step = summary.first_step;
  message.last_step = summary.last_step;
  message.first_time = summary.first_time;
  message.last_time = summary.last_time;
  // Only scalars have a minimum, a maximum and a last value.
  message.min = scalar ? summary.min : kNaN;
  message.max = scalar ? summary.max : kNaN;
  message.last = scalar ? summary.last : kNaN;
  message.not_finite = scalar ? summary.not_finite : 0;
  message.display_name = runtime::LossyUtf8(tag.kind->display_name);
  message.description = runtime::LossyUtf8(tag.kind->description);
  message.data_class = static_cast<msg::DataClass>(tag.kind->data_class);
  message.content.assign(tag.kind->content.begin(), tag.kind->content.end());
  if (scalar) message.topic = bus::TopicOf({"m", run, data.tag_name(id)});
  return message;
}

absl::Status NoScalars(const RunSource::View& view, const std::string& tag) {
  std::vector<std::string> names;
  for (const RunData::TagId id : view.data.TagsByName()) {
    if (names.size() == kNamesInAnError) break;
    if (view.data.tag(id).summary.points > 0) names.emplace_back(view.data.tag_name(id));
  }
  return absl::NotFoundError(absl::StrCat("no scalar tag \"", tag, "\" in run ", view.listed.name,
                                          "; it has ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<std::optional<NamePattern>> CompilePattern(const std::string& pattern) {
  if (pattern.empty()) return std::nullopt;
  auto compiled = NamePattern::Compile(pattern);
  if (!compiled.ok()) return compiled.status();
  return *std::move(compiled);
}

PluginLists PluginsOf(const RunData& data, std::size_t* bytes) {
  PluginLists lists;
  std::map<std::string, msg::PluginTagsT*, std::less<>> known;
  const auto list_of = [&](std::string_view plugin) {
    const auto [entry, fresh] = known.try_emplace(std::string(plugin), nullptr);
    if (fresh) {
      entry->second = lists.emplace_back(std::make_unique<msg::PluginTagsT>()).get();
      entry->second->plugin = runtime::LossyUtf8(plugin);
    }
    return entry->second;
  };
  for (const std::string_view plugin : eventlog::KnownPlugins()) list_of(plugin);
  for (const RunData::TagId id : data.TagsByName()) {
    const std::string_view name = data.tag_name(id);
    if (name.size() + kBytesOfAName > *bytes) {
      *bytes = 0;
      break;
    }
    *bytes -= name.size() + kBytesOfAName;
    list_of(data.tag(id).plugin())->tags.emplace_back(name);
  }
  return lists;
}

absl::StatusOr<msg::TagsReplyT> TagsPage(const RunSource::View& view,
                                         const msg::TagsRequestT& request) {
  const auto pattern = CompilePattern(request.pattern);
  if (!pattern.ok()) return pattern.status();
  const RunData& data = view.data;
  msg::TagsReplyT reply;
  reply.run = view.listed.name;
  reply.generation = data.generation();
  reply.cache = static_cast<msg::CacheState>(view.state);
  reply.incomplete = view.incomplete;
  // Only the first page lists the plugins.
  std::size_t room_for_names = kMostPageBytes;
  if (request.after.empty()) reply.plugins = PluginsOf(data, &room_for_names);
  std::size_t bytes = 0;
  std::span<const RunData::TagId> tags = data.TagsByName();
  const bool all = request.plugin.empty() && !pattern->has_value();
  if (all) {
    // Skips the tags of other pages.
    reply.total = tags.size();
    const auto begin = std::upper_bound(tags.begin(), tags.end(), request.after,
                                        [&](const std::string& after, RunData::TagId id) {
                                          return std::string_view(after) < data.tag_name(id);
                                        });
    if (!request.after.empty()) tags = {begin, tags.end()};
  }
  for (const RunData::TagId id : tags) {
    const std::string_view name = data.tag_name(id);
    if (!request.plugin.empty() && data.tag(id).plugin() != request.plugin) continue;
    if (pattern->has_value() && !(*pattern)->Matches(name)) continue;
    if (!all) ++reply.total;
    if (!request.after.empty() && name <= request.after) continue;
    if ((request.limit != 0 && reply.tags.size() == request.limit) || bytes > kMostPageBytes) {
      if (reply.next.empty()) reply.next = reply.tags.back()->name;
      if (all) break;
      continue;
    }
    reply.tags.push_back(std::make_unique<msg::TagT>(TagMessage(view.listed.name, data, id)));
    const msg::TagT& tag = *reply.tags.back();
    bytes += kBytesOfATable + tag.name.size() + tag.topic.size() + tag.content.size() +
             tag.display_name.size() + tag.description.size();
  }
  return reply;
}

absl::StatusOr<msg::ScalarsReplyT> ScalarsPage(const RunSource::View& view,
                                               const msg::ScalarsRequestT& request) {
  const auto overlap = OverlapOf(request.overlap);
  if (!overlap.has_value()) return absl::InvalidArgumentError("an unknown overlap policy");
  RunData& data = view.data;
  const auto id = data.FindTag(request.tag);
  if (!id.has_value() || data.tag(*id).summary.points == 0) return NoScalars(view, request.tag);
  msg::ScalarsReplyT reply;
  reply.run = view.listed.name;
  reply.tag = request.tag;
  reply.plugin = runtime::LossyUtf8(data.tag(*id).plugin());
  reply.generation = data.generation();
  reply.incomplete = view.incomplete;
  reply.total_points = data.tag(*id).summary.points;
  const ScalarColumns& series = data.ByStep(*id, *overlap);
  reply.kept_points = series.size();
  if (request.columns > 0) {
    AppendColumns(series, request.first_step, request.last_step, request.columns, &reply);
    return reply;
  }
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  PointPages pages({.first_step = request.first_step,
                    .last_step = request.last_step,
                    .first_point = request.first_point,
                    .limit = request.limit == 0 ? kAll : request.limit,
                    .page_points = std::numeric_limits<std::size_t>::max()});
  const std::uint64_t selected = series.Find(request.first_step, request.last_step).size();
  const std::uint64_t behind = selected - std::min<std::uint64_t>(request.first_point, selected);
  if (std::min(behind, request.limit == 0 ? kAll : request.limit) > kMostPoints) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many points for one answer (at most ", kMostPoints,
                     "); give a limit or a number of columns, or use ReadScalars"));
  }
  const auto next = pages.Next(series, data.generation(), &reply);
  if (!next.ok()) return next.status();
  reply.more = reply.first_point + reply.steps.size() < selected;
  return reply;
}

}  // namespace datamanager
