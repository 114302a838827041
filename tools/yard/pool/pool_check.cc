#include "tools/yard/pool/pool_check.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "tools/yard/pool/pool_jobs.h"

namespace yard {

absl::Status CheckPool(const std::string& pool, const std::vector<msg::NodeT>& nodes) {
  std::set<std::string> pools;
  for (const msg::NodeT& node : nodes) pools.insert(node.pool);
  if (pools.contains(pool)) return absl::OkStatus();
  const std::string name = runtime::Printable(pool);
  if (pools.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no pool ", name,
                                            ", nor any other; next: yard pool ", name,
                                            " --hosts HOST,HOST"));
  }
  const std::string nearest(
      runtime::NearestWord(pool, std::vector<std::string_view>(pools.begin(), pools.end())));
  return absl::NotFoundError(absl::StrCat(
      "there is no pool ", name,
      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
      nearest.empty() ? "; the pools are " : " The pools are ", absl::StrJoin(pools, ", "),
      "; next: --at ", nearest.empty() ? *pools.begin() : nearest, ", or yard pool ", name,
      " --hosts HOST,HOST"));
}

absl::Status CheckPool(Context& context, const std::string& pool) {
  if (pool.empty()) return absl::OkStatus();
  const auto nodes = AllNodes(context);
  return nodes.ok() ? CheckPool(pool, *nodes) : nodes.status();
}

}  // namespace yard
