#include "trainer/sweep/sweep_trial_request.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trainer/sweep/sweep_message.h"
#include "tuning/engine/trial_command.h"

namespace trainer {
namespace {

// Returns the provenance of a run that shares another run's diff.
std::string WithDiffOf(std::string provenance, const std::string& other) {
  auto json = nlohmann::ordered_json::parse(provenance, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("git") || !json["git"].is_object()) return provenance;
  json["git"]["diff_of"] = other;
  json["git"].erase("untracked");
  json["git"].erase("filtered");
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

absl::StatusOr<msg::RunTrialRequestT> SweepTrialRequest(
    const SweepRecord& sweep, std::uint64_t number, const tuning::Config& config,
    const std::string& from, const std::string& logdir, bool first_is_gone) {
  msg::RunTrialRequestT request;
  if (sweep.request.trial != nullptr) request = *sweep.request.trial;
  request.name = NameOfSweepTrial(sweep.name, number);
  request.config = tuning::ConfigText(config);
  const std::string& directory = request.logdir.empty() ? logdir : request.logdir;
  auto argv = tuning::TrialCommand(
      request.argv, config,
      {.python_args = sweep.request.python_args,
       .config_file = absl::StrCat(directory, "/", request.name, "/params.json")});
  if (!argv.ok()) return argv.status();
  request.argv = *std::move(argv);
  if (request.options == nullptr) request.options = std::make_unique<msg::TrialOptionsT>();
  msg::TrialOptionsT& options = *request.options;
  options.group = sweep.id;
  options.labels.push_back(absl::StrCat("sweep=", sweep.name));
  options.sweep = sweep.id;
  options.sweep_trial = number;
  options.from = from;
  if (number > 0 && !first_is_gone && !options.provenance_diff.empty()) {
    options.provenance_diff.clear();
    options.provenance = WithDiffOf(std::move(options.provenance), NameOfSweepTrial(sweep.name, 0));
  }
  return request;
}

}  // namespace trainer
