#include "tools/yard/follow/json_output.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/json/exact_json.h"
#include "runtime/text/printable.h"
#include "tools/yard/text/table.h"

namespace yard {

void PrintJson(Context& context, const nlohmann::json& json) {
  // On a terminal, non-ASCII characters are escaped, because some control the terminal.
  const bool ascii = context.out_is_terminal;
  *context.out << bus::ExactJson(json).dump(-1, ' ', ascii,
                                            nlohmann::json::error_handler_t::replace)
               << "\n";
  context.out->flush();
}

std::string MetricsLine(const std::string& metrics, std::size_t limit) {
  std::vector<std::string> words;
  const nlohmann::json object = MetricNumbers(metrics);
  for (const auto& [name, value] : object.items()) {
    if (words.size() == limit) break;
    if (name == "step") continue;
    if (value.is_number_integer()) words.push_back(absl::StrCat(name, " ", value.dump()));
    if (value.is_number_float())
      words.push_back(absl::StrCat(name, " ", ShortNumber(value.get<double>())));
    if (value.is_string() && value.get<std::string>().size() < 12) {
      words.push_back(absl::StrCat(name, " ", value.get<std::string>()));
    }
  }
  std::string line;
  for (const std::string& word : words) absl::StrAppend(&line, line.empty() ? "" : "  ", word);
  return runtime::Printable(line);
}

}  // namespace yard
