#include "datamanager/catalog/run_topics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datamanager/catalog/catalog_run.h"
#include "datamanager/catalog/tag_levels.h"
#include "datamanager/read/run_data.h"
#include "runtime/text/string_view.h"

namespace datamanager {
namespace {

using runtime::Absl;

constexpr std::string_view kRoot = "m/";

// Splits "m/LEVEL/REST", or a prefix of such a topic, into "LEVEL/" and "REST".
std::pair<std::string, std::string> SplitTopic(std::string_view topic) {
  const std::string_view rest = topic.substr(kRoot.size());
  const std::size_t slash = rest.find('/');
  if (slash == rest.npos) return {std::string(rest), ""};
  return {std::string(rest.substr(0, slash + 1)), std::string(rest.substr(slash + 1))};
}

}  // namespace

absl::Status RunTopics::VisitTopics(
    std::string_view prefix, std::string_view after,
    const std::function<bool(const std::string& topic, std::uint64_t generation,
                             std::uint64_t points)>& visit) {
  // The first topic that can match.
  const std::string_view from = std::max({prefix, after, kRoot});
  if (!from.starts_with(kRoot)) return absl::OkStatus();
  auto [level, tag] = SplitTopic(from);
  for (;;) {
    const std::pair<std::string, CatalogRunPtr> found = table_.FindFromLevel(level);
    const CatalogRunPtr& run = found.second;
    const std::string run_topic = absl::StrCat(Absl(kRoot), found.first);
    if (run == nullptr || !(run_topic.starts_with(prefix) || prefix.starts_with(run_topic))) {
      return absl::OkStatus();
    }
    const std::string first_tag = found.first == level ? tag : "";
    bool go_on = false;
    const absl::Status status = run->With([&](CatalogRun::State& state) {
      const RunData& data = state.reader.data();
      if (!data.counted()) return run->BeingRead(state.reader);
      for (const TagLevels::Entry& entry : state.levels.Get(data)) {
        const std::uint64_t points = data.tag(entry.tag).summary.points;
        if (points == 0 || entry.level < first_tag) continue;
        const std::string topic = run_topic + entry.level;
        if (topic <= after) continue;
        if (!topic.starts_with(prefix)) return absl::OkStatus();
        if (!visit(topic, data.generation(), points)) return absl::OkStatus();
      }
      go_on = true;
      return absl::OkStatus();
    });
    if (!status.ok()) {
      loader_.ReadChanged(run->name);
      return status;
    }
    if (!go_on) return absl::OkStatus();
    level = found.first + '\0';  // The smallest possible next level.
  }
}

absl::StatusOr<PointRange> RunTopics::PointsAfter(std::string_view topic,
                                                  std::span<const PointPosition> known,
                                                  std::size_t limit,
                                                  std::optional<RunSource::Request>* wait_for,
                                                  double since) {
  PointRange result;
  if (!topic.starts_with(kRoot)) return result;
  const auto [level, tag_level] = SplitTopic(topic);
  const std::pair<std::string, CatalogRunPtr> found = table_.FindFromLevel(level);
  const CatalogRunPtr& run = found.second;
  if (run == nullptr || found.first != level) return result;
  RunSource::Need need = RunSource::Need::kCounts;
  const absl::Status status = run->With([&, &tag_level = tag_level](CatalogRun::State& state) {
    RunData& data = state.reader.data();
    const auto being_read = [&] { return run->BeingRead(state.reader); };
    if (!data.counted()) return being_read();
    const auto tag = state.levels.Find(data, tag_level);
    if (!tag.has_value()) return absl::OkStatus();
    result.run = run->name;
    result.tag = data.tag_name(*tag);
    result.generation = data.generation();
    for (const PointPosition& place : known) {
      if (place.generation == result.generation) result.first = place.position;
    }
    const auto& summary = data.tag(*tag).summary;
    if (summary.points <= result.first) return absl::OkStatus();
    if (summary.last_time < since) {
      result.first = summary.points;
      result.passed = true;
      return absl::OkStatus();
    }
    need = RunSource::Need::kPoints;
    if (!data.cached()) return being_read();
    data.tag(*tag).points.Read(result.first, limit, &result.points);
    return absl::OkStatus();
  });
  if (need == RunSource::Need::kPoints) loader_.Touch(run->name);
  if (status.ok()) return result;
  *wait_for = RunSource::Request{.run = run->name, .need = need, .whole = true};
  return status;
}

}  // namespace datamanager
