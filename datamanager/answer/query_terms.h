#ifndef DATAMANAGER_ANSWER_QUERY_TERMS_H_
#define DATAMANAGER_ANSWER_QUERY_TERMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/query/run_query.h"

namespace datamanager {

// A term of a query that no run has, as the query spells it: "los", "config.rate", "label:bse".
struct UnknownTerm {
  std::string term;
  std::string meant;  // An existing term that may have been meant; empty if no term is near.
};

// Searches all runs as far as they have been read, and reads no file. Looks at one run after
// another until every name was found, so that it is quick for a query that selects something.
// Errors: those of RunSource::Names().
absl::StatusOr<std::vector<UnknownTerm>> UnknownTerms(const RunQuery& query, RunSource& source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_QUERY_TERMS_H_
