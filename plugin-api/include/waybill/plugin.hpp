// The C++ way to write a plugin: header-only, C++17, nothing but the standard library and waybill/plugin.h.
//
//   class Shout final : public waybill::plugin::Sender {
//    public:
//     Shout(waybill::plugin::Host host, std::string_view settings) : http_(host.http()) {}
//     void send(Call call, Job job) override {
//       Request request;
//       request.url = "https://example.org/shout";
//       request.body = job.payload();
//       http_.fetch(call, request, [call](const Response& answer) {
//         call.complete(answer.status == 200 ? Outcome::accepted() : Outcome::transient("not_heard").reach(answer.reach));
//       });
//     }
//     void cancel(Call call) override { ... abort the fetch; its callback still comes and completes the call }
//   };
//   constexpr auto kShout = waybill::plugin::action<Shout>("shout").destination_schema(R"({"type":"object"})");
//   WAYBILL_PLUGIN("org.example.shout", "1.0.0", kShout)
//
// No exception leaves a plugin written this way: what is thrown in a constructor is reported and the sender refused; what is
// thrown in send, cancel or a callback completes the call as transient with the reason "plugin_error".
#pragma once

#include "waybill/plugin/call.hpp"
#include "waybill/plugin/counters.hpp"
#include "waybill/plugin/describe.hpp"
#include "waybill/plugin/extensions.hpp"
#include "waybill/plugin/host.hpp"
#include "waybill/plugin/jwt.hpp"
#include "waybill/plugin/outcome.hpp"
#include "waybill/plugin/sender.hpp"
#include "waybill/plugin/services.hpp"
#include "waybill/plugin/smtp.hpp"
#include "waybill/plugin/texts.hpp"
#include "waybill/plugin/verdicts.hpp"
