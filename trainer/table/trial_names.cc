#include "trainer/table/trial_names.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace trainer {
namespace {

constexpr std::size_t kNamedInError = 5;

}  // namespace

void TrialNameSearch::LookAt(bool lives, std::int64_t number, std::string_view id,
                             std::string_view its_name) {
  if (its_name == name_ && best_ < std::pair(lives, number)) {
    named_ = id;
    best_ = {lives, number};
  }
  if (id.substr(0, name_.size()) != name_) return;
  if (++prefixed_count_ <= kNamedInError) prefixed_.emplace_back(id, its_name);
}

absl::StatusOr<std::string> TrialNameSearch::Found() const {
  if (!named_.empty()) return named_;
  if (prefixed_.empty() || name_.empty()) {
    return absl::NotFoundError(absl::StrCat("no trial is called ", runtime::Absl(name_)));
  }
  if (prefixed_.size() == 1) return prefixed_.front().first;
  std::string list;
  for (const auto& [id, its_name] : prefixed_) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", id, " (", its_name, ")");
  }
  if (prefixed_count_ > prefixed_.size()) {
    absl::StrAppend(&list, " and ", prefixed_count_ - prefixed_.size(), " more");
  }
  return absl::FailedPreconditionError(absl::StrCat(runtime::Absl(name_), " is ambiguous: ", list));
}

}  // namespace trainer
