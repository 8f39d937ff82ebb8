// Reads a form field by field.
#include "registry/forms_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "base/json_document.h"
#include "base/names.h"
#include "config/document.h"
#include "domain/time_limit.h"
#include "templates/mustache.h"

namespace waybill {
namespace {

using config::Node;

constexpr std::array<std::string_view, 5> kFormFields{"form_id", "name", "attachments", "fields_schema", "actions"};
constexpr std::array<std::string_view, 15> kActionFields{"action_order",
                                                         "action_type",
                                                         "template_id",
                                                         "destination",
                                                         "destination_field",
                                                         "destination_lookup",
                                                         "happyfox_category",
                                                         "from",
                                                         "reply_to",
                                                         "cc",
                                                         "reply_to_field",
                                                         "bcc",
                                                         "subject_template",
                                                         "attachment_links",
                                                         "timeout"};
constexpr std::array<std::string_view, 3> kRecipients{"destination", "destination_field", "destination_lookup"};
constexpr std::array<std::string_view, 3> kLookupFields{"field", "addresses", "default"};
constexpr std::size_t kMaxActions = 100;
constexpr int kMaxOrder = 1000;

class FormReader {
 public:
  FormReader(const std::string& file, const FormContext& context) : file_(file), context_(context) {}

  Form read(const Node& document);
  Problems problems;

 private:
  void report(const Node& at, std::string field, std::string message) {
    problems.push_back({file_, at.line, std::move(field), std::move(message)});
  }
  template <class Known>
  void refuse_unknown(const Node& map, const std::string& path, const Known& known);
  // The text of a field; "" after a report, or when it is not there and need not be.
  std::string text_of(const Node& map, std::string_view field, const std::string& path, bool needed);
  // Of a field that is true or false; none: it is not there, or was reported.
  std::optional<bool> flag_of(const Node& map, std::string_view field, const std::string& path);
  FieldsSchema read_schema(const Node& document);
  FormAction read_action(const Node& node, const std::string& path);
  void read_recipients(const Node& node, const std::string& path, FormAction& action);
  RecipientLookup read_lookup(const Node& node, const std::string& path);
  int read_order(const Node& node, const std::string& path);
  std::optional<Millis> read_timeout(const Node& node, const std::string& path);
  void note_limit(const Form& form, const FormAction& action, const Node& node, const std::string& path);
  void check_type(const Node& node, const FormAction& action, const std::string& path);
  void check_orders(const Node& list, const Form& form);

