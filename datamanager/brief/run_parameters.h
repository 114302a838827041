#ifndef DATAMANAGER_BRIEF_RUN_PARAMETERS_H_
#define DATAMANAGER_BRIEF_RUN_PARAMETERS_H_

// The parameters of a run: what it was started with and what its program says of itself, in one
// table for all writers. Queries, comparisons and HParams know these and no others. If several
// sources have a name the first of them counts:
//
//   1. params.json (run_config.h): what the trial was configured with;
//   2. its command, in provenance.json: the arguments, and below "command" and "commit" the rest;
//   3. MindSpore's train lineage;
//   4. the plugin "hparams" of the run, or of the only run directly below it that has some, as
//      add_hparams() of torch and tensorboardX makes one that is called by the time.
//
// The first three are known without the run's events. Pure; any thread.
//
// Re-imagined: TensorBoard's hparams plugin, which knows its own metadata alone, and lists a run
// below another as a session of its own.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datamanager/brief/run_config.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {

// The parameters in the words of a command: "--lr 0.1", "--lr=0.1" and "lr=0.1" give the value of
// "lr", and "--fast" is true; "-" in a name of a flag is "_", as argparse has it. A parameter that
// is there several times is a list. "command" has the words that are left, quoted for a shell, and
// "commit" the other argument unless that is empty.
RunConfig CommandParameters(std::span<const std::string> argv, const std::string& commit);

// "hyper_parameters" of a train lineage (run_lineage.h); empty if it is none.
RunConfig LineageParameters(std::string_view train_lineage);

// The parameters in the metadata of the plugin's session_start_info; empty if the text is no such
// metadata.
RunConfig PluginParameters(std::string_view session_start);

// All of them, sorted; of a name that several have that of the first. Views as long as they are.
std::vector<ConfigFacts> MergeParameters(std::span<const std::span<const ConfigFacts>> sources);

// The value of a parameter.
std::string ParameterAsJson(const ConfigFacts& parameter);

// The runs directly below `run`, of the sorted names of all; none if there are more than a program
// makes for itself.
std::vector<std::string> RunsBelow(std::span<const std::string> names, std::string_view run);

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_PARAMETERS_H_
