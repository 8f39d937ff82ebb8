// Reads [{"secret", "headers", "body"}, ...] and writes [true, false, ...]: what the package standardwebhooks says of each.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const verdicts = JSON.parse(readFileSync(0, "utf8")).map(({ secret, headers, body }) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
});
console.log(JSON.stringify(verdicts));
