#include "tuning/engine/judgement_text.h"

#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuning/engine/metric_values.h"

namespace tuning {
namespace {

std::string Number(double value) { return absl::StrFormat("%.6g", value); }

std::string Ordinal(std::size_t rank) {
  const std::size_t last = rank % 10;
  const bool is_teen = rank / 10 % 10 == 1;
  const char* const ending = is_teen || last == 0 || last > 3 ? "th"
                             : last == 1                      ? "st"
                             : last == 2                      ? "nd"
                                                              : "rd";
  return absl::StrCat(rank, ending);
}

}  // namespace

std::string JudgementText(const Plan& plan, const Judgement& judgement, bool has_value) {
  const std::string name = plan.metric.name.empty() ? "the value" : plan.metric.name;
  const auto shown = [&](double value) { return Number(Signed(plan, value)); };
  const std::string at =
      absl::StrCat(judgement.answer == TrialDecision::kPause ? "paused" : "stopped", " at ",
                   Number(judgement.level), ": ");
  if (std::isnan(judgement.own)) {
    return absl::StrCat(at, name, " is NaN", has_value ? " there" : "");
  }
  if (judgement.rank > 0) {
    return absl::StrCat(at, name, " ", shown(judgement.own), " is ", Ordinal(judgement.rank),
                        " of ", judgement.count, ", the best ", judgement.keeps,
                        judgement.keeps == 1 ? " goes on" : " go on");
  }
  if (plan.stopping == Stopping::kMedian) {
    return absl::StrCat(at, "the best ", name, ", ", shown(judgement.own), ", is worse than ",
                        shown(judgement.limit), ", the median of ", judgement.count, " others");
  }
  return absl::StrCat(at, name, " ", shown(judgement.own), " is worse than ",
                      shown(judgement.limit), ", the limit among ", judgement.count);
}

}  // namespace tuning
