#include "trainer/trial/trial_starts.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "bus/schema/trainer_generated.h"
#include "trainer/checkpoint/checkpoint_directory.h"

namespace trainer {
namespace {

// Returns the same text for all paths that lead to one place.
std::string PlaceOf(const std::string& path) {
  std::error_code error;
  std::string place = std::filesystem::weakly_canonical(path, error);
  if (error) place = std::filesystem::path(path).lexically_normal();
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  return place;
}

}  // namespace

void TrialStarts::Add(std::int64_t number, const TrialSpec& spec) {
  const msg::TrialOptionsT& options = spec.options;
  if (options.from.empty() && options.restore.empty()) return;
  ByText* const texts = options.from.empty() ? &directories_ : &trials_;
  // A restore copies the whole checkpoint that contains the path.
  const std::string text =
      options.from.empty()
          ? PlaceOf(FindCheckpointDirectory(options.restore).value_or(options.restore))
          : options.from;
  texts->emplace(text, number);
  texts_[number] = {texts, text};
}

void TrialStarts::Remove(std::int64_t number) {
  const auto found = texts_.find(number);
  if (found == texts_.end()) return;
  const auto& [texts, text] = found->second;
  texts->erase({text, number});
  texts_.erase(found);
}

std::optional<std::int64_t> TrialStarts::FromTrial(const std::string& id,
                                                   const Predicate& is_meant) const {
  for (auto at = trials_.lower_bound({id, 0}); at != trials_.end() && at->first == id; ++at) {
    if (is_meant(at->second)) return at->second;
  }
  return std::nullopt;
}

std::optional<std::int64_t> TrialStarts::FromDirectory(const std::string& path,
                                                       const Predicate& is_meant) const {
  if (directories_.empty()) return std::nullopt;
  const std::string place = PlaceOf(path);
  for (auto at = directories_.lower_bound({place, 0});
       at != directories_.end() && at->first == place; ++at) {
    if (is_meant(at->second)) return at->second;
  }
  const std::string below = place + "/";
  for (auto at = directories_.lower_bound({below, 0});
       at != directories_.end() && absl::StartsWith(at->first, below); ++at) {
    if (is_meant(at->second)) return at->second;
  }
  return std::nullopt;
}

}  // namespace trainer
