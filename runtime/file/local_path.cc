#include "runtime/file/local_path.h"

#include <cctype>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// "s3://bucket"
bool IsAddress(std::string_view path) {
  const std::size_t end = path.find("://");
  if (end == path.npos || end == 0 || !IsLetter(path[0])) return false;
  return path.substr(0, end).find_first_of("/\\ ") == path.npos;
}

// Matches "E:\runs" and "E:/runs".
bool HasDrive(std::string_view path) {
  return path.size() > 2 && IsLetter(path[0]) && path[1] == ':' &&
         (path[2] == '\\' || path[2] == '/');
}

// Matches "a:x,b:y" and "a:/x", but not a name that merely contains colons, such as a time.
bool IsNamedList(std::string_view path) {
  const std::size_t colon = path.find(':');
  if (colon == path.npos || colon == 0 || path.substr(0, colon).find_first_of("/ ") != path.npos) {
    return false;
  }
  const std::size_t comma = path.find(',', colon);
  const bool is_list = comma != path.npos && path.find(':', comma) != path.npos;
  return is_list || path.substr(colon + 1, 1) == "/" || path.substr(colon + 1, 1) == "~";
}

}  // namespace

absl::Status CheckLocalPath(std::string_view option, std::string_view path) {
  std::string_view problem;
  if (IsNamedList(path)) {
    problem =
        "it takes one directory; to see several as one, link them into one "
        "(yard tensorboard --logdir_spec hands such a list to TensorBoard)";
  }
  if (HasDrive(path)) problem = "a path of another system; write it as this one has it";
  if (IsAddress(path)) {
    problem =
        "a directory of this machine is needed; mount that store (rclone mount, s3fs, gcsfuse) "
        "and name the place";
  }
  if (problem.empty()) return absl::OkStatus();
  const std::string typed = Printable(path);
  return absl::InvalidArgumentError(absl::StrCat(Absl(option), " ", typed, ": ", Absl(problem),
                                                 "; ./", typed, " is a directory of that name"));
}

}  // namespace runtime
