// node client.mjs URL API_KEY TEMPLATE: what the official client of GOV.UK Notify gets from this server, as JSON.
import { NotifyClient } from "notifications-node-client";

const [url, apiKey, template] = process.argv.slice(2);
const client = new NotifyClient(url, apiKey);
const failure = async (promise) => {
  try {
    await promise;
    return null;
  } catch (error) {
    return [error.response?.status, error.response?.data?.errors?.[0]];
  }
};

const options = { personalisation: { firstName: "Ann" }, reference: "PF3N8EGP9L" };
const sent = (await client.sendEmail(template, "ann@example.org", options)).data;
const found = (await client.getNotificationById(sent.id)).data;
const pages = [];
for (let olderThan; ; ) {
  const { notifications, links } = (await client.getNotifications("email", "permanent-failure", undefined, olderThan)).data;
  pages.push(notifications.length);
  if (notifications.length === 0 || !links.next) break;
  olderThan = notifications.at(-1).id;
}
const otherKey = apiKey.slice(0, -1) + (apiKey.endsWith("0") ? "1" : "0");
const realNow = Date.now;
Date.now = () => realNow() - 60_000;
const skewed = await failure(client.sendEmail(template, "ann@example.org", options));
Date.now = realNow;
console.log(
  JSON.stringify({
    sent,
    found,
    pages,
    byReference: (await client.getNotifications("email", undefined, "PF3N8EGP9L")).data.notifications.length,
    badAddress: await failure(client.sendEmail(template, "nobody", options)),
    noPersonalisation: await failure(client.sendEmail(template, "ann@example.org", {})),
    badTemplate: await failure(client.sendEmail("ABC-DEF", "ann@example.org", options)),
    badKey: await failure(new NotifyClient(url, otherKey).sendEmail(template, "ann@example.org", options)),
    skewed,
    gone: await failure(client.getNotificationById("740e5834-3a29-46b4-9a6f-999999999999")),
  }),
);
