#include "trainer/sweep/sweep_trial_request.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/sweep/sweep_message.h"
#include "tuning/engine/trial_command.h"

namespace trainer {

absl::StatusOr<msg::RunTrialRequestT> SweepTrialRequest(const SweepRecord& sweep,
                                                        std::uint64_t number,
                                                        const tuning::Config& config,
                                                        const std::string& from,
                                                        const std::string& logdir) {
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
  return request;
}

}  // namespace trainer
