#include "web/api/series_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "bus/schema/datamanager_methods.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "web/api/smoothing.h"

namespace web {
namespace {

using nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(30);

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status ReadSelection(const json& list, SeriesQuestion& question) {
  if (!list.is_array() || list.size() > kMostSeries) {
    return Wrong(absl::StrCat("\"sel\" is a list of at most ", kMostSeries, " [run, tag]"));
  }
  for (const json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      return Wrong("\"sel\" has something else than [run, tag]");
    }
    question.selection.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status ReadStep(const json& value, const char* name, std::int64_t* step) {
  if (value.is_number_integer()) {
    *step = value.get<std::int64_t>();
    return absl::OkStatus();
  }
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    return Wrong(absl::StrCat("\"", name, "\" is no step"));
  }
  // (A page reckons in doubles, and its axis may be wider than all steps.)
  const double number = value.get<double>();
  constexpr double kMost = 9.2e18;
  *step = static_cast<std::int64_t>(std::clamp(number, -kMost, kMost));
  return absl::OkStatus();
}

absl::Status ReadMember(const std::string& name, const json& value, SeriesQuestion& question) {
  if (name == "sel") return ReadSelection(value, question);
  if (name == "from") return ReadStep(value, "from", &question.first_step);
  if (name == "to") return ReadStep(value, "to", &question.last_step);
  if (name == "q" || name == "tag") {
    if (!value.is_string()) return Wrong(absl::StrCat("\"", name, "\" is no text"));
    (name == "q" ? question.query : question.tag) = value.get<std::string>();
    return absl::OkStatus();
  }
  if (name == "n") {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 ||
        value.get<std::uint64_t>() > kMostColumns) {
      return Wrong(absl::StrCat("\"n\" is no number from 1 to ", kMostColumns));
    }
    question.columns = value.get<std::uint32_t>();
    return absl::OkStatus();
  }
  if (name == "smooth") {
    if (!value.is_number() || !(value.get<double>() >= 0) || !(value.get<double>() < 1)) {
      return Wrong("\"smooth\" is at least 0 and less than 1");
    }
    question.smooth = value.get<double>();
    return absl::OkStatus();
  }
  return Wrong(absl::StrCat("there is no \"", name, "\": only sel, q, tag, from, to, n, smooth"));
}

SeriesColumns ColumnsOf(msg::ScalarsReplyT& reply) {
  return {.run = std::move(reply.run),
          .tag = std::move(reply.tag),
          .points = reply.total_points,
          .generation = reply.generation,
          .incomplete = reply.incomplete,
          .first_steps = std::move(reply.steps),
          .last_steps = std::move(reply.last_steps),
          .times = std::move(reply.wall_times),
          .mins = std::move(reply.mins),
          .maxs = std::move(reply.maxs),
          .lasts = std::move(reply.values)};
}

msg::ReadScalarsRequestT RequestFor(const SeriesQuestion& question, std::vector<std::string> runs,
                                    const std::string& tag) {
  msg::ReadScalarsRequestT request;
  request.selection = std::make_unique<msg::SelectionT>();
  request.selection->runs = std::move(runs);
  request.selection->query = question.selection.empty() ? question.query : "";
  request.selection->tags = {tag};
  request.selection->last_step = question.last_step;
  return request;
}

absl::Status ReadColumns(bus::Client& client, const SeriesQuestion& question,
                         msg::ReadScalarsRequestT request, std::vector<SeriesColumns>& all) {
  request.columns = question.columns;
  request.selection->first_step = question.first_step;
  const auto take = [&](const msg::ReadScalarsReplyT& part) {
    for (const auto& series : part.series) {
      if (all.size() < kMostSeries) {
        msg::ScalarsReplyT copy = *series;
        all.push_back(ColumnsOf(copy));
      }
    }
    return true;
  };
  const auto end = client.Stream<rpc::Datamanager::ReadScalars>(
      request, take, {.timeout = kPatience, .wait_for_service = true});
  if (!end.ok()) return end.status();
  take(*end);
  return absl::OkStatus();
}

// The tags of the run, of those, that have points which are not finite.
absl::StatusOr<std::set<std::string>> NotFinite(bus::Client& client, const std::string& run,
                                                const std::set<std::string>& tags) {
  std::vector<std::string> quoted;
  for (const std::string& tag : tags) quoted.push_back(re2::RE2::QuoteMeta(tag));
  msg::TagsRequestT request;
  request.run = run;
  request.pattern = absl::StrCat("^(?:", absl::StrJoin(quoted, "|"), ")$");
  std::set<std::string> found;
  do {
    auto page = client.Call<rpc::Datamanager::Tags>(request, {.timeout = kPatience});
    if (!page.ok()) return page.status();
    for (const auto& tag : page->tags) {
      if (tag->not_finite > 0) found.insert(tag->name);
    }
    request.after = page->next;
  } while (!request.after.empty());
  return found;
}

// Adds what only the points tell, while they come in the order of steps.
class PointReader {
 public:
  PointReader(SeriesColumns& series, double weight)
      : series_(series), smoother_(weight), smooths_(weight > 0) {
    series_.nans.assign(series_.first_steps.size(), 0);
    if (smooths_) {
      series_.smooths.assign(series_.first_steps.size(), std::numeric_limits<double>::quiet_NaN());
    }
  }
  void Add(std::int64_t step, double value) {
    smoother_.Add(value);
    while (at_ < series_.last_steps.size() && series_.last_steps[at_] < step) ++at_;
    if (at_ == series_.last_steps.size() || series_.first_steps[at_] > step) return;
    if (!std::isfinite(value)) ++series_.nans[at_];
    if (smooths_) series_.smooths[at_] = smoother_.value();
  }

