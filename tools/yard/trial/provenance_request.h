#ifndef TOOLS_YARD_TRIAL_PROVENANCE_REQUEST_H_
#define TOOLS_YARD_TRIAL_PROVENANCE_REQUEST_H_

#include <string>

#include "bus/schema/trainer_generated.h"
#include "tools/yard/trial/provenance.h"

namespace yard {

// Says in a request that is complete but for that (and has options) where its run comes from.
// A request has a mebibyte, and a run starts however much is uncommitted where it is started: so
// this takes what room is left. First the arguments are left out, which are in the request anyway,
// then the end of the differences is cut off; the JSON says which.
//
// The first of many trials of one command has the differences: `first` is its id for the others.
void AddProvenance(const Provenance& provenance, const std::string& first,
                   msg::RunTrialRequestT* request);

}  // namespace yard

#endif  // TOOLS_YARD_TRIAL_PROVENANCE_REQUEST_H_
