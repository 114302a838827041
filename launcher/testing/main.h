#ifndef LAUNCHER_TESTING_MAIN_H_
#define LAUNCHER_TESTING_MAIN_H_

namespace launcher::testing {

// The main() of a test with processes: Init(), GoogleTest and GoogleMock, all tests; in the end the
// pools are shut down, whatever the tests did. In place of the original's test_main. A test that
// depends on :multi_process_main has it as its main().
int Main(int argc, char** argv);

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_MAIN_H_
