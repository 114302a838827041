#ifndef DATAMANAGER_ANSWER_QUERY_TERMS_H_
#define DATAMANAGER_ANSWER_QUERY_TERMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/query/run_query.h"

namespace datamanager {

// A query term that matches no run, as spelled in the query: "los", "config.rate", "label:bse".
struct UnknownTerm {
  std::string term;
  std::string meant;  // An existing term that was probably meant; may be empty.
};

// Returns the terms of a query that match no run. Searches the runs' data in memory and reads no
// file. Stops as soon as every name was found, so that it is fast for a query that selects
// something. Errors: those of RunSource::Names().
absl::StatusOr<std::vector<UnknownTerm>> UnknownTerms(const RunQuery& query, RunSource& source);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_QUERY_TERMS_H_
