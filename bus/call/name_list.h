#ifndef BUS_CALL_NAME_LIST_H_
#define BUS_CALL_NAME_LIST_H_

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "bus/schema/common_generated.h"

namespace bus {

// Collects the answer to Common.Names: names that begin with the requested prefix, without
// duplicates, up to the limit. Not thread safe.
class NameList {
 public:
  static constexpr std::size_t kDefaultLimit = 200;
  static constexpr std::size_t kMostNames = 1000;  // Upper bound of the requested limit.

  explicit NameList(const msg::NamesRequestT& request);

  // True if the request asks for names of this kind.
  bool Wants(std::string_view kind) const { return kind_.empty() || kind_ == kind; }
  const std::string& prefix() const { return prefix_; }
  std::size_t limit() const { return limit_; }

  // Adds the name if its kind is wanted, it has the prefix and it is not listed yet. Returns false
  // once the list is full: stop then. Add the most useful names first.
  bool Add(std::string_view kind, std::string_view name, std::string_view note = {});
  msg::NamesReplyT Take() { return std::move(reply_); }

 private:
  const std::string kind_, prefix_;
  const std::size_t limit_;
  std::set<std::pair<std::string, std::string>> known_;  // Kind and name.
  msg::NamesReplyT reply_;
};

}  // namespace bus

#endif  // BUS_CALL_NAME_LIST_H_
