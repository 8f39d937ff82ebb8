// What is made of a claimed row before its job goes on: the contract, the idempotency key, what the plugin is told.
#include <array>

#include "domain/idempotency.h"
#include "domain/job.h"
#include "guard/counted.h"
#include "guard/scenarios.h"
#include "unit/settle/jobs.h"

namespace waybill::guard {
namespace {

using testing::contract_of;
using testing::kCreated;

constexpr std::string_view kReference = "6f1c7f0a-53f4-4d0f-9a55-0d4b2f6c4711";

void contract_from_json() {
  const Contract contract = contract_of(Policy::deadline);
  const std::string text = to_json(contract);
  Result<Contract> read;
  counted_calls([&] { read = waybill::contract_from_json(text); });
  require(read && *read == contract, "the same contract again");
}

void contract_to_json() {
  const Contract contract = contract_of(Policy::deadline);
  std::string text;
  counted_calls([&] { text = to_json(contract); });
  require(text.find("\"maxAcceptanceSeconds\":60") != std::string::npos, "a contract's JSON");
}

// A reference that is its own key, and one that must be hashed.
void idempotency_keys() {
  std::string plain, hashed;
  counted_calls([&] {
    plain = idempotency_key(kDefaultOrg, "intent", kReference, 1);
    hashed = idempotency_key({7}, "intent", kReference, 1);
  });
  require(plain == kReference && hashed.starts_with("wb_"), "a plain key and a hashed one");
}

void job_context() {
  const Contract intent = contract_of(Policy::deadline);
  Contract form = contract_of(Policy::max_attempts);
  form.form_id = "contact";
  form.form_name = "Contact \"us\"";
  const std::string payload = R"({"fields":{"name":"Ada","message":"See the plan."},"attachments":[]})";
  std::string of_intent, of_form;
  counted_calls([&] {
    of_intent = context_of(kDefaultOrg, "intent", kReference, intent, kCreated, payload);
    of_form = context_of(kDefaultOrg, "form", kReference, form, kCreated, payload);
  });
  require(of_intent.ends_with(std::string(kReference) + "\"}") && of_form.ends_with("\"attachments\":[]}"),
          "the contexts of two jobs");
}

constexpr std::array kScenarios{
    Scenario{"contract_from_json", contract_from_json},
    Scenario{"contract_to_json", contract_to_json},
    Scenario{"idempotency_keys", idempotency_keys},
    Scenario{"job_context", job_context},
};

}  // namespace

std::span<const Scenario> claiming_scenarios() { return kScenarios; }

}  // namespace waybill::guard
