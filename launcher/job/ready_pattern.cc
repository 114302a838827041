#include "launcher/job/ready_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace launcher {
namespace {

constexpr int kMaxMemory = 4 << 20;  // Bytes for RE2's automaton.

RE2::Options Options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReadyPattern>> ReadyPattern::Compile(const std::string& pattern) {
  if (pattern.size() > kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("ready_pattern is longer than ", kMaxSize, " bytes"));
  }
  auto expression = std::make_unique<const RE2>(pattern, Options());
  if (!expression->ok()) {
    return absl::InvalidArgumentError(absl::StrCat("ready_pattern: ", expression->error()));
  }
  return std::unique_ptr<ReadyPattern>(new ReadyPattern(std::move(expression)));
}

ReadyPattern::ReadyPattern(std::unique_ptr<const RE2> expression)
    : expression_(std::move(expression)) {}
ReadyPattern::~ReadyPattern() = default;

bool ReadyPattern::MatchesAny(const std::vector<std::string>& lines) const {
  return std::any_of(lines.begin(), lines.end(), [this](const std::string& line) {
    return RE2::PartialMatch(line, *expression_);
  });
}

}  // namespace launcher
