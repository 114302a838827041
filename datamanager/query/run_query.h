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

// A query that is evaluated for each run: "loss<0.1 & label:base" (docs/datamanager_queries.md).
// Copies share the parsed query; any thread may call any method.
//
//   condition = NUMBER_OF OP NUMBER | config.NAME OP VALUE | FIELD:TEXT   (run_parameters.h)
//   NUMBER_OF = TAG | last:TAG | min:TAG | max:TAG | steps | points | tags | files | bytes | faults
//   | age FIELD = label | name | note | tag | plugin | state      OP = < <= > >= = !=
//
// Connectives, words and limits are those of every query language here (runtime/query/query_tree.h
// and query_text.h); "==" equals "=", and a quoted name is always a tag.
class RunQuery : public runtime::QueryLimits {
 public:
  // Parses a query. InvalidArgument has three lines: "query, column 6: expected ..." (columns count
  // characters from 1), the query (a part of it if it is long; unprintable characters as "?"), and
  // a "^" below the column.
  static absl::StatusOr<RunQuery> Parse(std::string_view text);

  // Evaluates the query in three-valued logic: a run that lacks the tested fact (a tag, a step, a
  // configured value) gives no; a run of which the fact is not known yet gives unknown, unless the
  // rest of the query decides. `now_us`: microseconds since 1970, for ages.
  Answer Ask(const RunFacts& run, std::int64_t now_us) const;

  // False if facts that are known without reading files suffice (see RunFacts::counted).
  bool NeedsFiles() const;
  // True if the query tests RunFacts::config and hparams.
  bool NeedsParameters() const;

  // The tags, parameters and labels in the query, without duplicates.
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
