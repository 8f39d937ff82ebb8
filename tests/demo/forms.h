// Submissions of the sample's contact form: one with a clean attachment, one with an infected one.
#pragma once

#include <string>

#include "demo/mailbox.h"
#include "support/http_client.h"

namespace waybill::testing {

// Hands them in, tells what the virus scanner would, and prints what became of them and where their mail landed; true if all
// ended as expected. `run` makes their ids unique.
bool show_forms(HttpClient& client, Mailbox& mailbox, const std::string& run);

}  // namespace waybill::testing
