#ifndef TOOLS_YARD_SLURM_ENGINE_NODES_H_
#define TOOLS_YARD_SLURM_ENGINE_NODES_H_

#include <string>

#include "tools/yard/cli/node_reader.h"
#include "tools/yard/slurm/slurm_keys.h"
#include "tools/yard/text/yaml.h"

namespace yard {

// `engine` and `slurm` of a file: what is wrong is told to `in`, and leaves the target as it was.
void ReadEngineName(NodeReader& in, const YamlNode& node, std::string* engine);
// A map by the keys of slurm. A list is as good as its texts with commas, or spaces for sbatch.
void ReadSlurmValues(NodeReader& in, const YamlNode& node, SlurmValues* values);

}  // namespace yard

#endif  // TOOLS_YARD_SLURM_ENGINE_NODES_H_
