#ifndef TOOLS_YARD_JOB_PROBE_KEYS_H_
#define TOOLS_YARD_JOB_PROBE_KEYS_H_

#include <memory>

#include "bus/schema/launcher_generated.h"
#include "tools/yard/cli/node_reader.h"
#include "tools/yard/text/yaml.h"

namespace yard {

// Reads a liveness probe: one of `command`, `tcp`, `http` and `heartbeat`, with `period`,
// `timeout`, `failures`, `start_delay`. Reports errors to `in`, and then leaves the probe
// unchanged.
void ReadProbe(NodeReader& in, const YamlNode& node, std::unique_ptr<msg::ProbeT>* probe);

}  // namespace yard

#endif  // TOOLS_YARD_JOB_PROBE_KEYS_H_
