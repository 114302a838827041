// A service without methods of its own, for tests: member NAME. Stays registered until it is
// stopped.

#include "bus/process/service_process.h"
#include "runtime/process/exit_code.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto process = bus::ServiceProcess::Create({.name = argv[1]});
  if (!process.ok()) return runtime::ReportAndExitCode(argv[1], process.status());
  return (*process)->Run();
}
