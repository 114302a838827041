#ifndef LAUNCHER_TESTING_MAIN_H_
#define LAUNCHER_TESTING_MAIN_H_

namespace launcher::testing {

// The main() of a test that starts processes: calls Init(), initialises GoogleTest and GoogleMock,
// and runs all tests; at the end it shuts down all pools, whatever the tests did. Replaces
// test_main of the original. A test that depends on :multi_process_main has it as its main().
int Main(int argc, char** argv);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_MAIN_H_
