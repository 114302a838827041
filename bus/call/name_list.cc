#include "bus/call/name_list.h"

#include <algorithm>
#include <memory>

namespace bus {

NameList::NameList(const msg::NamesRequestT& request)
    : kind_(request.kind),
      prefix_(request.prefix),
      limit_(request.limit == 0 ? kDefaultLimit
                                : std::min<std::size_t>(request.limit, kMostNames)) {}

bool NameList::Add(std::string_view kind, std::string_view name, std::string_view note) {
  if (!Wants(kind) || name.empty() || !name.starts_with(prefix_)) return !reply_.more;
  if (known_.count({std::string(kind), std::string(name)}) != 0) return !reply_.more;
  if (reply_.names.size() == limit_) {
    reply_.more = true;
    return false;
  }
  known_.emplace(kind, name);
  auto added = std::make_unique<msg::NameT>();
  added->kind = std::string(kind);
  added->name = std::string(name);
  added->note = std::string(note);
  reply_.names.push_back(std::move(added));
  return true;
}

}  // namespace bus
