#include "web/events/pending_events.h"

#include <memory>

#include "bus/json/alert_json.h"
#include "bus/json/sweep_json.h"
#include "bus/json/trial_and_job_json.h"

namespace web {
namespace {

using nlohmann::json;

json TrialNews(const msg::TrialT& trial) {
  json news = bus::ToJson(trial);
  for (const char* long_one : {"argv", "error_lines"}) news.erase(long_one);
  return news;
}

json LeaseNews(const msg::LeaseEvent& event) {
  const msg::Lease* lease = event.lease();
  const auto text = [](const flatbuffers::String* string) {
    return string == nullptr ? std::string() : string->str();
  };
  return {{"name", text(lease->name())},
          {"instance", text(lease->instance())},
          {"state", bus::StateName(lease->state())},
          {"reason", text(event.reason())}};
}

json PointsNews(const msg::PointsT& points) {
  json values = json::array();
  for (const double value : points.values) values.push_back(bus::NumberToJson(value));
  return {{"run", points.run},
          {"tag", points.tag},
          {"steps", points.steps},
          {"times", points.wall_times},
          {"values", std::move(values)}};
}

}  // namespace

void PendingEvents::Add(const std::string& topic, const msg::Envelope& event) {
  if (const auto* points = event.body_as_Points()) {
    AddPoints(topic, *points);
  } else if (const auto* lines = event.body_as_LogLines()) {
    AddLines(topic, *lines);
  } else if (const auto* trial = event.body_as_TrialEvent()) {
    if (trial->trial() != nullptr) {
      const std::unique_ptr<msg::TrialT> news(trial->trial()->UnPack());
      trials_[news->id] = TrialNews(*news);
    }
  } else if (const auto* sweep = event.body_as_SweepEvent()) {
    AddSweep(topic, *sweep);
  } else if (const auto* job = event.body_as_JobEvent()) {
    if (job->job() != nullptr) {
      const std::unique_ptr<msg::JobT> news(job->job()->UnPack());
      jobs_[news->id] = {{"id", news->id}, {"state", bus::StateName(news->state)}};
    }
  } else if (const auto* alert = event.body_as_Alert()) {
    const std::unique_ptr<msg::AlertT> news(alert->UnPack());
    alerts_[news->id] = bus::ToJson(*news);
  } else if (const auto* lease = event.body_as_LeaseEvent()) {
    if (lease->lease() != nullptr) {
      json news = LeaseNews(*lease);
      const std::string name = news["name"];
      services_[name] = std::move(news);
    }
  }
}

void PendingEvents::AddPoints(const std::string& topic, const msg::Points& points) {
  const std::unique_ptr<msg::PointsT> news(points.UnPack());
  msg::PointsT& known = points_[{topic, news->tag}];
  known.run = news->run;
  known.tag = news->tag;
  if (known.steps.size() + news->steps.size() > kMostPointsAtOnce) {
    gaps_.insert(topic);
    return;
  }
  known.steps.insert(known.steps.end(), news->steps.begin(), news->steps.end());
  known.wall_times.insert(known.wall_times.end(), news->wall_times.begin(), news->wall_times.end());
  known.values.insert(known.values.end(), news->values.begin(), news->values.end());
}

void PendingEvents::AddLines(const std::string& topic, const msg::LogLines& lines) {
  const std::unique_ptr<msg::LogLinesT> news(lines.UnPack());
  Lines& known = lines_[{topic, news->task, news->attempt, news->stream}];
  known.end = news->end_offset;
  if (known.lines.size() + news->lines.size() > kMostLinesAtOnce) {
    gaps_.insert(topic);
    return;
  }
  for (std::string& line : news->lines) known.lines.push_back(std::move(line));
}

void PendingEvents::AddSweep(const std::string& topic, const msg::SweepEvent& event) {
  if (event.sweep() == nullptr) return;
  const std::unique_ptr<msg::SweepEventT> news(event.UnPack());
  if (topic == "yard") {
    sweep_news_[news->sweep->id] = bus::ToJson(*news->sweep);
    return;
  }
  Sweep& known = sweeps_[topic];
  known.sweep = bus::ToJson(*news->sweep);
  for (const auto& trial : news->trials) known.trials[trial->number] = bus::ToJson(*trial);
}

bool PendingEvents::empty() const {
  return points_.empty() && lines_.empty() && trials_.empty() && jobs_.empty() &&
         services_.empty() && sweeps_.empty() && sweep_news_.empty() && alerts_.empty() &&
         gaps_.empty();
}

void PendingEvents::Tell(const OnEvent& on_event, const OnGap& on_gap) const {
  for (const auto& [id, news] : trials_) on_event("yard", "trial", news, true);
  for (const auto& [id, news] : jobs_) on_event("yard", "job", news, true);
  for (const auto& [id, news] : services_) {
    on_event("yard", "service", news, true);
  }
  for (const auto& [id, news] : alerts_) on_event("yard", "alert", news, true);
  for (const auto& [id, news] : sweep_news_) {
    on_event("yard", "sweep", {{"sweep", news}}, true);
  }
  for (const auto& [topic, news] : sweeps_) {
    // Too many for one event, so the page is told to reload the sweep's trials.
    if (news.trials.size() > kMostTrialsAtOnce) {
      on_gap(topic);
      continue;
    }
    json trials = json::array();
    for (const auto& [number, trial] : news.trials) trials.push_back(trial);
    on_event(topic, "sweep", {{"sweep", news.sweep}, {"trials", std::move(trials)}}, true);
  }
  for (const auto& [series, points] : points_) {
    on_event(series.first, "points", PointsNews(points), false);
  }
  for (const auto& [source, lines] : lines_) {
    on_event(std::get<0>(source), "lines",
             {{"task", std::get<1>(source)},
              {"attempt", std::get<2>(source)},
              {"stream", std::get<3>(source) == msg::LogStream::Stderr ? "stderr" : "stdout"},
              {"end", lines.end},
              {"lines", lines.lines}},
             false);
  }
  for (const std::string& topic : gaps_) on_gap(topic);
}

}  // namespace web
