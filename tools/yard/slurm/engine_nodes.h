#ifndef TOOLS_YARD_SLURM_ENGINE_NODES_H_
#define TOOLS_YARD_SLURM_ENGINE_NODES_H_

#include <string>

#include "tools/yard/cli/node_reader.h"
#include "tools/yard/slurm/slurm_keys.h"
#include "tools/yard/text/yaml.h"

namespace yard {

// Read `engine` and `slurm` of a file. Errors are reported to `in`, and leave the target unchanged.
void ReadEngineName(NodeReader& in, const YamlNode& node, std::string* engine);
// Reads a map of slurm keys. A list is joined by commas, or by spaces for the key sbatch.
void ReadSlurmValues(NodeReader& in, const YamlNode& node, SlurmValues* values);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_ENGINE_NODES_H_
