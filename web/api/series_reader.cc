#include "web/api/series_reader.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/envelope_generated.h"
#include "bus/wire/packed_numbers.h"
#include "nlohmann/json.hpp"
#include "runtime/smoother.h"
#include "web/api/series_format.h"

namespace web {
namespace {

using nlohmann::json;

constexpr absl::Duration kPatience = absl::Seconds(30);
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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
  // The page computes in doubles, and its axis may exceed the range of steps, so numbers are
  // clamped.
  const double number = value.get<double>();
  constexpr double kMost = 9.2e18;
  *step = static_cast<std::int64_t>(std::clamp(number, -kMost, kMost));
  return absl::OkStatus();
}

absl::Status ReadMember(const std::string& name, const json& value, SeriesQuestion& question) {
  if (name == "sel") return ReadSelection(value, question);
  if (name == "from") return ReadStep(value, "from", &question.first_step);
  if (name == "to") return ReadStep(value, "to", &question.last_step);
  if (name == "q" || name == "tag" || name == "x") {
    if (!value.is_string()) return Wrong(absl::StrCat("\"", name, "\" is no text"));
    (name == "q"   ? question.query
     : name == "x" ? question.x
                   : question.tag) = value.get<std::string>();
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
  return Wrong(
      absl::StrCat("there is no \"", name, "\": only sel, q, tag, from, to, n, smooth, x"));
}

// Moves the contents out of the reply.
SeriesColumns ColumnsOf(msg::ScalarsReplyT& reply) {
  return {.run = std::move(reply.run),
          .tag = std::move(reply.tag),
          .points = reply.total_points,
          .generation = reply.generation,
          .incomplete = reply.incomplete,
          .columns = std::move(reply.packed)};
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

// Like Client::Stream(), but `take` may move the contents of a part, which avoids copying many
// numbers.
absl::Status StreamScalars(bus::Client& client, msg::ReadScalarsRequestT request,
                           const std::function<bool(msg::ReadScalarsReplyT& part)>& take) {
  using ReadScalars = rpc::Datamanager::ReadScalars;
  msg::EnvelopeT envelope;
  envelope.method = std::string(ReadScalars::kInfo.name);
  envelope.body.Set(std::move(request));
  const auto take_body = [&take](msg::EnvelopeT part) {
    auto* const reply = ReadScalars::ReplyOf(part.body);
    return reply == nullptr || take(*reply);
  };
  auto end = client.StreamEnvelope(ReadScalars::kInfo, std::move(envelope), take_body,
                                   {.timeout = kPatience, .wait_for_service = true});
  if (!end.ok()) return end.status();
  take_body(*std::move(end));
  return absl::OkStatus();
}

// Passes at most kMostSeries series to `take`, one at a time.
absl::Status ReadColumns(bus::Client& client, const SeriesQuestion& question,
                         msg::ReadScalarsRequestT request, std::size_t& series_read,
                         const std::function<void(SeriesColumns)>& take) {
  request.columns = question.columns;
  request.packed = true;
  request.selection->first_step = question.first_step;
  std::size_t columns = 0;
  const auto take_part = [&](msg::ReadScalarsReplyT& part) {
    for (const auto& series : part.series) {
      if (series_read == kMostSeries) return true;
      ++series_read;
      if (series->packed != nullptr) columns += series->packed->columns;
      take(ColumnsOf(*series));
    }
    return columns <= kMostColumnsRead;
  };
  const absl::Status read = StreamScalars(client, std::move(request), take_part);
  if (columns <= kMostColumnsRead) return read;
  return absl::ResourceExhaustedError(
      absl::StrCat("the answer has more than ", kMostColumnsRead,
                   " columns: ask for fewer runs, or a smaller \"n\""));
}

// First and last step of each column.
struct Steps {
  std::vector<std::int64_t> first = {};
  std::vector<std::int64_t> last = {};

  // Both are empty if the answer has no steps.
  static Steps Of(const SeriesColumns& series) {
    if (series.columns == nullptr || series.columns->first_steps == nullptr) return {};
    const msg::PackedColumnsT& columns = *series.columns;
    Steps steps{.first =
                    bus::UnpackSteps(*columns.first_steps).value_or(std::vector<std::int64_t>())};
    steps.last = columns.last_steps == nullptr
                     ? steps.first
                     : bus::UnpackSteps(*columns.last_steps).value_or(std::vector<std::int64_t>());
    steps.last.resize(steps.first.size());
    return steps;
  }
};

// Calls `add(step, value)` for every point of the tag up to the last column, in the order of steps.
template <typename Add>
absl::Status ReadPoints(bus::Client& client, const SeriesQuestion& question, const std::string& run,
                        const std::string& tag, Add add) {
  msg::ReadScalarsRequestT request = RequestFor(question, {run}, tag);
  request.selection->query.clear();
  return StreamScalars(client, std::move(request), [&add](msg::ReadScalarsReplyT& part) {
    for (const auto& points : part.series) {
      for (std::size_t i = 0; i < points->steps.size(); ++i) {
        add(points->steps[i], points->values[i]);
      }
    }
    return true;
  });
}

// Sets the smoothed value at the end of each column, computed from all points since the first.
absl::Status ReadSmoothed(bus::Client& client, const SeriesQuestion& question,
                          SeriesColumns& series) {
  const Steps steps = Steps::Of(series);
  const std::size_t columns = steps.first.size();
  series.smooths.assign(columns, kNaN);
  runtime::Smoother smoother(question.smooth);
  std::size_t at = 0;
  const auto add = [&](std::int64_t step, double value) {
    smoother.Add(value);
    while (at < columns && steps.last[at] < step) ++at;
    if (at == columns || steps.first[at] > step) return;
    series.smooths[at] = smoother.value();
  };
  return ReadPoints(client, question, series.run, series.tag, add);
}

// Sets the x of each column if the x axis is a metric: its last value up to that column.
absl::Status ReadX(bus::Client& client, const SeriesQuestion& question, SeriesColumns& series) {
  const Steps steps = Steps::Of(series);
  const std::size_t columns = steps.first.size();
  series.xs.assign(columns, kNaN);
  double x = kNaN;
  std::size_t at = 0;
  const absl::Status read =
      ReadPoints(client, question, series.run, question.x, [&](std::int64_t step, double value) {
        for (; at < columns && steps.last[at] < step; ++at) series.xs[at] = x;
        x = value;
      });
  for (; at < columns; ++at) series.xs[at] = x;
  // Points of a run without that tag have no x.
  return absl::IsNotFound(read) ? absl::OkStatus() : read;
}

absl::Status ReadWhatOnlyPointsTell(bus::Client& client, const SeriesQuestion& question,
                                    std::vector<SeriesColumns>& all) {
  std::uint64_t read = 0;
  for (SeriesColumns& series : all) {
    if (question.x.empty() || read + series.points > kMostPointsRead) break;
    read += series.points;  // The other tag has about as many points as the series.
    if (auto status = ReadX(client, question, series); !status.ok()) return status;
  }
  for (SeriesColumns& series : all) {
    if (question.smooth == 0 || read + series.points > kMostPointsRead) continue;
    read += series.points;
    if (auto status = ReadSmoothed(client, question, series); !status.ok()) return status;
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

absl::StatusOr<std::string> AnswerSeries(bus::Client& client, const SeriesQuestion& question) {
  std::map<std::string, std::vector<std::string>> runs_of;  // Keyed by tag.
  for (const auto& [run, tag] : question.selection) {
    auto& runs = runs_of[tag];
    if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(run);
  }
  if (question.selection.empty()) runs_of[question.tag] = {};
  const bool needs_points = question.smooth > 0 || !question.x.empty();
  SeriesEncoder encoder;
  std::vector<SeriesColumns> waiting;  // Series for which points must be read.
  std::size_t series_read = 0;
  bool whole = true;
  for (auto& [tag, runs] : runs_of) {
    const auto take = [&](SeriesColumns series) {
      if (needs_points) {
        waiting.push_back(std::move(series));
      } else {
        whole &= encoder.Add(series);
      }
    };
    const absl::Status read = ReadColumns(
        client, question, RequestFor(question, std::move(runs), tag), series_read, take);
    if (!read.ok()) return read;
  }
  if (auto read = ReadWhatOnlyPointsTell(client, question, waiting); !read.ok()) return read;
  for (const SeriesColumns& series : waiting) whole &= encoder.Add(series);
  if (!whole) return absl::InternalError("the data manager's columns are not as long as it says");
  return encoder.Finish();
}

}  // namespace web
