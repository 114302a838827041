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

// Trials that are chosen by what is said of them: "label:night", "state:failed & !label:keep",
// "name:lr-*". Connectives are those of every query (runtime/query/query_tree.h).
class Selection {
 public:
  // True if a word that names a thing is meant as a selection.
  static bool IsOne(std::string_view word);
  // InvalidArgument shows where the text is wrong, and names the nearest word.
  static absl::StatusOr<Selection> Parse(std::string_view text);

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

// `words` with the ids of the trials, oldest first, in the place of each selection: those of which
// it is true and which `fits`. Each word once. NotFound: a selection has no such trial; `what` says
// which would have fit: "no trial that has not ended".
absl::StatusOr<std::vector<std::string>> ExpandSelections(
    Context& context, const std::vector<std::string>& words,
    const std::function<bool(const msg::TrialT&)>& fits, std::string_view what);

}  // namespace yard

#endif  // TOOLS_YARD_FOLLOW_SELECTION_H_
