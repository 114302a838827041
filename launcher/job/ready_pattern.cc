#include "launcher/job/ready_pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

constexpr int kMaxMemory = 4 << 20;  // Bytes of its automaton.

class Re2Pattern : public ReadyPattern {
 public:
  explicit Re2Pattern(const std::string& pattern) : expression_(pattern, Options()) {}

  const RE2& expression() const { return expression_; }
  bool MatchesAny(const std::vector<std::string>& lines) const override {
    return std::any_of(lines.begin(), lines.end(), [this](const std::string& line) {
      return RE2::PartialMatch(line, expression_);
    });
  }

 private:
  static RE2::Options Options() {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);
    options.set_log_errors(false);
    options.set_max_mem(kMaxMemory);
    return options;
  }

  const RE2 expression_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReadyPattern>> ReadyPattern::Compile(const std::string& pattern) {
  if (pattern.size() > kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("ready_pattern is longer than ", kMaxSize, " bytes"));
  }
  auto compiled = std::make_unique<Re2Pattern>(pattern);
  if (compiled->expression().ok()) return compiled;
  return absl::InvalidArgumentError(
      absl::StrCat("ready_pattern: ", compiled->expression().error()));
}

}  // namespace launcher
