#ifndef TUNING_ENGINE_JUDGEMENT_TEXT_H_
#define TUNING_ENGINE_JUDGEMENT_TEXT_H_

#include <string>

#include "tuning/engine/plan.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {

// Describes why the rule stops or pauses a trial: "stopped at 4: loss 0.9 is 3rd of 3, the best 1
// goes on". `has_value`: the trial has reported a number before.
std::string JudgementText(const Plan& plan, const Judgement& judgement, bool has_value);

}  // namespace tuning

#endif  // TUNING_ENGINE_JUDGEMENT_TEXT_H_
