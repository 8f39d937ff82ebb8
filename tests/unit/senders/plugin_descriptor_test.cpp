// A descriptor is checked before any of it is used.  H1 H5 D9
#include "plugin_library/plugin_descriptor.h"

#include <gtest/gtest.h>
#include <waybill/plugin.h>

#include "plugin_protocol/plugin_text.h"

namespace waybill {
namespace {

wb_sender* create(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*) { return nullptr; }

// A good descriptor that each test spoils in one place.
struct Sample {
  wb_reason reasons[2] = {{borrow("one"), 0, 0}, {borrow("two"), 0, 0}};
  wb_action action{sizeof(wb_action), 0,       2,       borrow("sample"), borrow(""), borrow("{}"),
                   reasons,           nullptr, nullptr, &create,          borrow("")};
  const wb_action* actions[2] = {&action, &action};
  wb_plugin plugin{sizeof(wb_plugin), 0, 0, borrow("test.sample"), borrow("1.0"), 1, actions};

  std::string refusal() const {
    const auto checked = check_descriptor(&plugin);
    return checked ? "" : checked.error().what;
  }
};

TEST(Descriptor, AGoodOneIsTaken) {
  Sample sample;
  EXPECT_EQ(sample.refusal(), "");
  sample.plugin.size += 64;  // of a later minor
  sample.action.size += 64;
  sample.plugin.abi_minor = 9;  // built against it, but content with less
  EXPECT_EQ(sample.refusal(), "");
}

TEST(Descriptor, ADamagedOneIsRefusedInWords) {
  const auto spoilt = [](auto spoil) {
    Sample sample;
    spoil(sample);
    return sample.refusal();
  };
  EXPECT_NE(check_descriptor(nullptr).error().what, "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.size = 8; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.needs_minor = WB_ABI_MINOR + 1; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.id = borrow(""); }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.id = borrow("a\xff"); }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.id = {nullptr, 1u << 30}; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.version = borrow("1\n2"); }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.action_count = 0; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.action_count = ~std::size_t{0}; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.actions = nullptr; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.actions[0] = nullptr; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.plugin.action_count = 2; }), "");  // the same type twice
  EXPECT_NE(spoilt([](Sample& s) { s.action.size = offsetof(wb_action, create); }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.action.create = nullptr; }), "");
  for (const auto* type : {"", "Sample", "1st", "a-b", "a b"})
    EXPECT_NE(spoilt([&](Sample& s) { s.action.type = borrow(type); }), "") << type;
  EXPECT_NE(spoilt([](Sample& s) { s.action.reasons = nullptr; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.action.reason_count = 4'000'000'000u; }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.reasons[1].name = borrow("one"); }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.reasons[1].name = borrow(""); }), "");
  EXPECT_NE(spoilt([](Sample& s) { s.reasons[1].name = borrow("No Word"); }), "");
  for (const auto* schema : {"{", "5", "[]", R"({"type":"banana"})", R"({"type":5})"})
    EXPECT_NE(spoilt([&](Sample& s) { s.action.destination_schema = borrow(schema); }), "") << schema;
  EXPECT_NE(spoilt([&](Sample& s) { s.action.payload_schema = borrow("{"); }), "");
}

// D9: a descriptor of minor 3 ends before payload_schema, whatever lies behind it.
TEST(Descriptor, APayloadSchemaIsReadWhereThereIsOne) {
  Sample sample;
  EXPECT_FALSE(check_descriptor(&sample.plugin)->actions[0].payload.has_value());
  sample.action.payload_schema = borrow(R"({"type":"object","required":["to"]})");
  ASSERT_TRUE(check_descriptor(&sample.plugin)->actions[0].payload.has_value());
  EXPECT_FALSE(check_descriptor(&sample.plugin)->actions[0].payload->check("{}").empty());
  sample.action.size = offsetof(wb_action, payload_schema);
  sample.action.payload_schema = borrow("{");
  EXPECT_FALSE(check_descriptor(&sample.plugin)->actions[0].payload.has_value());
}

}  // namespace
}  // namespace waybill
