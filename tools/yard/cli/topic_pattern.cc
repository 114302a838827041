#include "tools/yard/cli/topic_pattern.h"

#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

constexpr std::string_view kWildcards = "*>";

// Removes the first level from `rest` and returns it.
std::string_view TakeLevel(std::string_view* rest) {
  const std::size_t end = rest->find('/');
  const std::string_view level = rest->substr(0, end);
  rest->remove_prefix(end == rest->npos ? rest->size() : end + 1);
  return level;
}

}  // namespace

absl::StatusOr<TopicPattern> TopicPattern::Parse(std::string_view text) {
  TopicPattern pattern;
  if (text.find_first_of(kWildcards) == text.npos) {
    pattern.prefix_ = text;
    return pattern;
  }
  bool literal = true;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view level = TakeLevel(&rest);
    if (level == ">") {
      if (!rest.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", runtime::Absl(text), "\": nothing may come behind a >"));
      }
      pattern.open_ = true;
      break;
    }
    literal = literal && level != "*";
    if (level != "*" && level.find_first_of(kWildcards) != level.npos) {
      return absl::InvalidArgumentError(absl::StrCat("\"", runtime::Absl(text),
                                                     "\": a * or > stands for whole levels: \"",
                                                     runtime::Absl(level), "\" is none"));
    }
    pattern.levels_.emplace_back(level);
    if (literal) pattern.prefix_.append(level).append("/");
  }
  return pattern;
}

bool TopicPattern::Matches(std::string_view topic) const {
  if (!topic.starts_with(prefix_)) return false;
  if (levels_.empty()) return !open_ || !topic.empty();
  std::string_view rest = topic;
  for (const std::string& level : levels_) {
    if (rest.empty()) return false;
    const std::string_view is = TakeLevel(&rest);
    if (level != "*" && level != is) return false;
  }
  return open_ ? !rest.empty() : rest.empty();
}

}  // namespace yard
