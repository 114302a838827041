#include "tools/yard/page/browser.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/file/file.h"
#include "runtime/process/subprocess.h"

namespace yard {
namespace {

constexpr absl::Duration kToOpen = absl::Seconds(5);

}  // namespace

bool HasScreen(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with("DISPLAY=") || entry.starts_with("WAYLAND_DISPLAY=")) return true;
  }
  return false;
}

bool OpenInBrowser(const std::string& directory, const std::vector<std::string>& environment,
                   const std::string& address) {
  const std::string file = directory + "/page.html";
  const std::string text =
      absl::StrCat("<!doctype html><meta http-equiv=refresh content=\"0;url=", address,
                   "\"><a href=\"", address, "\">yard</a>\n");
  if (!runtime::WriteFileAtomically(file, text, 0600).ok()) return false;
  auto browser = runtime::Subprocess::Start(
      {.argv = {"xdg-open", file}, .environment = environment, .new_session = true});
  if (!browser.ok()) return false;
  const auto ended = browser->Wait(kToOpen);
  return !ended.ok() || (ended->signal == 0 && ended->code == 0);
}

}  // namespace yard
