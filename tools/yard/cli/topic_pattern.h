#ifndef TOOLS_YARD_CLI_TOPIC_PATTERN_H_
#define TOOLS_YARD_CLI_TOPIC_PATTERN_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace yard {

// Pattern of the topics that `yard sub` prints. Without a wildcard: all that begin so ("m/",
// "m/exp"). Else level by level: `*` is any one level, `>`, at the end, one or more of them, and
// there is no beginning that is enough: "m/*/loss" (the "/" at its end may be left out) is
// m/exp-1/loss/ and not m/exp-1/loss/top5/. As subjects of NATS, whose levels end with a dot. Any
// thread.
class TopicPattern {
 public:
  // InvalidArgument: a wildcard inside a level, or something behind a `>`.
  static absl::StatusOr<TopicPattern> Parse(std::string_view text);

  bool Matches(std::string_view topic) const;
  // Every topic that it matches begins so: what the hub is asked for.
  const std::string& prefix() const { return prefix_; }

 private:
  std::string prefix_;
  std::vector<std::string> levels_;  // Empty: the prefix is all.
  bool open_ = false;                // More levels may follow.
};

}  // namespace yard

#endif  // TOOLS_YARD_CLI_TOPIC_PATTERN_H_