  const std::string& file_;
  const FormContext& context_;
};

template <class Known>
void FormReader::refuse_unknown(const Node& map, const std::string& path, const Known& known) {
  for (const auto& field : map.children)
    if (std::find(known.begin(), known.end(), field.key) == known.end())
      report(field, field_path(path, field.key), "unknown field (known here: " + list_of(known) + ")");
}

std::string FormReader::text_of(const Node& map, std::string_view field, const std::string& path, bool needed) {
  const auto* node = map.find(field);
  const auto where = field_path(path, field);
  if (node == nullptr) {
    if (needed) report(map, where, "is missing");
    return {};
  }
  if (node->kind != Node::Kind::scalar)
    report(*node, where, "must be a text");
  else if (node->text.empty())
    report(*node, where, "must not be empty");
  else if (node->text.size() > kMaxTextLength)
    report(*node, where, "must not be longer than " + std::to_string(kMaxTextLength) + " bytes");
  else if (has_control_character(node->text))
    report(*node, where, "must not hold control characters");
  else
    return node->text;
  return {};
}

Form FormReader::read(const Node& document) {
  Form form;
  if (document.kind != Node::Kind::map) {
    report(document, "", "must be a map with " + list_of(kFormFields));
    return form;
  }
  refuse_unknown(document, "", kFormFields);
  form.id = text_of(document, "form_id", "", true);
  if (!form.id.empty() && !is_id(form.id, "."))
    report(*document.find("form_id"), "form_id", "must be letters, digits, _, - and ., at most " + std::to_string(kMaxIdLength));
  form.name = text_of(document, "name", "", true);
  form.takes_attachments = flag_of(document, "attachments", "").value_or(true);
  form.fields_schema = read_schema(document);
  const auto* actions = document.find("actions");
  if (actions == nullptr || actions->kind != Node::Kind::list || actions->children.empty()) {
    report(actions ? *actions : document, "actions", "must be a list of at least one action");
    return form;
  }
  if (actions->children.size() > kMaxActions)
    report(*actions, "actions", "must not hold more than " + std::to_string(kMaxActions));
  for (std::size_t i = 0; i < actions->children.size(); ++i) {
    const auto path = "actions[" + std::to_string(i) + "]";
    form.actions.push_back(read_action(actions->children[i], path));
    note_limit(form, form.actions.back(), actions->children[i], path);
  }
  check_orders(*actions, form);
  std::stable_sort(form.actions.begin(), form.actions.end(),
                   [](const FormAction& a, const FormAction& b) { return a.order < b.order; });
  return form;
}

std::optional<bool> FormReader::flag_of(const Node& map, std::string_view field, const std::string& path) {
  const auto* node = map.find(field);
  if (node == nullptr) return std::nullopt;
  const bool is_word = node->kind == Node::Kind::scalar && node->plain && (node->text == "true" || node->text == "false");
  if (is_word) return node->text == "true";
  report(*node, field_path(path, field), "must be true or false");
  return std::nullopt;
}

// The schema itself, or the name of a file with one.
FieldsSchema FormReader::read_schema(const Node& document) {
  const auto* node = document.find("fields_schema");
  if (node == nullptr) return {};
  std::string text, where;
  if (node->kind == Node::Kind::map) {
    text = config::to_json(*node);
  } else {
    const auto name = text_of(document, "fields_schema", "", true);
    if (name.empty()) return {};
    where = in_quotes(name) + " ";
    auto read = context_.read_file ? context_.read_file(name) : tl::unexpected(std::string("cannot be read here"));
    if (!read) return report(*node, "fields_schema", where + read.error()), FieldsSchema{};
    text = std::move(*read);
  }
  auto schema = FieldsSchema::compile(text);
  if (!schema) return report(*node, "fields_schema", where + "is no JSON Schema: " + schema.error().what), FieldsSchema{};
  return std::move(*schema);
}

FormAction FormReader::read_action(const Node& node, const std::string& path) {
  FormAction action;
  if (node.kind != Node::Kind::map) {
    report(node, path, "must be a map with " + list_of(kActionFields));
    return action;
  }
  refuse_unknown(node, path, kActionFields);
  action.order = read_order(node, path);
  action.action_type = text_of(node, "action_type", path, true);
  read_recipients(node, path, action);
  action.template_id = text_of(node, "template_id", path, false);
  action.subject_template = text_of(node, "subject_template", path, false);
  action.happyfox_category = text_of(node, "happyfox_category", path, false);
  action.from = text_of(node, "from", path, false);
  action.reply_to = text_of(node, "reply_to", path, false);
  action.reply_to_field = text_of(node, "reply_to_field", path, false);
  action.cc = text_of(node, "cc", path, false);
  action.bcc = text_of(node, "bcc", path, false);
  action.attachment_links = flag_of(node, "attachment_links", path);
  action.timeout = read_timeout(node, path);
  if (!action.template_id.empty() && !context_.has_template(action.template_id))
    report(*node.find("template_id"), field_path(path, "template_id"), "there is no template " + in_quotes(action.template_id));
  if (auto parsed = Mustache::compile(action.subject_template); !parsed)
    report(*node.find("subject_template"), field_path(path, "subject_template"), std::move(parsed.error().message));
  const bool has_recipients = !action.destination.empty() || !action.destination_field.empty() || action.lookup;
  if (!action.action_type.empty() && has_recipients) check_type(node, action, path);
  return action;
}

void FormReader::read_recipients(const Node& node, const std::string& path, FormAction& action) {
  std::vector<const Node*> said;
  for (const auto name : kRecipients)
    if (const auto* one = node.find(name)) said.push_back(one);
  if (said.size() > 1)
    report(*said[1], field_path(path, said[1]->key), "only one of " + list_of(kRecipients) + " says who gets it");
  action.destination = text_of(node, "destination", path, said.empty());
  action.destination_field = text_of(node, "destination_field", path, false);
  if (const auto* lookup = node.find("destination_lookup"))
    action.lookup = read_lookup(*lookup, field_path(path, "destination_lookup"));
}

RecipientLookup FormReader::read_lookup(const Node& node, const std::string& path) {
  RecipientLookup lookup;
  if (node.kind != Node::Kind::map) return report(node, path, "must be a map with " + list_of(kLookupFields)), lookup;
  refuse_unknown(node, path, kLookupFields);
  lookup.field = text_of(node, "field", path, true);
  lookup.otherwise = text_of(node, "default", path, false);
  const auto* addresses = node.find("addresses");
  if (addresses == nullptr || addresses->kind != Node::Kind::map || addresses->children.empty())
    return report(addresses ? *addresses : node, field_path(path, "addresses"),
                  "must be a map of at least one value and its address"),
           lookup;
  for (const auto& one : addresses->children)
    lookup.addresses[one.key] = text_of(*addresses, one.key, field_path(path, "addresses"), true);
  return lookup;
}

int FormReader::read_order(const Node& node, const std::string& path) {
  const auto* order = node.find("action_order");
  int value = 0;
  if (order != nullptr && order->kind == Node::Kind::scalar && order->plain)
    std::from_chars(order->text.data(), order->text.data() + order->text.size(), value);
  if (value >= 1 && value <= kMaxOrder && std::to_string(value) == order->text) return value;
  report(order ? *order : node, field_path(path, "action_order"),
         "must be a whole number from 1 to " + std::to_string(kMaxOrder));
  return 0;
}

std::optional<Millis> FormReader::read_timeout(const Node& node, const std::string& path) {
  const auto* timeout = node.find("timeout");
  if (timeout == nullptr) return std::nullopt;
  const auto limit = timeout->kind == Node::Kind::scalar ? time_limit_from(timeout->text) : std::nullopt;
  if (!limit) report(*timeout, field_path(path, "timeout"), std::string(kTimeLimitRule));
  return limit;
}

void FormReader::note_limit(const Form& form, const FormAction& action, const Node& node, const std::string& path) {
  if (!action.timeout || context_.limits == nullptr) return;
  context_.limits->push_back({.owner = form.id,
                              .state = "",
                              .action = action.action_type,
                              .limit = *action.timeout,
                              .place = {file_, node.find("timeout")->line, field_path(path, "timeout"), ""}});
}

void FormReader::check_type(const Node& node, const FormAction& action, const std::string& path) {
  if (context_.types.find(action.action_type) == nullptr) {
    report(*node.find("action_type"), field_path(path, "action_type"),
           "unknown action type " + in_quotes(action.action_type) + " (loaded: " + list_of(context_.types.names()) + ")");
    if (context_.absent == nullptr) return;
    context_.absent->push_back(std::move(problems.back()));
    problems.pop_back();
    return;
  }
  for (const auto& problem : context_.types.check_destination(action.action_type, destination_json(action))) {
    const auto* field = node.find(problem.field.substr(0, problem.field.find_first_of(".[")));
    report(field ? *field : node, field_below(path, problem.field), problem.message);
  }
}

void FormReader::check_orders(const Node& list, const Form& form) {
  std::map<int, std::size_t> first;
  for (std::size_t i = 0; i < form.actions.size(); ++i) {
    if (form.actions[i].order == 0) continue;
    const auto [at, is_new] = first.try_emplace(form.actions[i].order, i);
    if (!is_new)
      report(*list.children[i].find("action_order"), "actions[" + std::to_string(i) + "].action_order",
             "is taken by actions[" + std::to_string(at->second) + "] (line " + std::to_string(list.children[at->second].line) +
                 ")");
  }
}

}  // namespace

tl::expected<Form, Problems> read_form(const std::string& text, const std::string& file, const FormContext& context) {
  const auto document = config::parse_document(text, file);
  TRY(document);
  FormReader reader(file, context);
  auto form = reader.read(*document);
  if (!reader.problems.empty()) return tl::unexpected(std::move(reader.problems));
  return form;
}

}  // namespace waybill
