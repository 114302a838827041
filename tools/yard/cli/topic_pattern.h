#ifndef TOOLS_YARD_CLI_TOPIC_PATTERN_H_
#define TOOLS_YARD_CLI_TOPIC_PATTERN_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// Pattern of the topics that `yard sub` prints. Without a wildcard, it matches all topics that
// begin with it ("m/", "m/exp"). With wildcards, it must match the whole topic level by level: `*`
// is any one level, and a final `>` is one or more levels. "m/*/loss" (with or without a final "/")
// matches m/exp-1/loss/ but not m/exp-1/loss/top5/. Like NATS subjects, whose levels end with a
// dot. Any thread.
class TopicPattern {
 public:
  // InvalidArgument if a wildcard is only part of a level, or if anything follows a `>`.
  static absl::StatusOr<TopicPattern> Parse(std::string_view text);

  // Returns true if the pattern matches this topic.
  bool Matches(std::string_view topic) const;
  // The common prefix of all topics that it matches; the hub is asked for this.
  const std::string& prefix() const { return prefix_; }

 private:
  std::string prefix_;
  std::vector<std::string> levels_;  // If empty, the prefix is the whole pattern.
  bool open_ = false;                // More levels may follow.
};

}  // namespace yard

#endif  // TOOLS_YARD_CLI_TOPIC_PATTERN_H_
