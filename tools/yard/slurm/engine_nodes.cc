#include "tools/yard/slurm/engine_nodes.h"

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "runtime/text/string_view.h"
#include "tools/yard/slurm/engine_flags.h"

namespace yard {

void ReadEngineName(NodeReader& in, const YamlNode& node, std::string* engine) {
  std::string name;
  if (!in.Text(node, &name)) return;
  if (const absl::Status good = CheckEngineName(name); !good.ok()) {
    return in.Wrong(node, runtime::Std(good.message()));
  }
  *engine = name;
}

void ReadSlurmValues(NodeReader& in, const YamlNode& node, SlurmValues* values) {
  if (!in.IsMap(node, "a map like {partition: gpu, nodes: 4, time: 8h}")) return;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string& key = node.keys[i].text;
    const YamlNode& item = node.items[i];
    std::string value;
    if (item.kind == YamlNode::Kind::kList) {
      std::vector<std::string> texts;
      if (!in.Texts(item, &texts)) continue;
      value = absl::StrJoin(texts, key == "sbatch" ? " " : ",");
    } else if (!in.Text(item, &value)) {
      continue;
    }
    // The error message begins with the key.
    if (const absl::Status good = CheckSlurmValue(key, value); !good.ok()) {
      in.Wrong(node.keys[i], runtime::Std(good.message()));
      continue;
    }
    (*values)[key] = value;
  }
}

}  // namespace yard
