// Submits to a host that is killed meanwhile: see ../../tests/live_host.py --kill.  // Q8
import { Client } from "../index.mjs";

const WORKERS = 8;
const client = new Client({ url: process.env.WAYBILL_URL, token: process.env.WAYBILL_TOKEN, timeout: 60, timeLimit: 600 });
const count = Number(process.env.WAYBILL_COUNT);
const acknowledged = (number, { intentId }) => process.stdout.write(`acknowledged ${number} ${intentId}\n`);
const intent = (number) => ({ submissionTarget: "hook", payload: { number } });

let next = 0;
async function submitRest() {
  while (next < count) {
    const number = next++;
    if (number % 10 !== 0) {
      acknowledged(number, await client.submit(intent(number)));
      continue;
    }
    const numbers = [number];  // some in batches
    while (numbers.length < 5 && next < count && next % 10 !== 0) numbers.push(next++);
    const results = await client.submitBatch(numbers.map(intent));
    results.forEach((result, i) => {
      if (result.intent === undefined) throw new Error(`intent ${numbers[i]}: ${JSON.stringify(result)}`);
      acknowledged(numbers[i], result.intent);
    });
  }
}
await Promise.all(Array.from({ length: WORKERS }, submitRest));
