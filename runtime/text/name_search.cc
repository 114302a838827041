#include "runtime/text/name_search.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

constexpr std::size_t kNamedInError = 5;

}  // namespace

void NameSearch::LookAt(bool lives, std::int64_t created, std::string_view id,
                        std::string_view name) {
  if (word_.empty()) return;
  has_id_ = has_id_ || id == word_;
  if (name == word_ && (named_.empty() || best_ < std::pair(lives, created))) {
    named_ = id;
    best_ = {lives, created};
  }
  if (!id.starts_with(word_)) return;
  if (++prefixed_count_ <= kNamedInError) prefixed_.emplace_back(id, name);
}

absl::StatusOr<std::string> NameSearch::Found(std::string_view not_found) const {
  if (has_id_) return std::string(word_);
  if (!named_.empty()) return named_;
  if (prefixed_.empty()) return absl::NotFoundError(Absl(not_found));
  if (prefixed_count_ == 1) return prefixed_.front().first;
  std::string list;
  for (const auto& [id, name] : prefixed_) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", id);
    if (!name.empty()) absl::StrAppend(&list, " (", name, ")");
  }
  if (prefixed_count_ > prefixed_.size()) {
    absl::StrAppend(&list, " and ", prefixed_count_ - prefixed_.size(), " more");
  }
  return absl::FailedPreconditionError(absl::StrCat(Absl(word_), " is ambiguous: ", list));
}

}  // namespace runtime