 private:
  SeriesColumns& series_;
  Smoother smoother_;
  const bool smooths_;
  std::size_t at_ = 0;
};

absl::Status ReadPoints(bus::Client& client, const SeriesQuestion& question,
                        SeriesColumns& series) {
  PointReader reader(series, question.smooth);
  msg::ReadScalarsRequestT request = RequestFor(question, {series.run}, series.tag);
  request.selection->query.clear();
  if (question.smooth == 0) request.selection->first_step = question.first_step;
  const auto take = [&](const msg::ReadScalarsReplyT& part) {
    for (const auto& points : part.series) {
      for (std::size_t i = 0; i < points->steps.size(); ++i) {
        reader.Add(points->steps[i], points->values[i]);
      }
    }
    return true;
  };
  const auto end =
      client.Stream<rpc::Datamanager::ReadScalars>(request, take, {.timeout = kPatience});
  if (!end.ok()) return end.status();
  take(*end);
  return absl::OkStatus();
}

absl::Status ReadWhatOnlyPointsTell(bus::Client& client, const SeriesQuestion& question,
                                    std::vector<SeriesColumns>& all) {
  std::map<std::string, std::set<std::string>> tags;
  for (const SeriesColumns& series : all) tags[series.run].insert(series.tag);
  if (tags.size() > kMostRunsLookedAt) return absl::OkStatus();
  std::map<std::string, std::set<std::string>> not_finite;
  for (const auto& [run, names] : tags) {
    auto found = NotFinite(client, run, names);
    if (!found.ok()) return found.status();
    not_finite[run] = *std::move(found);
  }
  std::uint64_t read = 0;
  for (SeriesColumns& series : all) {
    if (question.smooth == 0 && not_finite[series.run].count(series.tag) == 0) {
      series.nans.assign(series.first_steps.size(), 0);
      continue;
    }
    if (read + series.points > kMostPointsRead) continue;
    read += series.points;
    if (auto status = ReadPoints(client, question, series); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SeriesQuestion> ParseSeriesQuestion(const std::string& body) {
  const json text = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!text.is_object()) return Wrong("the body is no JSON object");
  SeriesQuestion question;
  for (const auto& [name, value] : text.items()) {
    if (auto good = ReadMember(name, value, question); !good.ok()) return good;
  }
  if (question.selection.empty() && question.tag.empty()) {
    return Wrong("name the series by \"sel\", or by \"q\" and \"tag\"");
  }
  if (!question.selection.empty() && !question.tag.empty()) {
    return Wrong("\"sel\" and \"tag\" exclude each other");
  }
  return question;
}

absl::StatusOr<std::vector<SeriesColumns>> ReadSeries(bus::Client& client,
                                                      const SeriesQuestion& question) {
  std::map<std::string, std::vector<std::string>> runs_of;  // By tag.
  for (const auto& [run, tag] : question.selection) {
    auto& runs = runs_of[tag];
    if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(run);
  }
  if (question.selection.empty()) runs_of[question.tag] = {};
  std::vector<SeriesColumns> all;
  for (auto& [tag, runs] : runs_of) {
    const absl::Status read =
        ReadColumns(client, question, RequestFor(question, std::move(runs), tag), all);
    if (!read.ok()) return read;
  }
  if (auto read = ReadWhatOnlyPointsTell(client, question, all); !read.ok()) return read;
  return all;
}

}  // namespace web
