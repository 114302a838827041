#ifndef DATAMANAGER_BRIEF_RUN_PARAMETERS_H_
#define DATAMANAGER_BRIEF_RUN_PARAMETERS_H_

// The parameters of a run: its start configuration and what its program reports about itself, in
// one table for all sources. Queries, comparisons and HParams use these and no others. If several
// sources have the same name, the first of them wins:
//
//   1. params.json (run_config.h): the configuration of the trial;
//   2. its command, in provenance.json: the arguments; "command" and "commit" hold the rest;
//   3. MindSpore's train lineage;
//   4. the plugin "hparams" of the run, or of the only run directly below it that has some:
//      add_hparams() of torch and tensorboardX creates such a run, named after the time.
//
// The first three are known without the run's events. Pure; any thread.
//
// Re-imagined: TensorBoard's hparams plugin, which reads only its own metadata, and lists a run
// below another as a separate session.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datamanager/brief/run_config.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {

// Extracts the parameters from the words of a command: "--lr 0.1", "--lr=0.1" and "lr=0.1" set
// "lr", and "--fast" is true; "-" in a flag's name becomes "_", as in argparse. A repeated
// parameter becomes a list. "command" holds the remaining words, quoted for a shell, and "commit"
// the argument `commit` unless that is empty.
RunConfig CommandParameters(std::span<const std::string> argv, const std::string& commit);

// Returns "hyper_parameters" of a train lineage (run_lineage.h); empty if it has none.
RunConfig LineageParameters(std::string_view train_lineage);

// Returns the parameters in the metadata of the plugin's session_start_info; empty if the text is
// malformed.
RunConfig PluginParameters(std::string_view session_start);

// Merges all sources, sorted by name; of equal names the first source wins. Views into the sources.
std::vector<ConfigFacts> MergeParameters(std::span<const std::span<const ConfigFacts>> sources);

// Returns the value of a parameter as JSON.
std::string ParameterAsJson(const ConfigFacts& parameter);

// Returns the runs directly below `run` from the sorted names of all runs; none if there are more
// than a program creates for itself.
std::vector<std::string> RunsBelow(std::span<const std::string> names, std::string_view run);

}  // namespace datamanager

#endif  // DATAMANAGER_BRIEF_RUN_PARAMETERS_H_
