#ifndef TOOLS_YARD_TRIAL_PROVENANCE_REQUEST_H_
#define TOOLS_YARD_TRIAL_PROVENANCE_REQUEST_H_

#include <string>

#include "bus/schema/trainer_generated.h"
#include "tools/yard/trial/provenance.h"

namespace yard {

// Adds the provenance to a request that is otherwise complete (and has options). A request may have
// 1 MiB, and a run must start however many changes are uncommitted, so this uses the remaining
// space: it first omits the arguments, which are in the request anyway, then truncates the diff;
// the JSON records either.
//
// If one command has many trials, only the first has the diff; the others refer to its id, `first`.
void AddProvenance(const Provenance& provenance, const std::string& first,
                   msg::RunTrialRequestT* request);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_PROVENANCE_REQUEST_H_
