// Prints the results of this folder's text functions for given bytes. Each line of input is a word
// and tab-separated fields in hexadecimal digits; each gives a line of output, "-" for an error:
//   json TEXT                        its compact form
//   key DIRECTORY KWARGS ARGUMENT... the cache key
//   info LOGDIR                      the info file, in hexadecimal digits

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "registry/info/cache_key.h"
#include "registry/info/instance_info.h"
#include "registry/info/python_json.h"

namespace {

constexpr char kRefused[] = "-";

std::string Json(const std::string& text) {
  const auto value = registry::ParsePythonJson(text);
  return value.ok() ? registry::CompactPythonJson(*value) : kRefused;
}

std::string Info(const std::string& logdir) {
  registry::InstanceInfo info;
  info.logdir = logdir;
  const auto text = registry::SerializeInfo(info, "");
  const auto again = registry::ParseInfo(*text);
  return again.ok() && *again == info ? absl::BytesToHexString(*text) : kRefused;
}

std::string Answer(const std::string& line) {
  std::vector<std::string> fields = absl::StrSplit(line, '\t');
  for (std::size_t i = 1; i < fields.size(); ++i) fields[i] = absl::HexStringToBytes(fields[i]);
  if (fields[0] == "json" && fields.size() == 2) return Json(fields[1]);
  if (fields[0] == "info" && fields.size() == 2) return Info(fields[1]);
  if (fields[0] == "key" && fields.size() >= 3) {
    return registry::CacheKey(fields[1], {fields.begin() + 3, fields.end()}, fields[2])
        .value_or(kRefused);
  }
  return "?";
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) std::cout << Answer(line) << "\n";
  return 0;
}
