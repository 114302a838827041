#include "datamanager/answer/importance_answer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "datamanager/answer/run_answer_maker.h"
#include "datamanager/answer/run_facts_of.h"
#include "datamanager/answer/series_selection.h"
#include "datamanager/brief/run_parameters.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/query/run_selection.h"
#include "datamanager/read/run_data.h"
#include "datamanager/series/scalar_summary.h"
#include "nlohmann/json.hpp"
#include "tuning/analysis/importance.h"
#include "tuning/analysis/observed_space.h"
#include "tuning/space/config.h"

namespace datamanager {
namespace {

using nlohmann::json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Represents "loss", "min:loss" or "max:loss".
struct Value {
  std::string tag;
  double ScalarSummary::*number = &ScalarSummary::last;
};

Value ValueOf(const std::string& text) {
  if (text.starts_with("min:")) return {text.substr(4), &ScalarSummary::min};
  if (text.starts_with("max:")) return {text.substr(4), &ScalarSummary::max};
  return {text};
}

tuning::Config ConfigOf(std::span<const ConfigFacts> facts) {
  tuning::Config config;
  for (const ConfigFacts& fact : facts) {
    std::string text(fact.text);
    if (fact.is_text) text = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
    config.emplace_back(std::string(fact.name), std::move(text));
  }
  return config;
}

class ImportanceAnswer : public RunAnswerMaker<msg::ImportanceReplyT> {
 public:
  ImportanceAnswer(std::vector<std::string> runs, const msg::ImportanceRequestT& request,
                   RunSource* source)
      : RunAnswerMaker(source),
        runs_(std::move(runs)),
        text_(request.value),
        value_(ValueOf(request.value)),
        maximize_(request.maximize) {}

  absl::StatusOr<Part> Next() override {
    for (; next_ < runs_.size() && runs_.size() <= kMostCompared; ++next_) {
      const absl::Status taken = Take(runs_[next_]);
      if (absl::IsUnavailable(taken)) return taken;
    }
    Part part{{}, true};
    part.reply.runs = runs_.size();
    part.reply.counted = values_.size();
    part.reply.reason = Compare(part.reply);
    return part;
  }

 private:
  // After any error but Unavailable the run is skipped.
  absl::Status Take(const std::string& run) {
    double value = kNone;
    std::vector<tuning::Config> config;
    const absl::Status read =
        Read({.run = run, .take_part = true}, [&](const RunSource::View& view) {
          const auto id = view.data.FindTag(value_.tag);
          if (!id) return absl::OkStatus();
          const ScalarSummary& summary = view.data.tag(*id).summary;
          if (summary.points > 0) value = summary.*value_.number;
          return absl::OkStatus();
        });
    if (!read.ok()) return read;
    if (!std::isfinite(value)) return absl::OkStatus();
    const auto item = source().Brief(run);
    if (!item.ok()) return item.status();
    if (names_.empty()) {
      auto names = source().Names();
      if (!names.ok()) return names.status();
      names_ = *std::move(names);
    }
    const BriefFacts brief(**item);
    const PluginFacts plugin = PluginFactsOf(source(), names_, run);
    const std::span<const ConfigFacts> sources[] = {brief.parameters(), plugin.config.facts()};
    const std::vector<ConfigFacts> parameters = MergeParameters(sources);
    if (parameters.empty()) return absl::OkStatus();
    configs_.push_back(ConfigOf(parameters));
    values_.push_back(maximize_ ? -value : value);
    return absl::OkStatus();
  }

  // Sets `reply` and returns an empty string, or returns why the importance cannot be computed.
  std::string Compare(msg::ImportanceReplyT& reply) const {
    if (runs_.size() > kMostCompared) {
      return absl::StrCat("these are ", runs_.size(), " runs, and at most ", kMostCompared,
                          " are compared");
    }
    if (values_.size() < kFewestCompared) {
      return absl::StrCat("it takes ", kFewestCompared, " runs that have a finite ", text_,
                          " and parameters, and there are ", values_.size(), " among ",
                          runs_.size());
    }
    if (std::all_of(values_.begin(), values_.end(),
                    [&](double value) { return value == values_.front(); })) {
      return absl::StrCat(text_, " is the same in all of them");
    }
    const tuning::ObservedSpace observed = tuning::SpaceOf(configs_);
    if (!observed.space) return "their parameters are the same in all of them";
    std::vector<tuning::ScoredPoint> results;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      results.push_back({observed.points[i], values_[i]});
    }
    const std::vector<double> importances = tuning::Importances(*observed.space, results);
    for (std::size_t i = 0; i < importances.size(); ++i) {
      auto one = std::make_unique<msg::ParameterImportanceT>();
      one->parameter = (*observed.space)[i].name;
      one->importance = importances[i];
      reply.importance.push_back(std::move(one));
    }
    std::stable_sort(reply.importance.begin(), reply.importance.end(),
                     [](const auto& a, const auto& b) { return a->importance > b->importance; });
    return "";
  }

  const std::vector<std::string> runs_;
  const std::string text_;
  const Value value_;
  const bool maximize_;
  std::size_t next_ = 0;
  std::vector<std::string> names_;  // Names of all runs.
  std::vector<tuning::Config> configs_;
  std::vector<double> values_;  // Smaller is better.
};

}  // namespace

absl::StatusOr<std::unique_ptr<AnswerMaker<msg::ImportanceReplyT>>> MakeImportanceAnswer(
    const msg::ImportanceRequestT& request, RunSource* source) {
  if (ValueOf(request.value).tag.empty()) {
    return absl::InvalidArgumentError("no value is named, such as \"loss\" or \"min:loss\"");
  }
  SelectionRequest wanted = SelectionOf(request.selection.get());
  wanted.tags.clear();
  wanted.tag_pattern.clear();
  const auto selection = RunSelection::Make(std::move(wanted));
  if (!selection.ok()) return selection.status();
  auto selected = SelectRuns(*selection, *source);
  if (!selected.ok()) return selected.status();
  return std::make_unique<ImportanceAnswer>(std::move(selected->runs), request, source);
}

}  // namespace datamanager
