#ifndef DATAMANAGER_QUERY_RUN_QUERY_H_
#define DATAMANAGER_QUERY_RUN_QUERY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/query/run_facts.h"
#include "runtime/query/query_tree.h"

namespace datamanager {

using Answer = runtime::Answer;

// A question that each run answers: "loss<0.1 & label:base" (docs/datamanager_queries.md). Copies
// share it; any thread may call any method.
//
//   condition = NUMBER_OF OP NUMBER | config.NAME OP VALUE | FIELD:TEXT   (run_parameters.h)
//   NUMBER_OF = TAG | last:TAG | min:TAG | max:TAG | steps | points | tags | files | bytes | faults
//   | age FIELD = label | name | note | tag | plugin | state      OP = < <= > >= = !=
//
// Connectives, words and limits are those of every query (runtime/query/query_tree.h and
// query_text.h); "==" is the same as "=", and a name in quotes is always a tag's.
class RunQuery : public runtime::QueryLimits {
 public:
  // InvalidArgument has three lines: "query, column 6: expected ..." (in characters, from 1), the
  // query (a part of it if it is long, what is not printable as "?"), and a "^" below that column.
  static absl::StatusOr<RunQuery> Parse(std::string_view text);

  // Three-valued: a run that lacks what a comparison is about (a tag, a step, a configured value)
  // answers no, a run of which that is not known answers unknown, unless the rest of the query
  // decides. `now_us`: microseconds since 1970, for ages.
  Answer Ask(const RunFacts& run, std::int64_t now_us) const;

  // False: what every run shows without reading its files (RunFacts::counted) is enough.
  bool NeedsFiles() const;
  // It asks about RunFacts::config and hparams.
  bool NeedsParameters() const;

  // The tags, parameters and labels that the query names, each once.
  struct Term {
    enum class Kind : std::uint8_t { kTag, kParameter, kLabel };
    Kind kind = Kind::kTag;
    std::string name;
  };
  std::vector<Term> Terms() const;

 private:
  struct Condition;
  using Node = runtime::QueryNode<Condition>;
  class Parser;

  explicit RunQuery(std::shared_ptr<const Node> root);
  static Answer AskOne(const Condition& condition, const RunFacts& run, std::int64_t now_us);

  std::shared_ptr<const Node> root_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_QUERY_RUN_QUERY_H_
