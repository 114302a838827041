#include "datamanager/find/name_pattern.h"

#include <re2/re2.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace datamanager {
namespace {

constexpr int kMaxMemory = 1 << 20;  // Memory limit of the automaton, in bytes.

RE2::Options Options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  return options;
}

}  // namespace

NamePattern::NamePattern(std::shared_ptr<const re2::RE2> expression)
    : expression_(std::move(expression)) {}

absl::StatusOr<NamePattern> NamePattern::Compile(std::string_view pattern) {
  if (pattern.size() > kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a pattern of ", pattern.size(), " bytes, more than ", kMaxSize));
  }
  auto expression = std::make_shared<const RE2>(pattern, Options());
  if (expression->ok()) return NamePattern(std::move(expression));
  return absl::InvalidArgumentError(expression->error());
}

bool NamePattern::Matches(std::string_view name) const {
  return RE2::PartialMatch(name, *expression_);
}

}  // namespace datamanager
