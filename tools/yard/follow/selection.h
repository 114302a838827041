#ifndef TOOLS_YARD_FOLLOW_SELECTION_H_
#define TOOLS_YARD_FOLLOW_SELECTION_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/query/query_tree.h"
#include "tools/yard/cli/context.h"

namespace yard {

// Selects trials by their properties: "label:night", "state:failed & !label:keep", "name:lr-*".
// Operators are those of every query (runtime/query/query_tree.h).
class Selection {
 public:
  // Returns true if a word is a selection rather than a name.
  static bool IsOne(std::string_view word);
  // InvalidArgument shows the position of the error, and suggests the nearest word.
  static absl::StatusOr<Selection> Parse(std::string_view text);

  // Returns true if the trial matches.
  bool Has(const msg::TrialT& trial) const;

 private:
  struct Condition {
    enum class Kind { kLabel, kState, kName };
    Kind kind = Kind::kLabel;
    std::string word;
  };
  explicit Selection(runtime::QueryNode<Condition> root) : root_(std::move(root)) {}

  runtime::QueryNode<Condition> root_;
};

// Replaces each selection in `words` by the ids of its trials, oldest first: those that match it
// and that `fits` accepts. Each word appears once. NotFound if a selection has no such trial; the
// error says that it selects `what`: "no trial that has not ended".
absl::StatusOr<std::vector<std::string>> ExpandSelections(
    Context& context, const std::vector<std::string>& words,
    const std::function<bool(const msg::TrialT&)>& fits, std::string_view what);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_SELECTION_H_
