// A host of boxed tasks for Node: it answers one request on each line, until its input ends (docs/boxes.md).
import { createInterface } from "node:readline";

const reply = (answer) => process.stdout.write("\x1e" + JSON.stringify(answer) + "\n");
console.log = console.error; // the output of this program and its libraries goes to the log

async function words(text) {
  if (typeof text !== "string") throw new TypeError("words takes a text");
  return text.split(/\s+/).filter((word) => word).length;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, args } = JSON.parse(line);
  try {
    reply({ id, ok: (await words(...args)) ?? null });
  } catch (error) {
    const { name, message, stack } = error;
    reply({ id, error: { type: name, message, traceback: stack, retry: !(error instanceof TypeError) } });
  }
}
