// A destination for the end-to-end script: takes whatever comes, and writes its URL to FOLDER/url and each request to FOLDER/N.
#include <signal.h>

#include <ctime>
#include <filesystem>
#include <iostream>

#include "support/fake_gateway.h"
#include "support/temp_folder.h"

using namespace waybill::testing;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: waybill_sdk_receiver FOLDER\n";
    return 2;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const std::filesystem::path folder = argv[1];
  try {
    FakeGateway gateway;
    write_file(folder / "url", gateway.url());
    std::size_t written = 0;
    for (const timespec now{}; sigtimedwait(&ends, nullptr, &now) < 0;) {
      gateway.wait_for([&] { return gateway.count() > written; }, std::chrono::milliseconds(50));
      const auto all = gateway.received();
      for (; written < all.size(); ++written)
        write_file(folder / std::to_string(written + 1),
                   all[written].method + " " + all[written].path + "\r\n" + all[written].head + "\r\n" + all[written].body);
    }
  } catch (const std::exception& e) {
    std::cerr << "waybill_sdk_receiver: " << e.what() << "\n";
    return 1;
  }
}
