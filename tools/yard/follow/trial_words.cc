#include "tools/yard/follow/trial_words.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_methods.h"

namespace yard {
namespace {

constexpr std::string_view kJob = "j-";
constexpr absl::Duration kPatience = absl::Seconds(2);

bool IsOfAName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
}

std::size_t LengthOf(std::string_view text, bool (*is_of_it)(char), std::size_t from) {
  const auto end =
      std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), is_of_it);
  return static_cast<std::size_t>(end - text.begin());
}

}  // namespace

void TrialWords::Add(const msg::JobT& job) {
  for (const auto& label : job.labels) {
    if (label->key == "trial") trials_[job.id] = {label->value, job.tasks.size() == 1};
  }
}

TrialWords WordsOfLiveTrials(bus::Client& client) {
  TrialWords words;
  msg::JobsRequestT live;
  live.live_only = true;
  const auto reply = client.Call<rpc::Launcher::Jobs>(live, {.timeout = kPatience});
  if (!reply.ok()) return words;
  for (const auto& job : reply->jobs) words.Add(*job);
  return words;
}

std::string TrialWords::Of(std::string_view text) const {
  std::string words;
  while (!text.empty()) {
    const bool begins = (words.empty() || !IsOfAName(words.back())) && text.starts_with(kJob);
    const std::size_t length = begins ? LengthOf(text, IsOfAName, 0) : 1;
    const auto trial = begins ? trials_.find(std::string(text.substr(0, length))) : trials_.end();
    if (trial == trials_.end()) {
      words += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    words += trial->second.id;
    text.remove_prefix(length);
    if (!trial->second.is_one_task || !text.starts_with('/')) continue;
    text.remove_prefix(LengthOf(text, IsOfAName, 1));
  }
  return words;
}

}  // namespace yard
