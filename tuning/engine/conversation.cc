#include "tuning/engine/conversation.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tuning/engine/plan.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/constraint.h"
#include "tuning/space/space.h"

namespace tuning {
namespace {

using Json = nlohmann::ordered_json;
using Meaning = Conversation::Answer::Kind;

constexpr std::size_t kShown = 200;  // Most bytes of a line in an error.
// Quantile at which an unbounded distribution is cut off for optimisers that need bounds.
constexpr double kTail = 0.001;

std::string Line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json JsonOf(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

Json ConfigJson(const Config& config) {
  Json json = Json::object();
  for (const auto& [name, value] : config) json[name] = JsonOf(value);
  return json;
}

Json ParameterJson(const tuning::Parameter& parameter) {
  Json json;
  if (parameter.kind == tuning::Kind::kCategory) {
    json = {{"type", "categorical"}, {"values", Json::array()}};
    for (const std::string& value : parameter.values) json["values"].push_back(JsonOf(value));
    if (!parameter.probabilities.empty()) json["probabilities"] = parameter.probabilities;
  } else {
    const bool is_int = parameter.kind == tuning::Kind::kInt;
    const bool is_bounded = parameter.distribution != Distribution::kNormal &&
                            parameter.distribution != Distribution::kLogNormal;
    const auto bound = [&](double value, double unit) {
      return JsonOf(parameter.Text(is_bounded ? value : parameter.FromUnit(unit)));
    };
    json = {{"type", is_int ? "int" : "float"},
            {"min", bound(parameter.low, kTail)},
            {"max", bound(parameter.high, 1 - kTail)}};
    if (parameter.distribution != Distribution::kUniform &&
        parameter.distribution != Distribution::kNormal) {
      json["log"] = true;
    }
    if (!is_bounded) {
      json["mu"] = parameter.mean;
      json["sigma"] = parameter.deviation;
    }
    if (parameter.step > 0) json["q"] = JsonOf(parameter.Text(parameter.step));
  }
  if (parameter.when) {
    Json values = Json::array();
    for (const std::string& value : parameter.when->values) values.push_back(JsonOf(value));
    json["when"] = {{parameter.when->parameter, std::move(values)}};
  }
  return json;
}

Json StartOf(const Plan& plan) {
  Json space = Json::object();
  for (std::size_t i = 0; i < plan.space->size(); ++i) {
    space[(*plan.space)[i].name] = ParameterJson((*plan.space)[i]);
  }
  Json objectives = Json::array();
  const auto add = [&](const PlanMetric& metric) {
    objectives.push_back(
        {{"name", metric.name}, {"goal", metric.maximize ? "maximize" : "minimize"}});
  };
  add(plan.metric);
  if (plan.second) add(*plan.second);
  Json json = {{"t", "start"},
               {"v", 1},
               {"seed", plan.seed},
               {"space", std::move(space)},
               {"objectives", std::move(objectives)},
               {"options", JsonOf(plan.external.options)}};
  if (!plan.metric_constraints.empty()) {
    json["constraints"] = Json::array();
    for (const Constraint& one : plan.metric_constraints) json["constraints"].push_back(one.text());
  }
  return json;
}

const char* WordOf(TrialState state) {
  switch (state) {
    case TrialState::kDone:
      return "done";
    case TrialState::kStoppedEarly:
      return "stopped";
    case TrialState::kFailed:
    case TrialState::kRunning:
      break;
  }
  return "failed";
}

Json ResultOf(const Engine::Told& told) {
  Json json = {{"t", told.is_asked_for ? "tell" : "add"}};
  if (told.is_asked_for) json["id"] = told.trial;
  json["state"] = WordOf(told.state);
  json["values"] = Json::array();
  // (JSON cannot express infinity.)
  const auto finite = [](double value) { return std::clamp(value, -1e308, 1e308); };
  if (told.value) json["values"].push_back(finite(*told.value));
  if (told.second) json["values"].push_back(finite(*told.second));
  if (!told.excesses.empty()) {
    json["constraints"] = Json::array();
    for (const double excess : told.excesses) json["constraints"].push_back(finite(excess));
  }
  json["at"] = told.resource;
  json["config"] = ConfigJson(told.config);
  return json;
}

std::string Shown(std::string_view line) {
  std::string shown(line.substr(0, kShown));
  if (line.size() > kShown) shown += "...";
  return shown;
}

}  // namespace

std::optional<std::string> Conversation::Next(const Engine& engine) {
  if (!std::exchange(has_started_, true)) {
    sent_ = Sent::kStart;
    return Line(StartOf(engine.plan()));
  }
  sent_ = Sent::kOther;
  if (!note_.empty()) return Line({{"t", "note"}, {"text", std::exchange(note_, "")}});
  while (refused_ < asked_) {
    const Engine::Asked& asked = engine.asked()[refused_++];
    if (asked.refused.empty()) continue;
    return Line({{"t", "tell"},
                 {"id", asked.trial},
                 {"state", "failed"},
                 {"values", Json::array()},
                 {"error", asked.refused}});
  }
  const bool has_result = told_ < engine.told().size();
  if (waits_ && !has_result && asked_ < engine.asked().size()) {
    // It waits where the previous program answered.
    waits_ = false;
    Differs(engine.asked()[asked_++]);
    return Next(engine);
  }
  std::pair<std::uint64_t, std::uint64_t> question;
  if (asked_ < engine.asked().size()) {
    question = {engine.asked()[asked_].trial, engine.asked()[asked_].number};
  } else if (const auto now = engine.AskedNow()) {
    question = *now;
  } else {
    sent_ = Sent::kNothing;
    return std::nullopt;
  }
  if (has_result && (waits_ || engine.told()[told_].since <= question.second)) {
    waits_ = false;
    return Line(ResultOf(engine.told()[told_++]));
  }
  sent_ = Sent::kNothing;
  if (waits_) return std::nullopt;
  sent_ = Sent::kAsk;
  return Line({{"t", "ask"}, {"id", question.first}});
}

Conversation::Answer Conversation::Take(const Engine& engine, std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto broken = [&](std::string_view expected) {
    return Answer{.kind = Meaning::kBroken,
                  .text = absl::StrCat("it has answered \"", Shown(line), "\", and not with ",
                                       std::string(expected))};
  };
  if (!json.is_object() || !json.contains("t") || !json["t"].is_string()) {
    return broken("a JSON object that has a \"t\"");
  }
  const auto text = [&](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string type = text("t");
  const Sent sent = std::exchange(sent_, Sent::kNothing);
  if (type == "error")
    return {.kind = Meaning::kBroken, .text = "it says: " + Shown(text("error"))};
  if (sent == Sent::kStart) {
    name_ = Shown(text("name"));
    return type == "ready" ? Answer{} : broken("{\"t\":\"ready\"}");
  }
  if (sent == Sent::kOther) return type == "ok" ? Answer{} : broken("{\"t\":\"ok\"}");
  if (sent == Sent::kNothing) return broken("silence: nothing was asked");
  if (type == "wait") {
    waits_ = true;
    return {};
  }
  if (type != "end" && type != "config") return broken("a \"config\", a \"wait\" or an \"end\"");
  const bool is_known = asked_ < engine.asked().size();
  const bool has_config = type == "config" && json.contains("config");
  const std::string suggestion = has_config ? Line(json["config"]) : std::string();
  if (is_known) {
    const Engine::Asked& before = engine.asked()[asked_++];
    if (before.is_exhausted || !before.refused.empty()) return {};
    const auto config = ParseConfig(suggestion);
    const auto point = config.ok() ? PointOf(*engine.plan().space, *config)
                                   : absl::StatusOr<Point>(config.status());
    const bool is_same = point.ok() && ConfigOf(*engine.plan().space, *point,
                                                engine.plan().constants) == before.config;
    if (!is_same) Differs(before);
    return {};
  }
  const auto question = engine.AskedNow();
  if (!question) return {};  // (The question was withdrawn.)
  Answer answer = {.trial = question->first, .number = question->second};
  if (type == "end") {
    answer.kind = Meaning::kExhausted;
    answer.text = Shown(text("reason"));
  } else if (const auto config = engine.Check(suggestion); config.ok()) {
    answer.kind = Meaning::kSuggested;
    answer.text = ConfigText(*config);
  } else {
    answer.kind = Meaning::kRefused;
    answer.text = std::string(config.status().message());
  }
  ++asked_;
  return answer;
}

void Conversation::Differs(const Engine::Asked& before) {
  if (before.is_exhausted || !before.refused.empty()) return;
  note_ = absl::StrCat("trial ", before.trial, " was started with ", ConfigText(before.config),
                       ", which was suggested for it before");
}

bool Conversation::IsStuck(const Engine& engine) const {
  const bool is_asked = engine.AskedNow().has_value();
  return waits_ && is_asked && told_ == engine.told().size() &&
         engine.state() == Engine::State::kRunning && engine.Active() <= 1;
}

}  // namespace tuning
