#ifndef BUS_CALL_NAME_LIST_H_
#define BUS_CALL_NAME_LIST_H_

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "bus/schema/common_generated.h"

namespace bus {

// The answer to Common.Names while it is put together: what begins with the prefix, each once, up
// to the limit. Not thread safe.
class NameList {
 public:
  static constexpr std::size_t kDefaultLimit = 200;
  static constexpr std::size_t kMostNames = 1000;  // However many are asked for.

  explicit NameList(const msg::NamesRequestT& request);

  // Names of this kind are asked for.
  bool Wants(std::string_view kind) const { return kind_.empty() || kind_ == kind; }
  const std::string& prefix() const { return prefix_; }
  std::size_t limit() const { return limit_; }

  // Adds it if it is wanted, begins so and is not there yet. False: the list is full, there is no
  // need to go on. The most useful ones go first.
  bool Add(std::string_view kind, std::string_view name, std::string_view note = {});
  msg::NamesReplyT Take() { return std::move(reply_); }

 private:
  const std::string kind_, prefix_;
  const std::size_t limit_;
  std::set<std::pair<std::string, std::string>> known_;  // Kind, name.
  msg::NamesReplyT reply_;
};

}  // namespace bus

#endif  // BUS_CALL_NAME_LIST_H_
